use super::*;

#[test]
fn each_message_is_one_line() {
    let mut writer = LineWriter {
        output: Vec::new(),
        buffer: Vec::new(),
    };
    let messages = [
        b"{\"a\":\n1}".to_vec(),
        vec![b'x'; WRITE_BUFFER],
        b"b".to_vec(),
    ];
    writer.write(&messages).unwrap();
    let lines: Vec<&[u8]> = writer.output.split(|byte| *byte == b'\n').collect();
    assert_eq!(lines[0], b"{\"a\": 1}");
    assert_eq!((lines[1].len(), lines[2]), (WRITE_BUFFER, &b"b"[..]));
    assert_eq!(lines.len(), 4);
}
