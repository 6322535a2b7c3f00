use super::*;

#[test]
fn a_host_is_taken_as_users_write_it() {
    for (host, url) in [
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box:5", "http://box:5"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:7", "http://[::1]:7"),
        ("http://box/ollama", "http://box:11434/ollama"),
        ("https://ollama.h", "https://ollama.h"),
    ] {
        assert_eq!(base_url(host), url);
    }
    assert_eq!(url_in_file("http://h:1/api/chat"), "http://h:1");
}
