use super::*;

#[test]
fn no_usual_folder_depends_on_where_this_process_works() {
    let usual = usual_folders();
    assert!(usual.iter().all(|folder| folder.is_absolute()), "{usual:?}");
    let of_system = |folder: &PathBuf| DIRECTORIES.split(' ').any(|it| folder == Path::new(it));
    assert_eq!(usual.iter().any(of_system), !cfg!(windows), "{usual:?}");
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
