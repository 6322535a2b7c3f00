use super::*;

#[test]
fn paths_are_absolute_and_tidy() {
    let dir = Path::new("/work/here");
    let resolved = |path| resolve(path, dir).unwrap();
    assert_eq!(resolved("a/b.txt"), Path::new("/work/here/a/b.txt"));
    assert_eq!(resolved("../x/./y"), Path::new("/work/x/y"));
    assert_eq!(resolved("/etc/hosts "), Path::new("/etc/hosts"));
    assert_eq!(resolved("~x/y"), Path::new("/work/here/~x/y"));
    assert!(resolved("~/y").is_absolute() && !resolved("~/y").starts_with(dir));
    let long = "a/".repeat(MAX_PATH);
    for bad in ["", "  ", "a\0b", &long] {
        assert!(resolve(bad, dir).is_err());
    }
}
