use super::*;
use std::fs;

#[test]
fn a_sync_asks_the_system() {
    // A pipe cannot be synced, which the system alone knows.
    let (_, write) = io::pipe().unwrap();
    let pipe = File::from(std::os::fd::OwnedFd::from(write));
    assert!(sync_data(&pipe).is_err());
    assert!(sync_dir(Path::new("/nonexistent")).is_err());
    assert!(sync_dir(&std::env::temp_dir()).is_ok());
}

#[test]
fn a_folder_finds_the_states_that_paths_find() {
    let root = std::env::temp_dir().join(format!("gosling-folder-{}", std::process::id()));
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::write(root.join("sub/file"), "text").unwrap();
    let folder = Folder::open(&root).unwrap();
    let by_path = Stamp::of(&fs::metadata(root.join("sub/file")).unwrap()).unwrap();
    assert_eq!(folder.stamp(&["sub", "/", "file"]).unwrap(), Some(by_path));
    assert_eq!(folder.stamp(&["sub/none"]).unwrap(), None);
    assert!(folder.stamp(&["sub/\0"]).is_err());
    assert!(folder.stamp(&[&"x".repeat(10_000)]).is_err());
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(folder.stamp(&["sub/file"]).unwrap(), None);
}
