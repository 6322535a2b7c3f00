use super::*;
use std::thread;

#[test]
fn an_input_that_stays_open_can_be_told_to_end() {
    let (read, mut write) = io::pipe().unwrap();
    let (mut input, _, end) = ending(read.into(), io::pipe().unwrap().1.into()).unwrap();
    write.write_all(b"one").unwrap();
    let mut buffer = [0; 16];
    assert_eq!(input.read(&mut buffer).unwrap(), 3);
    let thread = thread::spawn(move || input.read(&mut [0; 16]).unwrap());
    drop(end);
    assert_eq!(thread.join().unwrap(), 0);
    drop(write);
}

#[test]
fn an_input_that_ends_by_itself_does() {
    let (read, write) = io::pipe().unwrap();
    let (mut input, _, _end) = ending(read.into(), io::pipe().unwrap().1.into()).unwrap();
    drop(write);
    assert_eq!(input.read(&mut [0; 16]).unwrap(), 0);
}

#[test]
fn an_output_that_nobody_reads_can_be_told_to_end() {
    const LONG: usize = 1 << 20;
    let (mut read, write) = io::pipe().unwrap();
    let (_, mut output, end) = ending(io::pipe().unwrap().0.into(), write.into()).unwrap();
    let thread = thread::spawn(move || {
        output.write_all(&[b'x'; LONG]).unwrap();
        output.write_all(&[b'y'; LONG])
    });
    let mut buffer = vec![0; LONG];
    read.read_exact(&mut buffer).unwrap();
    assert!(buffer.iter().all(|byte| *byte == b'x'));
    drop(end);
    let refused = thread.join().unwrap().unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::BrokenPipe);
    // What the pipe accepted is complete.
    let rest = read.read_to_end(&mut Vec::new()).unwrap();
    assert!(rest > 0 && rest < LONG, "{rest}");
}
