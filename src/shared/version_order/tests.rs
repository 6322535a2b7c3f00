use super::*;

#[test]
fn npm_reads_one_version_of_three_numbers_loosely() {
    for text in [
        "1.0.0",
        " v1.0.0 ",
        "= 01.0.0",
        "1.0.0beta.1",
        "1.0.0-rc.1+b.2",
        "1.0.0-x",
        "9007199254740991.0.0",
    ] {
        assert!(NpmVersion::is_one(text), "{text}");
    }
    let of_length = |length: usize| format!("1.0.0-{}", "a".repeat(length - 6));
    assert!(NpmVersion::is_one(&of_length(MAX_NPM.1)));
    let long = of_length(MAX_NPM.1 + 1);
    for text in [
        "",
        "1",
        "1.0",
        "1.0.0.0",
        "1.x.0",
        "1.0.x",
        "1.0.0_1",
        "1.0.0-",
        "1.0.0+",
        "1.0.0-a..b",
        "^1.0.0",
        "V1.0.0",
        "1.0.0 || 2.0.0",
        "1.0.0 - 2.0.0",
        "9007199254740992.0.0",
        &long,
    ] {
        assert!(!NpmVersion::is_one(text), "{text}");
    }
}

#[test]
fn python_versions_are_read_to_the_last_character() {
    for text in [
        "1",
        "V1.0",
        "01.0",
        "1!2.0",
        "1.0a",
        "1.0.alpha-1",
        "1.0-c2",
        "1.0preview3",
        "1.0rc-",
        "1.0-1",
        "1.0rev2",
        "1.0-post2",
        "1.0r.3",
        "1.0.post.dev",
        "1.0a1.post2.dev3+l.0-x",
        "1.0alphadev1",
        " 1.0\t",
        "18446744073709551614",
    ] {
        assert!(PythonVersion::read(text).is_some(), "{text}");
    }
    for text in [
        "",
        "v",
        "vv1",
        "1.",
        "1..0",
        ".1",
        "1.0-",
        "1.0_1",
        "1.0.-1",
        "1!",
        "!1",
        "+1!1",
        "1.0+",
        "1.0+a..b",
        "1.0.x",
        "1.0.dev1.post1",
        "1.0.dev1a1",
        "1.*",
        "1.0 0",
        "1.0\u{a0}",
        "18446744073709551615",
        "1.0a18446744073709551615",
        "1.0-final",
        "latest",
        "sub",
    ] {
        assert!(PythonVersion::read(text).is_none(), "{text}");
    }
    let read = |text| PythonVersion::read(text).unwrap();
    assert!(read("1.0") < read("1.0.post0") && read("1.0.post0") < read("1.0-1"));
}
