use super::*;

fn head(response: &Response) -> String {
    let mut out = Vec::new();
    response.write_head(&mut out, None, BodyEnd::Length);
    String::from_utf8(out).unwrap()
}

#[test]
fn an_empty_answer_has_a_length_of_zero_and_no_type() {
    let head = head(&Response::empty(200));
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nDate: "));
    assert!(head.ends_with(" GMT\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 0\r\n\r\n"));
}

#[test]
fn no_content_has_no_length() {
    for status in [204, 304] {
        assert!(!head(&Response::text("x").with_status(status)).contains("Content-Length"));
    }
}

#[test]
fn a_value_cannot_begin_another_field() {
    let head = head(&Response::empty(200).header("X-Name", "a\r\nSet-Cookie: é"));
    assert!(head.contains("X-Name: a??Set-Cookie: ?\r\n"));
}

#[test]
fn a_name_is_a_token() {
    let plain = head(&Response::empty(200));
    for name in ["", "X-A\r\nSet-Cookie: b", "X A", "X-A:", "X-\u{e9}"] {
        let head = head(&Response::empty(200).header(name, "v"));
        assert_eq!(head.lines().count(), plain.lines().count(), "{name:?}");
    }
}

#[test]
fn framing_is_not_a_handlers_to_choose() {
    let response = Response::empty(200)
        .header("content-length", "7")
        .header("Transfer-Encoding", "chunked");
    let head = head(&response);
    assert_eq!(head.to_lowercase().matches("content-length").count(), 1);
    assert!(!head.contains("chunked"));
}

#[test]
fn dates_that_http_cannot_have_are_the_nearest_that_it_can() {
    let year_12_000 = UNIX_EPOCH + Duration::from_secs(316_500_000_000);
    assert_eq!(date(year_12_000), "Fri, 31 Dec 9999 23:59:59 GMT");
    let year_1969 = UNIX_EPOCH - Duration::from_secs(1_000_000);
    assert_eq!(date(year_1969), "Thu, 01 Jan 1970 00:00:00 GMT");
}
