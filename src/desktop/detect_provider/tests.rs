use super::*;
use crate::features;

#[test]
fn only_a_form_of_one_vendor_names_it() {
    for (key, name) in [
        ("sk-ant-api03-x", Some("anthropic")),
        ("sk-or-v1-x", Some("openrouter")),
        ("sk-proj-x", Some("openai")),
        ("sk-abcT3BlbkFJdef", Some("openai")),
        ("sk-0123456789abcdef0123456789abcdef", None),
        ("AIzaSyX", Some("google")),
        ("", None),
        ("SK-ANT-x", None),
        (" sk-ant-x", None),
    ] {
        assert_eq!(vendor(key), name, "{key}");
    }
}

fn builtin(name: &str) -> Option<ProviderDetails> {
    let config = Config::with_env(PathBuf::new(), Box::new(|_| None));
    let secrets = Secrets::with_env(PathBuf::new(), Box::new(|_| None));
    let catalog = ProviderCatalog::new(config, Arc::new(secrets), false);
    let mut entries = catalog.entries().into_iter();
    entries.find(|entry| entry.name == name)
}

#[test]
fn a_key_goes_to_no_other_host_than_its_vendors_and_this_machine() {
    for (host, url) in [
        (
            "https://api.other-vendor.example",
            "https://api.openai.com/v1/chat/completions",
        ),
        (
            "http://127.0.0.1:9",
            "http://127.0.0.1:9/v1/chat/completions",
        ),
    ] {
        let env = move |name: &str| match name {
            "OPENAI_HOST" => Some(host.to_owned()),
            "OPENAI_API_KEY" | "OPENAI_ORGANIZATION" => Some("stored".to_owned()),
            _ => None,
        };
        let config = Config::with_env(PathBuf::new(), Box::new(env));
        let openai = builtin("openai").unwrap();
        let catalog = catalog_with_key(&openai, "given", config, false).unwrap();
        assert_eq!(catalog.url("openai").unwrap(), url);
    }
}

#[test]
fn every_named_vendor_has_a_key_and_lists_its_models() {
    for (_, name) in KEY_PREFIXES {
        let Some(vendor) = builtin(name) else {
            assert!(features::is_left_out(name), "{name}");
            continue;
        };
        let secrets: Vec<_> = (vendor.metadata.config_keys.iter())
            .filter(|setting| setting.secret && setting.name.ends_with("_KEY"))
            .map(|setting| setting.name.clone())
            .collect();
        assert_eq!(key_setting(&vendor).as_slice(), secrets, "{name}");
    }
}
