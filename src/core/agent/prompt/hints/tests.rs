use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

const NAMES: [&str; 2] = [".goosehints", "AGENTS.md"];

struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gosling-hints-{}-{n}", std::process::id());
        let place = Place(std::env::temp_dir().join(name));
        fs::create_dir_all(place.0.join("repo/.git")).unwrap();
        fs::create_dir_all(place.0.join("repo/a/b")).unwrap();
        fs::create_dir_all(place.0.join("config")).unwrap();
        place
    }

    fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.0.join(name), text).unwrap();
        self
    }

    fn hints(&self) -> Hints {
        Hints::new(&self.0.join("config"))
    }

    fn text(&self) -> String {
        self.hints()
            .text(&self.0.join("repo/a/b"), &[], &NAMES.map(str::to_owned))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn order(text: &str, parts: &[&str]) {
    let at: Vec<_> = parts.iter().map(|part| text.find(part)).collect();
    assert!(
        at.iter().all(Option::is_some) && at.is_sorted(),
        "{parts:?} in {text}"
    );
}

#[test]
fn further_folders_are_named_and_speak_before_the_owner() {
    let place = Place::new()
        .with("repo/a/b/.goosehints", "folder says")
        .with("config/.goosehints", "owner says");
    let other = place.0.join("more");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("AGENTS.md"), "other says").unwrap();
    let more = [other.clone(), place.0.join("config")];
    let names = NAMES.map(str::to_owned);
    let text = place.hints().text(&place.0.join("repo/a/b"), &more, &names);
    let named = other.display().to_string();
    order(
        &text,
        &[
            MORE_FOLDERS,
            &named,
            "folder says",
            "other says",
            "owner says",
        ],
    );
}

#[test]
fn the_project_speaks_from_its_root_down_and_then_the_owner() {
    let place = Place::new()
        .with("repo/.goosehints", "root says")
        .with("repo/AGENTS.md", "agents say")
        .with("repo/a/b/.goosehints", "folder says")
        .with("config/.goosehints", "owner says")
        .with("AGENTS.md", "outside says");
    let text = place.text();
    order(
        &text,
        &["root says", "agents say", "folder says", "owner says"],
    );
    assert!(!text.contains("outside says"), "{text}");
}

#[test]
fn without_a_repository_only_the_working_directory_speaks() {
    let place = Place::new()
        .with("repo/AGENTS.md", "above says")
        .with("repo/a/b/AGENTS.md", "here says");
    fs::remove_dir(place.0.join("repo/.git")).unwrap();
    let text = place.text();
    assert!(
        text.contains("here says") && !text.contains("above says"),
        "{text}"
    );
}

#[test]
fn what_changes_is_read_again() {
    let place = Place::new().with("repo/AGENTS.md", "old");
    let hints = place.hints();
    let read = || hints.text(&place.0.join("repo"), &[], &NAMES.map(str::to_owned));
    assert!(read().contains("old"));
    fs::write(place.0.join("repo/AGENTS.md"), "newer").unwrap();
    assert!(read().contains("newer"));
    fs::remove_file(place.0.join("repo/AGENTS.md")).unwrap();
    assert_eq!(read(), "");
}

#[test]
fn large_files_are_cut_and_say_so() {
    let long = "é".repeat(MAX_FILE);
    let place = Place::new().with("repo/AGENTS.md", &long);
    let text = place.text();
    assert!(text.len() < MAX_FILE + 500 && text.contains("the rest was left out"));
    for folder in ["repo", "repo/a", "repo/a/b"] {
        for name in [".goosehints", "AGENTS.md"] {
            fs::write(place.0.join(folder).join(name), &long).unwrap();
        }
    }
    let text = place.text();
    assert!(text.len() < MAX_ALL + 500 && text.contains("the others were left out"));
}

#[cfg(unix)]
#[test]
fn links_out_of_the_project_are_not_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new()
        .with("secret", "secret says")
        .with("repo/a/inside", "inside says");
    symlink(place.0.join("secret"), place.0.join("repo/AGENTS.md")).unwrap();
    symlink("inside", place.0.join("repo/a/AGENTS.md")).unwrap();
    let text = place.text();
    assert!(
        text.contains("inside says") && !text.contains("secret says"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn the_owners_file_may_be_a_link_to_anywhere() {
    use std::os::unix::fs::symlink;
    let place = Place::new()
        .with("dotfile", "owner says")
        .with("other", "secret says");
    symlink(place.0.join("dotfile"), place.0.join("config/.goosehints")).unwrap();
    symlink(place.0.join("other"), place.0.join("repo/AGENTS.md")).unwrap();
    let text = place.text();
    assert!(
        text.contains("owner says") && !text.contains("secret says"),
        "{text}"
    );
    fs::write(place.0.join("dotfile"), "owner says more").unwrap();
    assert!(place.text().contains("owner says more"));
}
