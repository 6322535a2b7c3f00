use super::*;

/// The key and the scope of AWS's published test suite for Signature Version 4.
fn authorization(method: &str, path: &str, query: &str, token: Option<&str>) -> String {
    let key = AwsKey {
        id: "AKIDEXAMPLE".into(),
        secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: token.map(str::to_owned),
    };
    let scope = Scope {
        region: "us-east-1",
        service: "service",
        time: "20150830T123600Z",
    };
    let part = SignedPart {
        method,
        authority: "example.amazonaws.com",
        path,
        query,
        body: b"",
    };
    let headers = sign(&part, &scope, &key);
    headers.last().expect("there is one").1.clone()
}

#[test]
fn the_published_examples_have_their_signatures() {
    for (method, path, query, signature) in [
        (
            "GET",
            "/",
            "",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "GET",
            "/",
            "Param2=value2&Param1=value1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "POST",
            "/",
            "",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
    ] {
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date, Signature={signature}"
        );
        assert_eq!(authorization(method, path, query, None), expected);
    }
}

#[test]
fn a_path_is_escaped_twice_and_the_token_of_a_session_is_signed() {
    let part = SignedPart {
        method: "POST",
        authority: "h",
        path: "/model/a%3A0/converse-stream",
        query: "",
        body: b"",
    };
    let text = canonical_request(&part, &[("host", "h")], "host");
    assert!(text.starts_with("POST\n/model/a%253A0/converse-stream\n\nhost:h\n\nhost\n"));
    let signed = authorization("GET", "/", "", Some("token"));
    assert!(signed.contains("SignedHeaders=host;x-amz-date;x-amz-security-token,"));
}
