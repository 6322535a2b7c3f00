use super::*;

#[test]
fn a_path_is_joined_without_repeating_what_the_host_has() {
    for (base, path, url) in [
        (
            "https://h",
            "v1/chat/completions",
            "https://h/v1/chat/completions",
        ),
        (
            "https://h/",
            "/v1/chat/completions",
            "https://h/v1/chat/completions",
        ),
        (
            "https://h/v1",
            "v1/chat/completions",
            "https://h/v1/chat/completions",
        ),
        (
            "https://h/openai/v1",
            "openai/v1/chat/completions",
            "https://h/openai/v1/chat/completions",
        ),
        (
            "https://h/v1/chat/completions",
            "v1/chat/completions",
            "https://h/v1/chat/completions",
        ),
        (
            "http://h:1/proxy",
            "v1/chat/completions",
            "http://h:1/proxy/v1/chat/completions",
        ),
    ] {
        assert_eq!(join(base, path), url);
    }
    assert_eq!(
        models_url("https://h/v1/chat/completions"),
        "https://h/v1/models"
    );
    assert_eq!(
        models_url("https://h/chat/completions?x=1"),
        "https://h/models"
    );
    assert_eq!(models_url("https://h/v2/talk"), "https://h/v1/models");
    assert_eq!(models_url("https://h/a/responses"), "https://h/a/models");
}

#[test]
fn a_host_is_taken_as_users_write_it() {
    for (host, url) in [
        ("api.h.com", "https://api.h.com"),
        ("localhost:8000/", "http://localhost:8000"),
        (" https://h/v1/ ", "https://h/v1"),
    ] {
        assert_eq!(base_url(host), url);
    }
}

#[test]
fn azure_without_dated_versions_has_the_deployment_in_the_body() {
    let v1 = "https://r.openai.azure.com/openai/v1/chat/completions";
    for (base, version, url) in [
        (
            "https://r.openai.azure.com/openai/v1",
            "2024-10-21",
            v1.to_owned(),
        ),
        ("https://r.openai.azure.com", "v1", v1.to_owned()),
        ("https://r.openai.azure.com", "latest", v1.to_owned()),
        (
            "https://r.openai.azure.com",
            "preview",
            format!("{v1}?api-version=preview"),
        ),
    ] {
        assert_eq!(deployment_url(base, "mine", version), url);
    }
}

#[test]
fn a_deployment_cannot_leave_its_place() {
    assert_eq!(
        deployment_url("https://r.openai.azure.com", "my-gpt_4.1/../x", "v"),
        "https://r.openai.azure.com/openai/deployments/my-gpt_4.1%2F..%2Fx/chat/completions?api-version=v"
    );
}
