use super::*;
use crate::sys::cancel::Cancel;
use std::time::Duration;

#[test]
fn what_is_not_reached_in_time_is_counted() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = here.join("developer/analyze/outline_files.rs");
    let files = vec![here; 64];
    let cancel = Cancel::new();
    let late = outline_all(&files, false, &TimeLimit::after(Duration::ZERO, &cancel));
    let note = "64 of the files were not analyzed within the time limit; name a smaller part";
    assert_eq!(late.notes(), [note]);
    let day = Duration::from_secs(86_400);
    let whole = outline_all(&files, false, &TimeLimit::after(day, &cancel));
    assert!(whole.notes().is_empty());
}
