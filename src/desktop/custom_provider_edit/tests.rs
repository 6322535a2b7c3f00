use super::*;

#[test]
fn an_id_is_a_safe_file_name_and_variable() {
    for (name, id, key) in [
        ("My LLM", "custom_my_llm", "CUSTOM_MY_LLM_API_KEY"),
        (
            "../../etc/passwd",
            "custom_etc_passwd",
            "CUSTOM_ETC_PASSWD_API_KEY",
        ),
        ("модель", "custom_provider", "CUSTOM_PROVIDER_API_KEY"),
        (".\0", "custom_provider", "CUSTOM_PROVIDER_API_KEY"),
    ] {
        assert_eq!(id_from(name), id);
        assert_eq!(key_name_for(id), key);
    }
    assert_eq!(id_from(&"x".repeat(500)).len(), "custom_".len() + MAX_ID);
    assert_eq!(key_name_for("a-b.c"), "A_B_C_API_KEY");
}

#[test]
fn what_is_no_url_of_a_server_is_refused() {
    for url in [
        "http://h",
        "http://h\n",
        "https://h:8/v1?a=b@c",
        " http://[::1]:1/ ",
    ] {
        assert!(check_url(url).is_ok(), "{url}");
    }
    let long = format!("http://h/{}", "x".repeat(MAX_VALUE));
    for url in [
        "",
        "h",
        "ftp://h",
        "http://",
        "http:///v1",
        "http://u:p@h",
        "http://a b",
        &long,
    ] {
        assert!(check_url(url).is_err(), "{url}");
    }
}
