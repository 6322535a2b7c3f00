use super::*;

/// A parent folder, removed with its content.
struct ParentFolder(PathBuf);

fn parent() -> ParentFolder {
    let name = format!("gosling-outputs-{}", crate::sys::random_hex(8).unwrap());
    let path = env::temp_dir().join(name);
    fs::create_dir(&path).unwrap();
    ParentFolder(path)
}

impl Drop for ParentFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn they_are_bounded_in_number_and_size_and_go_with_their_server() {
    let parent = parent();
    let outputs = SavedOutputs::under(parent.0.clone());
    assert_eq!(fs::read_dir(&parent.0).unwrap().count(), 0, "not before");
    let paths: Vec<_> = (0..MAX_FILES + 3)
        .map(|n| outputs.save(&format!("output {n}\n")).unwrap())
        .collect();
    assert!(paths[..3].iter().all(|path| !path.exists()));
    let last = &paths[MAX_FILES + 2];
    assert_eq!(fs::read_to_string(last).unwrap(), "output 52\n");
    assert_eq!(
        fs::read_dir(last.parent().unwrap()).unwrap().count(),
        MAX_FILES
    );
    let large = "x".repeat(MAX_BYTES / 2);
    let large: Vec<_> = (0..3).map(|_| outputs.save(&large).unwrap()).collect();
    assert!(!last.exists() && !large[0].exists() && large[1].exists() && large[2].exists());
    assert!(outputs.save(&"x".repeat(MAX_BYTES + 1)).is_err());
    drop(outputs);
    assert_eq!(fs::read_dir(&parent.0).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn nobody_else_reads_them() {
    use std::os::unix::fs::PermissionsExt;
    let parent = parent();
    let outputs = SavedOutputs::under(parent.0.clone());
    let path = outputs.save("secret").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn a_folder_that_was_removed_is_made_again() {
    let parent = parent();
    let outputs = SavedOutputs::under(parent.0.clone());
    let first = outputs.save("one").unwrap();
    fs::remove_dir_all(first.parent().unwrap()).unwrap();
    let second = outputs.save("two").unwrap();
    assert_ne!(first.parent(), second.parent());
    assert_eq!(fs::read_to_string(second).unwrap(), "two");
    fs::remove_dir_all(&parent.0).unwrap();
    assert!(outputs.save("three").is_err(), "there is no place for it");
}
