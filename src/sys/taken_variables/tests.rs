use super::*;
use crate::process::Command;
use std::ffi::OsStr;

/// Tests run in several threads, so nothing may be removed here.
#[test]
fn what_is_taken_is_for_this_process_alone() {
    let name = "CARGO_PKG_NAME";
    let has = |command: &Command| command.environment().contains_key(OsStr::new(name));
    assert!(has(&Command::new("true")));
    assert!(!os::is_only_thread());
    assert_eq!(take_variable(name).as_deref(), Some("gosling-sys"));
    assert_eq!(take_variable(name), None);
    assert!(
        std::env::var(name).is_ok(),
        "another thread may be reading it"
    );
    let mut command = Command::new("true");
    assert!(!has(&command));
    let set = command.env(name, "own").environment();
    assert_eq!(set[OsStr::new(name)], "own");
    assert_eq!(take_variable("GOSLING_NO_SUCH_VARIABLE"), None);
}
