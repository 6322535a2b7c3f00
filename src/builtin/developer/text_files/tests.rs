use super::*;

#[test]
fn paths_are_absolute_and_tidy() {
    let root = Path::new(if cfg!(windows) { "c:/" } else { "/" });
    let dir = &root.join("work/here");
    let resolved = |path| resolve(path, dir).unwrap();
    assert_eq!(resolved("a/b.txt"), root.join("work/here/a/b.txt"));
    assert_eq!(resolved("../x/./y"), root.join("work/x/y"));
    assert_eq!(resolved("/etc/hosts "), root.join("etc/hosts"));
    assert_eq!(resolved("~x/y"), root.join("work/here/~x/y"));
    assert!(resolved("~/y").is_absolute() && !resolved("~/y").starts_with(dir));
    let long = "a/".repeat(MAX_PATH);
    for bad in ["", "  ", "a\0b", &long] {
        assert!(resolve(bad, dir).is_err());
    }
}

#[cfg(windows)]
#[test]
fn a_path_that_means_another_file_is_refused() {
    let dir = Path::new(r"c:\work");
    for bad in [
        "c:x",
        "d:x",
        "x::$DATA",
        r"a\x:y",
        r"c:\x:y\z",
        r"\\host\share\x.png",
        "//host/share/x.png",
        r"\\.\pipe\x",
        r"\\?\GLOBALROOT\Device\Null",
        "nul",
        r"sub\COM1.txt",
        r"sub\..\aux",
    ] {
        assert!(resolve(bad, dir).is_err(), "{bad}");
    }
    for (path, meant) in [
        (r"d:\x", r"d:\x"),
        (r"\x", r"c:\x"),
        (r"a\..\x", r"c:\work\x"),
        (r"\\?\c:\x", r"\\?\c:\x"),
    ] {
        assert_eq!(resolve(path, dir).unwrap(), Path::new(meant));
    }
    let shared = Path::new(r"\\host\share\work");
    assert!(resolve(r"\\host\share\x", shared).is_ok());
    assert!(resolve(r"\\host\share2\x", shared).is_err());
}

#[test]
fn a_path_has_the_root_of_its_own_drive() {
    let paths: &[_] = if cfg!(windows) {
        &[
            (r"d:\a\b", r"d:\", r"a\b"),
            (r"\\?\d:\a\b", r"\\?\d:\", r"a\b"),
            (r"\\host\share\a", r"\\host\share\", "a"),
            (r"\\?\UNC\host\share\a", r"\\?\UNC\host\share\", "a"),
            (r"d:\", r"d:\", ""),
        ]
    } else {
        &[("/a/b", "/", "a/b"), ("/", "/", "")]
    };
    for (path, root, within) in paths {
        let split = split_root(Path::new(path));
        assert_eq!(split, (root.into(), Path::new(within)), "{path}");
    }
}
