use super::*;

#[test]
fn names_that_are_easily_taken_for_another_are_found() {
    for (ecosystem, name, other) in [
        (Ecosystem::PyPi, "requets", "requests"),
        (Ecosystem::PyPi, "reqeusts", "requests"),
        (Ecosystem::PyPi, "requestss", "requests"),
        (Ecosystem::PyPi, "rrequests", "requests"),
        (Ecosystem::PyPi, "scikitlearn", "scikit-learn"),
        (Ecosystem::PyPi, "nurnpy", "numpy"),
        (Ecosystem::PyPi, "mcp-server-tirne", "mcp-server-time"),
        (Ecosystem::Npm, "l0dash", "lodash"),
        (Ecosystem::Npm, "mcp_remote", "mcp-remote"),
        (Ecosystem::Npm, "@playwrlght/mcp", "@playwright/mcp"),
        (
            Ecosystem::Npm,
            "modelcontextprotocol-server-memory",
            "@modelcontextprotocol/server-memory",
        ),
        (Ecosystem::Npm, "ax1os", "axios"),
    ] {
        assert_eq!(resembles(ecosystem, name), Some(other), "{name}");
    }
    assert_eq!(is_homoglyph("rеquests"), Some("requests"));
    assert_eq!(is_homoglyph("@рlaywright/mcp"), Some("@playwright/mcp"));
}

#[test]
fn other_names_and_the_well_known_ones_are_not() {
    for ecosystem in [Ecosystem::Npm, Ecosystem::PyPi, Ecosystem::Docker] {
        for name in [
            "mcp",
            "preact",
            "react",
            "axiom",
            "flasks",
            "my-own-server",
            "x",
            "",
        ] {
            assert_eq!(resembles(ecosystem, name), None, "{name}");
        }
    }
    for (ecosystem, known) in [(Ecosystem::Npm, NPM), (Ecosystem::PyPi, PYPI)] {
        for name in known.split_whitespace() {
            assert_eq!(resembles(ecosystem, name), None, "{name}");
        }
    }
    assert_eq!(is_homoglyph("requests"), None);
    assert_eq!(is_homoglyph("überserver"), None);
}

#[test]
fn letters_that_together_look_like_another_become_it() {
    for (name, looks) in [
        ("rnath", "math"),
        ("ban", "ban"),
        ("vvs", "ws"),
        ("avs", "avs"),
        ("I-1_i.L", "llll"),
    ] {
        assert_eq!(appearance(name), looks);
    }
}

#[test]
fn one_edit_is_one_edit() {
    for (a, b, expected) in [
        ("abcd", "abcd", false),
        ("abcd", "abd", true),
        ("abcd", "abcde", true),
        ("abcd", "abxd", true),
        ("abcd", "abdc", true),
        ("abcd", "badc", false),
        ("abcd", "xycd", false),
        ("abcd", "bacx", false),
        ("abcd", "bxcd", false),
        ("abcd", "bacd", true),
        ("abcd", "ab", false),
        ("abcd", "", false),
        ("a", "", true),
    ] {
        assert_eq!(is_one_edit_away(a, b), expected, "{a} {b}");
        assert_eq!(is_one_edit_away(b, a), expected, "{b} {a}");
    }
}
