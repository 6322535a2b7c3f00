use super::*;
use serde_json::json;

/// The packages of an advisory, as `name versions`.
fn packages(affected: Value) -> Vec<String> {
    let advisory = json!({"id": "MAL-2025-1", "affected": affected});
    match read_one(&advisory) {
        Ok(Advisory::Malware { packages, .. }) => packages
            .iter()
            .map(|it| format!("{} {} {}", it.ecosystem, it.name, it.versions))
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn range(events: Value) -> Value {
    json!([{"package": {"ecosystem": "npm", "name": "p"},
        "ranges": [{"type": "SEMVER", "events": events}]}])
}

#[test]
fn names_are_those_of_the_registry() {
    let affected = json!([
        {"package": {"ecosystem": "PyPI", "name": "Evil_Pkg.X"}, "versions": ["1.0", "1.1"]},
        {"package": {"ecosystem": "npm", "name": "@Scope/Evil"}},
        {"package": {"ecosystem": "crates.io", "name": "evil"}},
        {"package": {"ecosystem": "npm", "name": "two\tfields"}},
        {"package": {"ecosystem": "npm", "name": ""}},
        {"package": {"ecosystem": "npm", "name": "x".repeat(MAX_NAME + 1)}},
        {"package": "npm"},
    ]);
    let expected = ["PyPI evil-pkg-x 1.0 1.1", "npm @scope/evil *"];
    assert_eq!(packages(affected), expected);
}

#[test]
fn limits_are_reached_and_not_passed() {
    let read = |id: usize, affected: usize, name: usize, versions: usize| {
        let package = json!({"ecosystem": "npm", "name": "x".repeat(name)});
        let versions: Vec<String> = (0..versions).map(|n| format!("{n}.0")).collect();
        let mut all = vec![json!({}); affected - 1];
        all.push(json!({"package": package, "versions": versions}));
        let id = format!("MAL-{}", "1".repeat(id - 4));
        match read_one(&json!({"id": id, "affected": all})) {
            Ok(Advisory::Malware { mut packages, .. }) => packages.pop().map(|it| it.versions),
            Ok(other) => panic!("{other:?}"),
            Err(_) => Some("refused".to_owned()),
        }
    };
    let found = read(MAX_ID, MAX_AFFECTED, MAX_NAME, MAX_VERSIONS).unwrap();
    assert_eq!(found.split(' ').count(), MAX_VERSIONS);
    assert_eq!(read(MAX_ID + 1, 1, 1, 1).unwrap(), "refused");
    assert_eq!(read(5, MAX_AFFECTED + 1, 1, 1).unwrap(), "refused");
    assert_eq!(read(5, 1, MAX_NAME + 1, 1), None);
    assert_eq!(read(5, 1, 1, MAX_VERSIONS + 1).unwrap(), versions::ALL);
}

#[test]
fn events_become_spans() {
    for (events, versions) in [
        (json!([{"introduced": "0"}]), "*"),
        (json!([{"introduced": "0"}, {"fixed": "2.0.0"}]), "0..2.0.0"),
        (
            json!([{"introduced": "1.0.0"}, {"last_affected": "1.2.0"}]),
            "1.0.0..=1.2.0",
        ),
        (json!([{"introduced": "1.0.0"}]), "1.0.0.."),
        (
            json!([{"introduced": "1.0.0"}, {"fixed": "1.1.0"}, {"introduced": "2.0.0"}]),
            "1.0.0..1.1.0 2.0.0..",
        ),
        (
            json!([{"introduced": "1.0.0"}, {"limit": "2.0.0"}]),
            "1.0.0..",
        ),
        (json!([{"introduced": "1 0"}, {"fixed": "2.0.0"}]), "*"),
        (json!([{"introduced": "1 0"}]), "*"),
        (json!([]), "*"),
        (json!("events"), "*"),
    ] {
        let found = packages(range(events.clone()));
        assert_eq!(found, [format!("npm p {versions}")], "{events}");
    }
}

#[test]
fn without_versions_and_with_a_range_of_commits_all_are_affected() {
    let package = json!({"ecosystem": "npm", "name": "p"});
    let git = json!([{"package": package, "ranges": [{"type": "GIT", "events": []}]}]);
    assert_eq!(packages(git), ["npm p *"]);
    let many: Vec<String> = (0..=MAX_VERSIONS).map(|n| n.to_string()).collect();
    assert_eq!(
        packages(json!([{"package": package, "versions": many}])),
        ["npm p *"]
    );
}

#[test]
fn memory_ratio_of_advisories() {
    use gosling_testing::memory_ratio::{at_most, filled};
    let package = r#"{"package":{"ecosystem":"npm","name":"p"},"#;
    let affected = format!(r#"{{"id":"MAL-1","affected":[{package}"#);
    let begin = |field: &str| format!("{affected}{field}");
    let many = format!("[{affected}\"versions\":[]}}");
    let many = many + &format!(",{package}\"\":0}}").repeat(900) + "]}";
    let texts = [
        filled(1 << 20, &begin("\"versions\":["), "\"1\",", "\"1\"]}]}"),
        filled(
            1 << 20,
            &begin("\"ranges\":[{\"type\":\"SEMVER\",\"events\":["),
            "{\"introduced\":\"0\"},",
            "0]}]}]}",
        ),
        filled(1 << 20, "[", "{\"id\":\"M\"},", "{\"id\":\"M\"}]"),
        filled(1 << 20, "[", "{\"id\":\"MAL-\"},", "{\"id\":\"MAL-\"}]"),
        filled(1 << 20, &many, " ", "]"),
    ];
    // One takes too much memory, but not where values are smaller.
    let read = texts.iter().filter(|text| read_all(text).is_ok()).count();
    assert_eq!(read, 5 - usize::from(cfg!(target_pointer_width = "64")));
    at_most(45, "advisories", &texts, read_all);
}

#[test]
fn other_advisories_are_told_apart() {
    let malware = json!({"id": "MAL-1", "affected": []});
    let withdrawn = json!({"id": "MAL-2", "withdrawn": "2025-01-01T00:00:00Z"});
    let kept = json!({"id": "MAL-3", "withdrawn": null});
    let vulnerability = json!({"id": "GHSA-xx"});
    let list = json!([malware, withdrawn, kept, vulnerability]);
    let nothing = |id: &str| Advisory::Malware {
        id: id.to_owned(),
        packages: Vec::new(),
    };
    let expected = [
        nothing("MAL-1"),
        Advisory::Withdrawn,
        nothing("MAL-3"),
        Advisory::Other,
    ];
    assert_eq!(read_all(list.to_string().as_bytes()).unwrap(), expected);
    let response = json!({"vulns": list});
    assert_eq!(read_all(response.to_string().as_bytes()).unwrap(), expected);
    assert_eq!(read_all(b"{}").unwrap(), []);
    for text in [
        "",
        "1",
        "[1]",
        "{\"vulns\": 1}",
        "{\"ID\": \"MAL-1\"}",
        "{\"id\": \"MAL-\\t1\"}",
        "{\"id\": \"MAL-1\", \"affected\": {}}",
    ] {
        assert!(read_all(text.as_bytes()).is_err(), "{text}");
    }
}
