use super::*;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn every_feature_of_the_manifest_is_listed() {
    let manifest = include_str!("../../../Cargo.toml");
    let default = manifest
        .lines()
        .find_map(|line| line.strip_prefix("default = "))
        .expect("the default features are on one line");
    let listed: Vec<&str> = FEATURES.iter().map(|feature| feature.name).collect();
    assert_eq!(default, format!("{listed:?}"));
}

#[test]
fn only_what_is_left_out_has_a_hint() {
    assert_eq!(hint("nosuch"), "");
    for Feature { name, is_built, .. } in FEATURES {
        assert_eq!(hint(name).is_empty(), *is_built, "{name}");
    }
    assert_eq!(hint_among(SERVERS, "tls"), "");
    let of_providers = PROVIDERS.iter().map(|(_, feature)| feature);
    for name in SERVERS.iter().chain(of_providers) {
        assert!(FEATURES.iter().any(|feature| feature.name == *name));
    }
    assert_eq!(hint_of_provider("aws_bedrock"), hint("bedrock"));
    assert_eq!(
        hint_of_provider("bedrock").is_empty(),
        !is_left_out("openai")
    );
}

#[test]
fn the_openapi_document_names_the_features_of_routes() {
    let document: Value = serde_json::from_str(include_str!("../../manual/openapi.json")).unwrap();
    let mut documented = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if let Some(feature) = operation["x-feature"].as_str() {
                documented.insert(format!("{feature}: {} {path}", method.to_uppercase()));
            }
        }
    }
    let mut routes = BTreeSet::new();
    for feature in FEATURES {
        for (method, paths) in feature.routes {
            let named = |path| format!("{}: {method} {path}", feature.name);
            routes.extend(paths.iter().map(named));
        }
    }
    assert_eq!(documented, routes);
}
