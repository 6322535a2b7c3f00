use super::*;
use crate::extension::ExtensionConfig;
use crate::mcp::types::Tool;
use serde_json::json;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// The file in a folder of its own, deleted when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gosling-pins-{}-{next}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }

    fn file(&self) -> PinFile {
        PinFile::new(&self.0, "one")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The pins of a program with one tool of this description.
fn pins(program: &str, description: &str) -> Pins {
    let config = json!({"type": "stdio", "name": "one", "cmd": program});
    let config = ExtensionConfig::from_value(config).unwrap();
    let tools = json!([{"name": "t", "description": description, "inputSchema": {}}]);
    let tools: Vec<Tool> = crate::json::from_str(&tools.to_string()).unwrap();
    Pins::of(&config, &tools, &[]).unwrap()
}

#[test]
fn what_differed_is_forgotten_once_its_launch_is_as_pinned_again_and_no_other() {
    let folder = Folder::new();
    let file = folder.file();
    let differs = |now: &Pins| file.compare(now).unwrap().0.is_some();
    let pinned = pins("a", "reads");
    assert!(!differs(&pinned));
    assert!(differs(&pins("a", "writes")));
    assert!(!differs(&pinned));
    assert_eq!(file.accept().unwrap(), [], "it was withdrawn");
    assert!(differs(&pins("b", "writes")));
    assert!(!differs(&pinned));
    assert_eq!(file.accept().unwrap().len(), 1);
    assert!(!differs(&pins("b", "writes")) && !differs(&pinned));
}

/// Runs this in some threads at the same time; returns how many return true.
fn at_once(act: impl Fn(usize) -> bool + Sync) -> usize {
    const THREADS: usize = 4;
    let together = Barrier::new(THREADS);
    let is_first = AtomicUsize::new(0);
    thread::scope(|scope| {
        for n in 0..THREADS {
            let (together, is_first, act) = (&together, &is_first, &act);
            scope.spawn(move || {
                together.wait();
                is_first.fetch_add(usize::from(act(n)), Ordering::Relaxed);
            });
        }
    });
    is_first.into_inner()
}

#[test]
fn of_those_that_write_at_once_each_sees_what_the_one_before_has_written() {
    for _ in 0..25 {
        let folder = Folder::new();
        let listed = |n| pins("a", &format!("description {n}"));
        let pins_all = |n| folder.file().compare(&listed(n)).unwrap().0.is_none();
        assert_eq!(at_once(pins_all), 1, "the first one pins");
        let accepts = |_| !folder.file().accept().unwrap().is_empty();
        assert_eq!(at_once(accepts), 1, "the first one accepts");
    }
}
