use super::*;
#[cfg(unix)]
use std::path::Path;

#[test]
fn it_is_private_and_goes_with_what_is_in_it() {
    let folder = TemporaryFolder::new().unwrap();
    let path = folder.path().to_owned();
    folder.write("a", &b"four"[..], 4).unwrap();
    assert!(folder.write("b", &b"five!"[..], 4).is_err());
    assert!(folder.write("a", &b"again"[..], 9).is_err());
    fs::create_dir(path.join("deep")).unwrap();
    fs::write(path.join("deep/c"), "made by a program").unwrap();
    let mut read = String::new();
    let (mut file, len) = folder.open("a").unwrap();
    file.read_to_string(&mut read).unwrap();
    assert_eq!((read.as_str(), len), ("four", 4));
    assert!(folder.open("none").is_err() && folder.open("deep").is_err());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        folder.open("deep/c").unwrap();
        let modes = ["", "a", "deep/c"].map(|name| mode(&path.join(name)));
        assert_eq!(modes, [0o700, 0o600, 0o600]);
        let elsewhere = TemporaryFolder::new().unwrap();
        let theirs = elsewhere.path().join("theirs");
        fs::write(&theirs, "not made here").unwrap();
        fs::set_permissions(&theirs, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&theirs, path.join("link")).unwrap();
        assert!(folder.open("link").is_err());
        assert_eq!(mode(&theirs), 0o644);
    }
    // Where Windows cannot remove a file that is open, its folder stays.
    drop(file);
    drop(folder);
    assert!(!path.exists());
}
