use super::*;
use std::path::Path;

#[test]
fn a_mistyped_command_has_a_neighbour_and_a_path_is_no_command() {
    let config = Config::with_env(Path::new("/nowhere/config.yaml").into(), Box::new(|_| None));
    let mistyped = |line: &str| mistyped(line, &config);
    for (line, near) in [
        ("/halp", "/help?"),
        ("/Compact", "/compact?"),
        ("/promt greet", "/prompt?"),
        ("/comapct", "/compact?"),
        ("/model gpt", "/help lists"),
    ] {
        let reason = mistyped(line).unwrap();
        assert!(reason.contains(near), "{reason}");
    }
    for sent in [
        "/help",
        "/exit",
        "/clear",
        "/prompt x",
        " /halp",
        "/",
        "/ x",
        "//halp",
        "/etc/passwd is one",
        "/etc/",
        "/a.txt",
        "halp /help",
    ] {
        assert_eq!(mistyped(sent), None, "{sent}");
    }
}
