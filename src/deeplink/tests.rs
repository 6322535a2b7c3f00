//! Links as a whole. The judgement of commands has tests of its own.

use super::{
    ErrorClass, Judged, Judgement, KnownSecret, Link, LinkTransport, MAX_LINK, MAX_NAME, MAX_VALUE,
    classify,
};
use serde_json::json;

fn known(name: &str) -> KnownSecret {
    let owner = match name {
        "OPENAI_API_KEY" => Some("the provider openai".to_owned()),
        _ => None,
    };
    KnownSecret {
        is_set: matches!(name, "OPENAI_API_KEY" | "SET"),
        owner,
    }
}

/// `None` for a link to a recipe or a session.
pub(crate) fn judge(text: &str) -> Option<Judged> {
    match Link::parse(text) {
        Ok(Link::Extension(link)) => Some(classify(&link, &known, &|name| {
            matches!(name, "touch" | "Top")
        })),
        Ok(_) => None,
        Err(error) => Some(error.into()),
    }
}

/// `JUDGEMENT CLASS`, without their prefixes.
fn outcome(link: &str) -> String {
    let Some(judged) = judge(link) else {
        return "no extension".to_owned();
    };
    assert!(judged.judgement == Judgement::Allowed || !judged.reasons.is_empty());
    let is_usable = matches!(
        judged.judgement,
        Judgement::Allowed | Judgement::ConfirmRequired
    );
    assert_eq!(judged.config.is_some(), is_usable, "{link}");
    assert_eq!(judged.class.is_none(), is_usable, "{link}");
    let shown = crate::json::to_value(&judged).unwrap();
    let judgement = shown["judgement"].as_str().unwrap();
    let judgement = judgement.strip_prefix("EXTENSION_").unwrap();
    match shown["class"].as_str() {
        None => judgement.to_owned(),
        Some(class) => {
            let class = class.strip_prefix("DEEPLINK_").unwrap();
            format!("{judgement} {class}")
        }
    }
}

/// What a link to an extension with these parameters makes.
pub(crate) fn with(parameters: &str) -> String {
    outcome(&format!("goose://extension?name=x&{parameters}"))
}

pub(crate) const ALLOWED: &str = "ALLOWED";
pub(crate) const CONFIRM: &str = "UNTRUSTED_CONFIRM_REQUIRED";
pub(crate) const BLOCKED: &str = "BLOCKED SECURITY_BLOCKED";
pub(crate) const INVALID: &str = "INVALID_PAYLOAD INVALID_PAYLOAD";
const FAILED: &str = "INVALID_PAYLOAD PARSE_FAILED";
const ROUTE: &str = "INVALID_PAYLOAD UNSUPPORTED_ROUTE";
const SCHEME: &str = "INVALID_PAYLOAD INVALID_SCHEME";

#[test]
fn a_link_has_the_scheme_and_a_route() {
    for (link, expected) in [
        ("goose://extension?name=x&cmd=npx", ALLOWED),
        (" GooSe://extension?name=x&cmd=npx\n", ALLOWED),
        ("goose://extension/?name=x&cmd=npx#fragment", ALLOWED),
        ("goose://recipe?config=e30", "no extension"),
        ("goose://bot?config=e30", "no extension"),
        ("goose://sessions/abc-1_Z", "no extension"),
        ("", FAILED),
        ("goose", FAILED),
        ("/etc/passwd", FAILED),
        ("goose:extension?name=x&cmd=npx", FAILED),
        ("goose:/extension?name=x&cmd=npx", FAILED),
        ("goose\u{2236}//extension?name=x&cmd=npx", FAILED),
        ("g\u{43e}ose://extension?name=x&cmd=npx", FAILED),
        ("goose ://extension?name=x&cmd=npx", FAILED),
        ("goose://extension?name=x&cmd=n\npx", FAILED),
        ("goose://extension?name=x y&cmd=npx", FAILED),
        ("goose://extension?name=x\0&cmd=npx", FAILED),
        ("https://extension?name=x&cmd=npx", SCHEME),
        ("gooses://extension?name=x&cmd=npx", SCHEME),
        ("javascript:goose://extension?name=x&cmd=npx", SCHEME),
        ("goose://EXTENSION?name=x&cmd=npx", ROUTE),
        ("goose://extensions?name=x&cmd=npx", ROUTE),
        ("goose://extension/more?name=x&cmd=npx", ROUTE),
        ("goose://user@extension?name=x&cmd=npx", ROUTE),
        ("goose://extension:80?name=x&cmd=npx", ROUTE),
        ("goose://extension%00?name=x&cmd=npx", ROUTE),
        ("goose://../extension?name=x&cmd=npx", ROUTE),
        ("goose://?name=x&cmd=npx", ROUTE),
        ("goose://", ROUTE),
        ("goose://recipe", INVALID),
        ("goose://recipe?config=", INVALID),
        ("goose://recipe?config=a&config=b", INVALID),
        ("goose://sessions", INVALID),
        ("goose://sessions/", INVALID),
        ("goose://sessions/../x", INVALID),
        ("goose://sessions/a%2fb", INVALID),
    ] {
        assert_eq!(outcome(link), expected, "{link:?}");
    }
}

