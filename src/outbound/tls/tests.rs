use super::*;

const AUTHORITY: &str = include_str!("../../../tests/support/tls/ca.pem");

fn from(name: &str, text: &str) -> Result<usize, String> {
    let path = std::env::temp_dir().join(format!("gosling-trust-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let read = read(&path);
    let _ = std::fs::remove_file(&path);
    match read? {
        RootCerts::Specific(certificates) => Ok(certificates.len()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_certificates_of_a_file_count() {
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert_eq!(from("one", AUTHORITY), Ok(1));
    let several = format!("# ours\n{AUTHORITY}{key}\n{AUTHORITY}");
    assert_eq!(from("several", &several), Ok(2));
}

#[test]
fn a_file_of_no_use_is_an_error_that_names_it() {
    let broken = "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n";
    let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (name, text, expected) in [
        ("empty", "", "no certificate"),
        ("words", "hello", "no certificate"),
        ("broken", broken, "not in PEM"),
        ("other", other, "no certificate"),
    ] {
        let why = from(name, text).unwrap_err();
        assert!(
            why.contains(expected) && why.contains("gosling-trust"),
            "{why}"
        );
    }
    let why = read(Path::new("/nowhere/ca.pem")).unwrap_err();
    assert!(
        why.contains("/nowhere/ca.pem") && why.contains("cannot be read"),
        "{why}"
    );
}
