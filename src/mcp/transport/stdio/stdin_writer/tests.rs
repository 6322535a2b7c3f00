use super::*;
use gosling_sys::cancel::Cancel;
use gosling_sys::process::Command;

#[test]
fn what_comes_after_the_end_has_reached_nobody() {
    // A program that reads its input.
    let cat = Command::new(if cfg!(windows) { "cmd" } else { "cat" });
    let (process, pipes) = Process::spawn(cat, None, &Cancel::new()).unwrap();
    let pipe = PipeWriter::new(pipes.stdin).unwrap();
    let stdin_writer = Arc::new(StdinWriter::new(pipe, Arc::new(process)));
    let send = |id| StdinWriter::send(&stdin_writer, b"{}".to_vec(), Some(id), "cat");
    send(1).unwrap();
    stdin_writer.closed_by_server();
    send(2).unwrap();
    stdin_writer.close();
    assert!(matches!(send(3), Err(TransportError::Closed)));
    assert_eq!(
        [1, 2, 3].map(|id| stdin_writer.may_have_been_sent(id)),
        [true, false, false]
    );
}

#[test]
fn a_message_is_one_line_whatever_white_space_it_holds() {
    let framed = frame(b"{\"a\":\r\n [1,\n2]}".to_vec());
    assert_eq!(framed, b"{\"a\":   [1, 2]}\n");
}
