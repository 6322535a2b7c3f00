use super::*;
use gosling_core::extension::program_lookup::search_path;

#[test]
fn a_name_is_looked_up_and_a_path_is_not() {
    let folders = search_path();
    let here = Path::new("/");
    assert!(find_program("sh", here, &folders).unwrap().is_absolute());
    assert_eq!(
        find_program("bin/sh", here, &[]).unwrap(),
        Path::new("/bin/sh")
    );
    for (cmd, reason) in [
        ("definitely-not-a-command", "not found in any"),
        ("/definitely/not", "no program"),
        ("/etc", "not an executable"),
        (" ", "empty"),
    ] {
        let error = find_program(cmd, here, &folders).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_relative_folder_of_path_is_never_searched() {
    assert!(find_program("sh", Path::new("/bin"), &[PathBuf::from(".")]).is_err());
}
