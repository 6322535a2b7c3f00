use super::*;
use gosling_core::extension::program_lookup::search_path;

#[test]
fn a_name_is_looked_up_and_a_path_is_not() {
    let folders = search_path();
    let shell = if cfg!(windows) { "cmd.exe" } else { "sh" };
    let found = find_program(shell, Path::new("/"), &folders).unwrap();
    assert!(found.is_absolute());
    let here = found.ancestors().last().unwrap();
    let path = found.strip_prefix(here).unwrap().to_str().unwrap();
    assert_eq!(find_program(path, here, &[]).unwrap(), found);
    let folder = std::env::temp_dir();
    for (cmd, reason) in [
        ("definitely-not-a-command", "not found in any"),
        ("/definitely/not", "no program"),
        (folder.to_str().unwrap(), "not an executable"),
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
