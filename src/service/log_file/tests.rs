use super::*;
use std::env::temp_dir;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("gosling-log-{name}-{}", std::process::id());
        Folder(temp_dir().join(name))
    }

    fn log(&self, max: u64) -> LogFile {
        LogFile {
            max,
            name: "log".to_owned(),
            ..LogFile::new(self.0.clone(), |_| {})
        }
    }

    /// Today's files with their contents.
    fn files(&self) -> Vec<(String, String)> {
        let files = fs::read_dir(self.0.join(clock::today())).unwrap().flatten();
        let mut files: Vec<(String, String)> = files
            .map(|file| {
                let name = file.file_name().into_string().unwrap();
                (name, fs::read_to_string(file.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_full_file_gives_way_and_four_of_them_are_kept() {
    let folder = Folder::new("rotates");
    let mut log = folder.log(20);
    let lines: String = (0..30).map(|n| format!("line {n:02}\n")).collect();
    // In one write, and then byte by byte.
    log.write_all(lines.as_bytes()).unwrap();
    let at_once = folder.files();
    let names: Vec<&str> = at_once.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["log", "log.1", "log.2", "log.3", "log.4"]);
    assert_eq!(at_once[0].1, "line 28\nline 29\n");
    assert_eq!(at_once[4].1, "line 20\nline 21\n");
    for byte in lines.bytes() {
        log.write_all(&[byte]).unwrap();
    }
    let mut all: Vec<(String, String)> = folder.files();
    all.sort_by(|a, b| b.0.cmp(&a.0));
    let kept: String = all.into_iter().map(|(_, text)| text).collect();
    let newest: String = (0..30).map(|n| format!("line {n:02}\n")).collect();
    assert!(newest.ends_with(&kept), "{kept}");
    // The file of an earlier process with the same id is continued, and its size counts.
    let mut log = folder.log(20);
    log.write_all(b"x\n").unwrap();
    let newest = &folder.files()[0];
    assert!(
        newest.1.len() <= 20 && newest.1.ends_with("x\n"),
        "{newest:?}"
    );
}

#[test]
fn a_line_that_is_longer_than_a_file_is_written_in_whole() {
    let folder = Folder::new("long");
    let mut log = folder.log(10);
    log.write_all(b"one\na line of many words\ntwo\n").unwrap();
    let texts: Vec<String> = folder.files().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["two\n", "a line of many words\n", "one\n"]);
}

#[test]
fn a_file_that_could_not_be_written_is_tried_again() {
    let folder = Folder::new("fails");
    fs::write(&folder.0, "in the way").unwrap();
    let mut log = folder.log(100);
    assert!(log.write(b"one\n").is_err());
    fs::remove_file(&folder.0).unwrap();
    log.write_all(b"one\n").unwrap();
    assert_eq!(folder.files(), [("log".to_owned(), "one\n".to_owned())]);
}
