use super::*;

#[test]
fn versions_are_in_the_order_of_their_ecosystem() {
    let npm = [
        "0.9.0",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0",
        "1.0.1",
        "1.2.0",
        "1.10.0",
        "2.0.0",
    ];
    let pypi = [
        "1.0.dev1",
        "1.0a1.dev1",
        "1.0a1",
        "1.0-b2",
        "1.0rc1",
        "1.0",
        "1.0.post1.dev1",
        "1.0.post1",
        "1.0.1",
        "1.2",
        "1.10",
        "1!0.5",
    ];
    for (ecosystem, versions) in [(Ecosystem::Npm, &npm[..]), (Ecosystem::PyPi, &pypi)] {
        for (n, a) in versions.iter().enumerate() {
            for (m, b) in versions.iter().enumerate() {
                assert_eq!(compare(ecosystem, a, b), Some(n.cmp(&m)), "{a} {b}");
            }
        }
    }
    let equal = |ecosystem, a, b| assert_eq!(compare(ecosystem, a, b), Some(Ordering::Equal));
    equal(Ecosystem::Npm, "v1.0.0+build", "1.0.0");
    equal(Ecosystem::PyPi, "1.0", "V1.0.0+local");
    equal(Ecosystem::PyPi, "1.0-1", "1.0.post1");
    for (ecosystem, version) in [
        (Ecosystem::Npm, "1.x"),
        (Ecosystem::Npm, "+1.0.0"),
        (Ecosystem::Npm, "99999999999999999999.0.0"),
        (Ecosystem::PyPi, "1.0-final"),
        (Ecosystem::PyPi, "1.0-"),
        (Ecosystem::Docker, "1.0.0"),
    ] {
        assert_eq!(compare(ecosystem, version, "1.0.0"), None, "{version}");
    }
}

#[test]
fn a_version_is_affected_if_an_item_contains_it() {
    let exact = |version: &str| Version::Exact(version.to_owned());
    let (npm, pypi) = (Ecosystem::Npm, Ecosystem::PyPi);
    for (ecosystem, affected, version, expected) in [
        (npm, "*", exact("1.0.0"), Affects::All),
        (npm, "*", Version::Open, Affects::All),
        (npm, "1.0.0 1.0.1", exact("1.0.1"), Affects::All),
        (npm, "1.0.0 1.0.1", exact("1.0.2"), Affects::None),
        (npm, "1.0.0 1.0.1", Version::Open, Affects::Some),
        (pypi, "1.0", exact("1.0.0"), Affects::All),
        (npm, "0..2.0.0", exact("1.9.9"), Affects::All),
        (npm, "0..2.0.0", exact("2.0.0"), Affects::None),
        (npm, "1.0.0..=1.2.0", exact("1.2.0"), Affects::All),
        (npm, "1.0.0..=1.2.0", exact("1.2.1"), Affects::None),
        (npm, "1.0.0..=1.2.0", exact("0.9.0"), Affects::None),
        (npm, "1.0.0..", exact("7.0.0"), Affects::All),
        (npm, "1.0.0..", exact("0.7.0"), Affects::None),
        (npm, "1.0.0..", Version::Open, Affects::All),
        (npm, "0..2.0.0", Version::Open, Affects::Some),
        // npm reads versions loosely.
        (npm, "1.0.0-beta", exact("1.0.0beta"), Affects::All),
        (npm, "1.0.0-beta.1", exact("1.0.0beta.01"), Affects::All),
        (npm, "1.0.0", exact("v01.0.0+build"), Affects::All),
        (npm, "1.0.0-beta", exact("1.0.0beta1"), Affects::None),
        (pypi, "1.0.post1", exact("V1-1"), Affects::All),
        (pypi, "1!0.5", exact("1!0.5.0"), Affects::All),
        // What cannot be compared is affected.
        (npm, "1.0.0", exact("1.0.0_1"), Affects::All),
        (npm, "odd", exact("1.0.0"), Affects::All),
        (pypi, "1.0", exact("1.0-final"), Affects::All),
        (npm, "1.0.0..2.0.0", exact("one"), Affects::All),
        (npm, "odd..=odder", exact("1.0.0"), Affects::All),
        (
            Ecosystem::Docker,
            "sha256:00",
            exact("sha256:00"),
            Affects::All,
        ),
        (
            Ecosystem::Docker,
            "sha256:00",
            exact("sha256:01"),
            Affects::None,
        ),
    ] {
        assert_eq!(
            affects(ecosystem, affected, &version),
            expected,
            "{affected} {version:?}"
        );
    }
}
