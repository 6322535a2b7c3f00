use super::*;
use crate::activity::{Caller, Entry, Recorder};
use crate::audit_log::AuditLog;
use crate::{Options, Sync, sys};
use std::fs;
use std::path::PathBuf;

/// A folder with a log of several files, which is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn with_records(count: usize) -> Self {
        let name = format!("gosling-audit-tail-{}", sys::random_hex(8).unwrap());
        let folder = Folder(std::env::temp_dir().join(name));
        let log = AuditLog::new(Options {
            folder: folder.0.clone(),
            required: true,
            has_values: false,
            sync: Sync::None,
            keeps_lock: false,
            file_size: 1_500,
            keep: None,
        });
        for n in 0..count {
            let subject = format!("subject-{n}");
            let entry = Entry {
                subject: &subject,
                ..Entry::new("setting", "")
            };
            log.record(&Caller::default(), &entry).unwrap();
        }
        folder
    }

    /// The numbers of the records that are told.
    fn told(&self, limit: usize, window: u64) -> Vec<u64> {
        let records = last_records(&self.0, limit, window).unwrap();
        let number = |record: Box<RawValue>| {
            let value: serde_json::Value = serde_json::from_str(record.get()).unwrap();
            value["seq"].as_u64().unwrap()
        };
        records.into_iter().map(number).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn any_part_of_the_end_is_told_without_a_gap() {
    let folder = Folder::with_records(60);
    let whole = folder.told(1_000, u64::MAX);
    assert_eq!(whole, (1..=whole.len() as u64).collect::<Vec<_>>());
    assert!(log_files::numbers(&folder.0).unwrap().len() > 3);
    for limit in 1..whole.len() + 2 {
        let told = folder.told(limit, u64::MAX);
        assert_eq!(told, whole[whole.len().saturating_sub(limit)..], "{limit}");
    }
    let mut most = 0;
    for window in (0..20_000).step_by(31) {
        let told = folder.told(1_000, window);
        assert_eq!(told, whole[whole.len() - told.len()..], "{window}");
        most = most.max(told.len());
    }
    assert!(most > 40, "{most}");
}

#[test]
fn no_folder_has_no_records() {
    let nowhere = Folder(std::env::temp_dir().join("gosling-audit-tail-nowhere"));
    assert_eq!(nowhere.told(10, WINDOW), [0; 0]);
}
