use super::*;

#[test]
fn names_stay_in_their_folders() {
    for name in [
        "",
        "/etc/passwd",
        "..",
        "../x",
        "config/../../x",
        "config/..",
        "config//x",
        "config/./x",
        "config/x/",
        "configuration",
        "other/x",
        "state/logs/x",
        "config/\0",
        "/",
        "state",
    ] {
        assert!(Names::default().take(name, false).is_err(), "{name:?}");
        assert!(Names::default().take(name, true).is_err(), "{name:?}");
    }
    let long = format!("config/{}", "x".repeat(256));
    assert!(Names::default().take(&long, false).is_err());
    assert!(Names::default().take("config", false).is_err());
    for name in [
        "config/NUL",
        "config/a:b",
        "config/x.",
        "config/x ",
        "data/aux.txt/y",
        r"data/a\b",
    ] {
        assert_eq!(
            Names::default().take(name, false).is_err(),
            cfg!(windows),
            "{name}"
        );
    }
    assert_eq!(Names::default().take("config/..x", false), Ok((0, "..x")));
    assert_eq!(Names::default().take("state/tls/a", false), Ok((2, "a")));
}

#[test]
fn each_name_is_there_once() {
    let mut names = Names::default();
    assert!(names.take("config", true).is_ok());
    assert!(names.take("config/a", false).is_ok());
    assert!(names.take("config/b/c", false).is_ok());
    assert!(names.take("config/b", true).is_ok());
    for (name, is_folder) in [
        ("config/a", false),
        ("config/a", true),
        ("config/b", false),
        ("config/a/d", false),
    ] {
        assert!(names.take(name, is_folder).is_err(), "{name}");
    }
}