#[test]
fn the_parameters_of_an_extension_are_checked() {
    for (link, expected) in [
        ("goose://extension", INVALID),
        ("goose://extension?cmd=npx", INVALID),
        ("goose://extension?name=&cmd=npx", INVALID),
        ("goose://extension?name=%20&cmd=npx", INVALID),
        ("goose://extension?name=%2F..%2F&cmd=npx", INVALID),
        ("goose://extension?name=x", INVALID),
        ("goose://extension?name=x&name=y&cmd=npx", INVALID),
        ("goose://extension?name=Developer&cmd=npx", CONFIRM),
        ("goose://extension?name=todo&cmd=npx", CONFIRM),
        ("goose://extension?name=a%00b&cmd=npx", INVALID),
        ("goose://extension?name=a%1b%5B31m&cmd=npx", INVALID),
        ("goose://extension?name=%E2%80%AEevil&cmd=npx", BLOCKED),
        ("goose://extension?name=a%E2%80%8Fb&cmd=npx", BLOCKED),
        ("goose://extension?name=a%E2%80%8Bb&cmd=npx", BLOCKED),
        ("goose://extension?name=%ff&cmd=npx", FAILED),
        ("goose://extension?name=%zz&cmd=npx", FAILED),
        ("goose://extension?name=x%&cmd=npx", FAILED),
    ] {
        assert_eq!(outcome(link), expected, "{link}");
    }
    for (parameters, expected) in [
        ("cmd=npx&unknown=1&id=x&&", ALLOWED),
        ("cmd=npx&url=https://h", INVALID),
        ("cmd=npx&cmd=npx", INVALID),
        ("cmd=npx&header=A%3Db", INVALID),
        ("url=https://h&arg=a", INVALID),
        ("url=https://h&url=https://h", INVALID),
        ("cmd=npx&timeout=1", ALLOWED),
        ("cmd=npx&timeout=86400", ALLOWED),
        ("cmd=npx&timeout=86401", INVALID),
        ("cmd=npx&timeout=0", INVALID),
        ("cmd=npx&timeout=-1", INVALID),
        ("cmd=npx&timeout=%2B5", INVALID),
        ("cmd=npx&timeout=1.5", INVALID),
        ("cmd=npx&timeout=1e3", INVALID),
        ("cmd=npx&timeout=99999999999999999999", INVALID),
        ("cmd=npx&timeout=1&timeout=2", INVALID),
        ("cmd=npx&description=a%0Ab", ALLOWED),
        ("cmd=npx&description=a%00b", INVALID),
        ("cmd=npx&env=KEY", ALLOWED),
        ("cmd=npx&env=KEY%3Dvalue", ALLOWED),
        ("cmd=npx&env=", INVALID),
        ("cmd=npx&env=%3Dvalue", INVALID),
        ("cmd=npx&env=A%20B", INVALID),
        ("cmd=npx&env=A%0AB", INVALID),
        ("cmd=npx&env=PATH", BLOCKED),
        ("cmd=npx&env=PATH%3D/tmp", BLOCKED),
        ("cmd=npx&env=ld_preload%3D/x.so", BLOCKED),
        ("cmd=npx&env=NODE_OPTIONS", BLOCKED),
        ("cmd=npx&env=GIT_SSH_COMMAND", BLOCKED),
        ("cmd=uvx&env=UV_INDEX_URL", BLOCKED),
        ("cmd=npx&env=npm_config_registry", BLOCKED),
        ("cmd=npx&env=HTTPS_PROXY", BLOCKED),
        ("cmd=npx&env=GOOSE_SERVER__SECRET_KEY", BLOCKED),
        ("cmd=npx&env=SET", CONFIRM),
        ("cmd=npx&env=OPENAI_API_KEY", CONFIRM),
    ] {
        assert_eq!(with(parameters), expected, "{parameters}");
    }
}

