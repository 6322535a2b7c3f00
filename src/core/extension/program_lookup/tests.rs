use super::*;

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
