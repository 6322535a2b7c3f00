use super::*;
use std::thread;

#[cfg(target_os = "linux")]
#[test]
fn a_reader_is_woken_though_the_pipe_stays_open() {
    let (read, write) = io::pipe().unwrap();
    let reader = PipeReader::new(read);
    let reading = reader.clone();
    let thread = thread::spawn(move || (&reading).read(&mut [0; 16]).unwrap());
    assert!(reader.stop());
    assert_eq!(thread.join().unwrap(), 0);
    drop(write);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_pipe_that_nobody_reads_does_not_hold_up_its_end() {
    let (read, write) = io::pipe().unwrap();
    unix::set_nonblocking(write.as_raw_fd()).unwrap();
    while (&write).write(&[0; 4096]).is_ok() {}
    let reader = PipeReader::new(read);
    assert!(reader.stop());
    assert_eq!((&reader).read(&mut [0; 16]).unwrap(), 0);
}
