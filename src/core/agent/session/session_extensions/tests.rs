use super::*;
use serde_json::json;

#[test]
fn a_name_that_is_taken_gets_a_number() {
    let config = |name: &str| {
        let config = json!({"type": "stdio", "name": name, "cmd": "x", "args": []});
        ExtensionConfig::from_value(config).unwrap()
    };
    let mut extensions = vec![config("Files").to_value()];
    let client = vec![config("files"), config("git"), config("files")];
    let names = append(&mut extensions, client).unwrap();
    assert_eq!(names, ["files2", "git", "files3"]);
    let all: Vec<_> = extensions.iter().map(|it| it["name"].as_str()).collect();
    assert_eq!(
        all,
        [Some("Files"), Some("files2"), Some("git"), Some("files3")]
    );
    let many = vec![config("x"); MAX_EXTENSIONS];
    assert!(append(&mut extensions, many).is_err());
}
