use super::*;

const DAY: i64 = 86_400;

fn temp_file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("gosling-tls-{}-{name}.pem", std::process::id()))
}

#[test]
fn a_certificate_serves_until_thirty_days_before_its_end() {
    let path = temp_file("age");
    let files = [path.clone(), path.clone()];
    let now = clock::unix_seconds();
    assert!(load_if_valid(&files, now).unwrap().is_none());
    let made = self_signed::generate(now).unwrap();
    let text = pem("CERTIFICATE", &made.certificate) + &pem("PRIVATE KEY", &made.key);
    std::fs::write(&path, &text).unwrap();
    for (days, is_valid) in [(-2, false), (0, true), (365, true), (367, false)] {
        let found = load_if_valid(&files, now + days * DAY).unwrap();
        assert_eq!(found.is_some(), is_valid, "{days}");
    }
    let _ = std::fs::remove_file(&path);
    assert!(text.lines().all(|line| line.len() <= PEM_WIDTH));
}

#[test]
fn a_certificate_is_valid_at_its_first_and_at_its_last_moment() {
    for (moment, is_valid) in [(4, false), (5, true), (9, true), (10, false)] {
        assert_eq!(covers((5, 9), moment, moment), is_valid, "{moment}");
    }
    assert!(covers((5, 9), 5, 9) && !covers((5, 9), 5, 10) && !covers((5, 9), 4, 9));
}

#[test]
fn a_changed_certificate_serves_after_the_next_check() {
    let path = temp_file("changed");
    let write = || {
        let made = self_signed::generate(clock::unix_seconds()).unwrap();
        let text = pem("CERTIFICATE", &made.certificate) + &pem("PRIVATE KEY", &made.key);
        std::fs::write(&path, text).unwrap();
    };
    write();
    let credentials = Credentials::from_files(&path, &path).unwrap();
    let printed = format!("{credentials:?}");
    assert!(
        printed.contains("gosling-tls") && !printed.contains("BEGIN"),
        "{printed}"
    );
    let first = credentials.server_config();
    std::fs::remove_file(&path).unwrap();
    write();
    let checked_at = |checked: Instant| {
        lock(&credentials.loaded).checked = checked;
        Arc::ptr_eq(&first, &credentials.server_config())
    };
    // An hour ahead, so that a machine that is slow does not check.
    assert!(checked_at(Instant::now() + Duration::from_secs(3_600)));
    let is_old = checked_at(Instant::now().checked_sub(CHECK_INTERVAL * 2).unwrap());
    let _ = std::fs::remove_file(&path);
    assert!(!is_old);
}

#[test]
fn the_error_of_a_bad_file_has_nothing_of_its_content() {
    let path = temp_file("secret");
    std::fs::write(&path, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n").unwrap();
    let Err(error) = Credentials::from_files(&path, &path) else {
        panic!("it was taken");
    };
    let _ = std::fs::remove_file(&path);
    let said = format!("{error} {error:?}");
    assert!(
        said.contains("gosling-tls") && !said.contains("c2Vj"),
        "{said}"
    );
}
