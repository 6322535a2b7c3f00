use super::*;

fn is_elsewhere(package: Option<Package>) -> bool {
    matches!(package, Some(Package::Elsewhere { .. }))
}

#[test]
fn what_follows_the_at_of_a_requirement_is_a_place() {
    for text in [
        "six@sub",
        "six @ sub",
        "six[a]@1.0",
        "six @ 1.0",
        "six@latest",
        "six@",
        "./sub",
        "sub/",
        "six\\sub",
        "six [a] @ sub",
        "six[a",
        "sub.",
        "_six",
    ] {
        assert!(is_elsewhere(pypi(text)), "{text}");
    }
    for text in [
        "six",
        "six ",
        "Six[a] >=1",
        "six (==1.0)",
        "six; python_version > '3@'",
        "x.tgz>=1",
    ] {
        assert!(!is_elsewhere(pypi(text)), "{text}");
    }
}

#[test]
fn a_tool_of_uv_has_a_version_of_python_or_is_a_requirement() {
    for text in [
        "six@latest",
        "six@ 1.0",
        "six@1.0 ",
        "six[]@1.0",
        "six[a, b]@v1.0-1",
        "six@1!2.0+a.1",
        "six>=1",
    ] {
        assert!(!is_elsewhere(uv_tool(text)), "{text}");
    }
    for text in [
        " six@1.0",
        "six @1.0",
        "six[a] @1.0",
        "six [a]@1.0",
        "six@1.0;x",
        "six@1.0[a]",
        "six@1.0,<x",
        "six@latest ",
        "six@99999999999999999999",
        "six@1.0\u{a0}",
    ] {
        assert!(is_elsewhere(uv_tool(text)), "{text}");
    }
}

#[test]
fn no_part_of_a_list_of_requirements_is_left_out() {
    let parts = |list| requirements(list).collect::<Vec<_>>();
    assert_eq!(
        parts("a[b,c]>=1, <2 ,d,, e@x,<y"),
        ["a[b,c]>=1, <2", "d", "e@x,<y"]
    );
    assert!(parts(" , ").is_empty());
}