#[test]
fn sizes_are_limited() {
    let long = "a".repeat(1 << 20);
    assert_eq!(with(&format!("cmd=npx&arg={long}")), FAILED);
    let long = "a".repeat(MAX_VALUE + 1);
    for name in ["arg", "description", "env", "header", long.as_str()] {
        assert_eq!(with(&format!("cmd=npx&{name}={long}")), INVALID);
    }
    let many = "&arg=a".repeat(101);
    assert_eq!(with(&format!("cmd=npx{many}")), INVALID);
    let many = "&x=a".repeat(1_000);
    assert_eq!(with(&format!("cmd=npx{many}")), INVALID);
    let fits = "a".repeat(MAX_VALUE);
    assert_eq!(with(&format!("cmd=npx&description={fits}")), ALLOWED);
    assert_eq!(with(&format!("cmd=npx{}", "&arg=a".repeat(100))), ALLOWED);
    assert_eq!(with(&format!("cmd=npx{}", "&x=a".repeat(398))), ALLOWED);
    assert_eq!(with(&format!("cmd=npx{}", "&x=a".repeat(399))), INVALID);
    let named = |length: usize| {
        outcome(&format!(
            "goose://extension?name={}&cmd=npx",
            "a".repeat(length)
        ))
    };
    assert_eq!(
        (named(MAX_NAME).as_str(), named(MAX_NAME + 1).as_str()),
        (ALLOWED, INVALID)
    );
    let recipe = |length: usize| {
        let begin = "goose://recipe?config=";
        Link::parse(&format!("{begin}{}", "a".repeat(length - begin.len())))
    };
    assert!(matches!(recipe(MAX_LINK), Ok(Link::Recipe { .. })));
    let error = recipe(MAX_LINK + 1).unwrap_err();
    assert_eq!(error.to_string(), "the link is longer than 640 KiB");
    let error = Link::parse(&format!("goose://extension?name=x&cmd=npx&arg={fits}a")).unwrap_err();
    assert_eq!(error.to_string(), "`arg` is longer than 8 KiB");
}

#[test]
fn the_configuration_has_what_the_link_says_and_no_value_of_a_variable() {
    let link = "goose://extension?name=My%20Server+2&description=d&timeout=30&cmd=npx&arg=-y&arg=a%20b\
                &env=TOKEN%3Dplanted&env=SET&env=TOKEN&installation_notes=n";
    let Ok(Link::Extension(read)) = Link::parse(link) else {
        panic!("it is a link to an extension");
    };
    assert_eq!(read.ignored_values, ["TOKEN"]);
    let judged = judge(link).unwrap();
    assert!(!format!("{judged:?}").contains("planted"));
    assert_eq!(judged.needs_configuration, ["TOKEN"]);
    let config = json!({
        "type": "stdio", "name": "My Server 2", "description": "d", "cmd": "npx", "args": ["-y", "a b"],
        "envs": {}, "env_keys": ["SET", "TOKEN"], "timeout": 30, "bundled": null, "available_tools": [],
        "installation_notes": "n",
    });
    assert_eq!(judged.config.unwrap().to_value(), config);
    let ignored = |reason: &String| reason.contains("TOKEN");
    assert!(judged.reasons.iter().any(ignored), "{:?}", judged.reasons);
}

#[test]
fn headers_say_which_secrets_they_need() {
    let link = "goose://extension?name=x&url=https://h&header=Authorization%3DBearer%20%24%7BTOKEN%7D\
                &header=X-Empty%3D&header=X%3D1";
    let judged = judge(link).unwrap();
    assert_eq!(judged.needs_configuration, ["TOKEN", "X-Empty"]);
    let config = judged.config.unwrap().to_value();
    assert_eq!(config["env_keys"], json!(["TOKEN"]));
    let headers = json!({"Authorization": "Bearer ${TOKEN}", "X-Empty": "", "X": "1"});
    assert_eq!(config["headers"], headers);
}

#[test]
fn the_plus_of_a_recipe_stays() {
    let link = Link::parse("goose://recipe?config=a+b/c%3D&user=x+y");
    let expected = Link::Recipe {
        config: "a+b/c=".to_owned(),
        parameters: vec![("user".to_owned(), "x y".to_owned())],
    };
    assert_eq!(link, Ok(expected));
}

#[test]
fn any_text_has_one_class() {
    gosling_testing::property_testing::check(|u| {
        let parts = [
            "goose://",
            "extension?",
            "recipe?config=",
            "name=x",
            "&",
            "cmd=npx",
            "&arg=",
            "-c",
            "%",
            "%00",
            "url=https://",
            "@",
            "[",
            ":",
            "header=",
            "=",
            "env=",
            "docker",
            "run",
            "-v",
            "\u{202e}",
            "é",
        ];
        let mut text = String::new();
        for _ in 0..u.int_in_range(0..=12)? {
            if u.ratio(5, 6)? {
                text.push_str(u.choose(&parts)?)
            } else {
                text.push_str(&u.arbitrary::<String>()?)
            }
        }
        assert_eq!(outcome(&text), outcome(&text));
        if let Ok(Link::Extension(link)) = Link::parse(&text) {
            let is_set = match &link.transport {
                LinkTransport::Stdio { cmd, .. } => !cmd.is_empty(),
                LinkTransport::StreamableHttp { url, .. } => !url.is_empty(),
            };
            assert!(is_set && !link.name.is_empty());
        }
        Ok(())
    });
    let failed = Link::parse("x").unwrap_err();
    assert_eq!(failed.class, ErrorClass::ParseFailed);
}
