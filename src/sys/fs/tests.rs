use super::*;
use std::fs;
use std::time::{Duration, SystemTime};

#[test]
fn a_sync_asks_the_system() {
    // A pipe cannot be synced, which the system alone knows.
    #[cfg(not(windows))]
    {
        let (_, write) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(write));
        assert!(sync_data(&pipe).is_err());
    }
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
    if cfg!(not(windows)) {
        assert!(folder.stamp(&[&"x".repeat(10_000)]).is_err());
    }
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(folder.stamp(&["sub/file"]).unwrap(), None);
}

#[test]
fn large_files_and_times_after_2038_are_told_on_every_processor() {
    let root = std::env::temp_dir().join(format!("gosling-large-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    let file = File::create(root.join("file")).unwrap();
    // Takes no space.
    let is_large = file.set_len(5 << 30).is_ok();
    let late = SystemTime::UNIX_EPOCH + Duration::from_secs(4_102_444_800);
    file.set_modified(late).unwrap();
    let folder = Folder::open(&root).unwrap();
    let stamp = folder.stamp(&["file"]).unwrap().unwrap();
    assert_eq!(
        stamp,
        Stamp::of(&fs::metadata(root.join("file")).unwrap()).unwrap()
    );
    assert_eq!(stamp.modified, late);
    assert_eq!(stamp.len, if is_large { 5 << 30 } else { 0 });
    drop(file);
    fs::remove_dir_all(&root).unwrap();
}
