use super::*;

#[test]
fn a_name_is_looked_up_and_a_path_is_not() {
    let folders = search_path();
    let here = Path::new("/");
    assert!(find("sh", here, &folders).unwrap().is_absolute());
    assert_eq!(find("bin/sh", here, &[]).unwrap(), Path::new("/bin/sh"));
    for (cmd, reason) in [
        ("definitely-not-a-command", "not found in any"),
        ("/definitely/not", "no program"),
        ("/etc", "not an executable"),
        (" ", "empty"),
    ] {
        let error = find(cmd, here, &folders).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn an_error_says_what_was_looked_for() {
    use io::ErrorKind::{NotFound, PermissionDenied};
    let folders = [PathBuf::from("/bin")];
    let of_exec = |cmd: &str, path: &str| {
        let error = std::fs::read(path).unwrap_err();
        explain(cmd, &folders, &error)
    };
    let missing = "/does/not/exist";
    assert!(of_exec("x", missing).contains("\"x\" was not found in any of 1 folders"));
    assert!(of_exec("./x", missing).contains("no program \"./x\""));
    for kind in [NotFound, PermissionDenied] {
        let of_folder = io::Error::new(kind, "the working directory");
        let text = explain("x", &folders, &of_folder);
        assert_eq!(text, "\"x\" could not be started: the working directory");
    }
}

#[test]
fn a_relative_folder_of_path_is_never_searched() {
    assert!(find("sh", Path::new("/bin"), &[PathBuf::from(".")]).is_err());
}
