use super::*;
use std::fs;

fn lock_path(test: &str) -> PathBuf {
    let name = format!("gosling-file-lock-{}-{test}", std::process::id());
    std::env::temp_dir().join(name)
}

#[test]
fn a_holder_replaces_the_description_of_the_one_before() {
    let path = lock_path("description");
    for text in ["the first one\n", "it\n", "it\n", "someone else\n"] {
        let lock = FileLock::acquire(&path, Duration::ZERO).unwrap();
        lock.describe(text).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::remove_file(path).unwrap();
}

/// A program that is being started has a copy of each descriptor until it runs.
#[test]
fn a_dropped_lock_is_free_while_a_copy_of_its_descriptor_is_open() {
    let path = lock_path("copies");
    fs::write(&path, "").unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let _copy = file.try_clone().unwrap();
    let file = LockFile {
        file: Arc::new(file),
        path: path.clone(),
    };
    for _ in 0..2 {
        let lock = file.acquire(Duration::ZERO).unwrap();
        assert!(FileLock::acquire(&path, Duration::ZERO).is_err());
        drop(lock);
    }
    FileLock::acquire(&path, Duration::ZERO).unwrap();
    fs::remove_file(path).unwrap();
}

#[test]
fn attempts_become_rarer_and_end_with_the_wait() {
    let mut attempts = 0;
    let tried: Result<()> = retry_while_held(Duration::from_millis(50), || {
        attempts += 1;
        Err(Error::TurnInProgress { holder: None })
    });
    assert!(tried.is_err());
    // Pauses of 0.1, 0.2 … 12.8, 20 ms.
    assert!((2..=12).contains(&attempts), "{attempts}");
    let mut attempts = 0;
    let tried: Result<()> = retry_while_held(LOCK_TIMEOUT, || {
        attempts += 1;
        Err(Error::SessionNotFound { id: String::new() })
    });
    assert!(tried.is_err() && attempts == 1);
}
