use super::*;
use std::fs;
use std::io::Write;
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

#[test]
fn a_log_is_cut_and_appended_to_again_and_what_is_locked_can_be_read() {
    let root = std::env::temp_dir().join(format!("gosling-log-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    let path = root.join("log");
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let mut log = open_regular_with(private(&mut options), &path).unwrap();
    log.write_all(b"one\ntw").unwrap();
    FileCalls::set_len(&log, 4).unwrap();
    log.write_all(b"three\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\nthree\n");
    FileCalls::try_lock(&log).unwrap();
    let other = open_regular(&path).unwrap();
    assert!(FileCalls::try_lock_shared(&other).is_err());
    assert_eq!(read_start(&path, 3).unwrap(), b"one");
    FileCalls::unlock(&log).unwrap();
    FileCalls::try_lock_shared(&other).unwrap();
    FileCalls::unlock(&other).unwrap();
    drop((log, other));
    fs::remove_dir_all(&root).unwrap();
}
