use super::*;

#[test]
fn only_the_redirect_of_this_login_counts() {
    let code = |line: &str| outcome_of(line, "s-1").and_then(Result::ok);
    let whole = "GET /?code=a%2Fb&state=s-1 HTTP/1.1";
    assert_eq!(code(whole).as_deref(), Some("a/b"));
    for other in [
        "GET /favicon.ico HTTP/1.1",
        "GET /?code=a&state=s-2 HTTP/1.1",
        "GET /?code=a HTTP/1.1",
        "GET /?state=s-1 HTTP/1.1",
        "POST /?code=a&state=s-1 HTTP/1.1",
        "GET /?code=%ff&state=s-1 HTTP/1.1",
    ] {
        assert!(outcome_of(other, "s-1").is_none(), "{other}");
    }
    let refused = outcome_of("GET /?error=access_denied&state=s-1 HTTP/1.1", "s-1");
    let error = refused.unwrap().unwrap_err();
    assert_eq!(error.class, ErrorClass::Authentication);
}
