use super::*;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("gosling-files-{}-{name}", std::process::id()));
    ensure_dir(&folder).unwrap();
    folder
}

#[test]
fn what_is_missing_is_nothing_and_what_cannot_be_reached_is_an_error() {
    let folder = folder("errors");
    let (file, missing) = (folder.join("file"), folder.join("missing"));
    write_atomic(&file, b"x").unwrap();
    let below = file.join("below");
    assert!(stamp(&missing).unwrap().is_none() && stamp(&below).is_err());
    assert!(open(&missing).unwrap().is_none());
    assert!(matches!(open(&below), Err(Error::Io { .. })));
    assert!(matches!(open(&folder), Err(Error::Broken { .. })));
    let link = folder.join("link");
    std::os::unix::fs::symlink("missing", &link).unwrap();
    assert_eq!(follow_links(&link).unwrap(), missing);
    assert!(follow_links(&below).is_err());
    // A folder in the place of the temporary file.
    ensure_dir(&beside(&file, ".", ".tmp")).unwrap();
    let error = write_atomic(&file, b"y").unwrap_err();
    assert!(error.to_string().contains("left-over"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"x");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_may_be_as_large_as_its_limit() {
    let folder = folder("limit");
    let path = folder.join("file");
    let fault = |limit: u64| {
        let mut file = File::open(&path).unwrap();
        read(&mut file, &path, limit)
            .err()
            .map(|error| error.to_string())
    };
    fs::write(&path, vec![0; (1 << 20) + 1]).unwrap();
    assert_eq!(fault((1 << 20) + 1), None);
    assert!(fault(1 << 20).unwrap().contains("larger than 1 MiB"));
    assert!(fault(2 << 10).unwrap().contains("larger than 2 KiB"));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_name_alone_is_in_the_working_directory() {
    assert_eq!(parent(Path::new("a")), Path::new("."));
    assert_eq!(parent(Path::new("a/b")), Path::new("a"));
}
