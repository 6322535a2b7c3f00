use super::*;
use crate::store::disk::Files;
use crate::store::file_lock::FileLock;
use std::fs;

fn lock_path(test: &str) -> PathBuf {
    let name = format!("gosling-turn-lock-{}-{test}", process::id());
    std::env::temp_dir().join(name)
}

#[test]
fn a_command_is_described_and_no_other_argument() {
    let program = Path::new("/usr/bin/gosling");
    for (first, expected) in [
        (None, "gosling"),
        (Some("serve"), "gosling serve"),
        (Some("twentylettersandnomo"), "gosling twentylettersandnomo"),
        (Some("twentylettersandmore1"), "gosling"),
        (Some("twentylettersandmores"), "gosling"),
        (Some("sk-1"), "gosling"),
    ] {
        assert_eq!(command(program, first.map(OsString::from)), expected);
    }
}

#[test]
fn a_look_at_a_free_lock_does_not_take_it() {
    let path = lock_path("look");
    for _ in 0..2 {
        check_not_held_elsewhere(&Files, &path).unwrap();
        let lock = TurnLock::acquire(&Files, path.clone(), Duration::ZERO).unwrap();
        check_not_held_elsewhere(&Files, &path).unwrap();
        let second = TurnLock::acquire(&Files, path.clone(), Duration::ZERO);
        assert!(matches!(
            second,
            Err(Error::TurnInProgress { holder: None })
        ));
        let described = fs::read_to_string(&path).unwrap();
        assert_eq!(described, format!("{}\n", this_process()));
        drop(lock);
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn the_holder_in_another_process_is_named_as_it_described_itself() {
    let path = lock_path("holder");
    // As another process does: this one does not know of the lock.
    let lock = FileLock::acquire(&path, Duration::ZERO).unwrap();
    let long = "ä".repeat(LONGEST);
    for (described, expected) in [("", "whose id is not known"), (&long, &long)] {
        lock.describe(described).unwrap();
        let acquired = TurnLock::acquire(&Files, path.clone(), Duration::ZERO).map(drop);
        for refused in [acquired, check_not_held_elsewhere(&Files, &path)] {
            let Err(Error::TurnInProgress {
                holder: Some(holder),
            }) = refused
            else {
                panic!("{refused:?}");
            };
            assert_eq!(holder, expected);
        }
    }
    fs::remove_file(path).unwrap();
}
