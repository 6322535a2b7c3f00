//! Tests of [`super`]: what survives a rewrite, and what is refused.

use super::*;
use gosling_testing::memory_ratio::{at_most, filled};
use serde_json::json;
use std::time::{Duration, Instant};

fn parsed(text: &str) -> Mapping {
    parse(text.as_bytes()).unwrap_or_else(|flaw| panic!("{text:?}: {flaw:?}"))
}

fn refused(text: &str) -> YamlError {
    parse(text.as_bytes())
        .map(|mapping| panic!("{text:?} read as {mapping:?}"))
        .unwrap_err()
}

#[test]
fn what_json_cannot_carry_survives() {
    let text = "\
1: number key
true: boolean key
null: null key
[a, 1]: sequence key
? {x: y}
: mapping key
tag: !Thing x
tagged_map: !Thing {k: v}
tagged_seq: !Thing [1, 2]
binary: !!binary aGVsbG8=
anchored: &a {deep: [1, 2]}
alias: *a
merge:
  <<: *a
  own: 1
date: 2026-11-21
time: 2026-11-21T22:16:27Z
wide: 18446744073709551616
wider: 340282366920938463463374607431768211455
negative: -170141183460469231731687303715884105728
nan: .nan
inf: -.inf
float: 1.0
exponent: 1e300
hex: 0xff
octal_text: 0o17
leading_zero: 007
country: NO
yes: yes
quoted: '123'
quoted_bool: \"true\"
empty: ''
nothing:
tilde: ~
multi: |
  line 1
    line 2

folded: >-
  a
  b
unicode: \"\\u0085\\u2028\\u00e9 \\U0001F600\"
";
    let first = parsed(text);
    let rendered = render(&first).unwrap();
    let second = parsed(&rendered);
    assert_eq!(first, second, "{rendered}");
    assert!(
        first.keys().eq(second.keys()),
        "the order changed:\n{rendered}"
    );
    for kept in [
        "wide: 18446744073709551616\n",
        "wider: 340282366920938463463374607431768211455\n",
        "negative: -170141183460469231731687303715884105728\n",
        "nan: .nan\n",
        "date: 2026-11-21\n",
        "tag: !Thing x\n",
        "float: 1.0\n",
        "quoted: '123'\n",
    ] {
        assert!(
            rendered.contains(kept),
            "{kept:?} is missing in\n{rendered}"
        );
    }
}

#[test]
fn a_second_rewrite_changes_nothing() {
    let once = render(&parsed("b: 1\na: [x, {y: z}]\nc: !T 1\nd: |\n  x\n   y\n")).unwrap();
    assert_eq!(render(&parsed(&once)).unwrap(), once);
}

#[test]
fn json_view_of_what_json_cannot_carry() {
    let mapping = parsed("1: a\ntrue: b\n[x]: c\nt: !T v\nnan: .nan\nwide: 18446744073709551616\n");
    assert_eq!(
        Json::Object(to_json_object(&mapping)),
        json!({"1": "a", "true": "b", "t": {"!T": "v"}, "nan": null, "wide": 18446744073709551616.0})
    );
}

#[test]
fn nothing_is_an_empty_mapping() {
    for text in [
        "",
        "\n\n",
        "# only a comment\n",
        "---\n",
        "~\n",
        "{}",
        "\u{feff}",
    ] {
        assert!(parsed(text).is_empty(), "{text:?}");
    }
    assert_eq!(parsed("\u{feff}a: 1\r\nb: 2\r\n").len(), 2);
}

#[test]
fn mistakes_have_a_place() {
    let flaw = refused("a: 1\nb: [1, 2\nc: 3\n");
    assert_eq!(flaw.place.0, 3, "{flaw:?}");
    assert!(
        flaw.place.1 > 0 && !flaw.reason.contains("at line 3"),
        "{flaw:?}"
    );
    for text in [
        "- a\n- b\n",
        "just text",
        "12",
        "a: 1\na: 2\n",
        "a: *unknown\n",
        "a: 1\n--- \nb: 2\n",
        "\tx: 1\n",
        "a: \"open\n",
        "!T {a: 1}\n",
    ] {
        refused(text);
    }
    assert!(parse(b"a: \xff\xfe\n").is_err());
    assert!(
        refused("a: 1\nb:\n  x: 1\n  x: 2\n")
            .reason
            .contains("\"x\" appears twice")
    );
    refused(&format!("a: {}{}\n", "[".repeat(500), "]".repeat(500)));
}

#[test]
fn aliases_cannot_multiply_without_bound() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    let many = format!(
        "a: &a [{}]\nb: [{}]\n",
        "x, ".repeat(5_000),
        "*a, ".repeat(5_000)
    );
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(100_000),
        "*a, ".repeat(5_000)
    );
    let brackets = format!("a: {}", "[{".repeat(500_000));
    for text in [laughs, many, long, brackets] {
        let start = Instant::now();
        refused(&text);
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn no_json_is_written_wrongly() {
    let texts = [
        "",
        " ",
        "\n",
        "\n\n",
        " x",
        "x ",
        "x\n",
        "x\n\n",
        "\nx",
        "\n x",
        " \n x",
        "a: b",
        "a #b",
        "- a",
        "? a",
        "#",
        "&a",
        "*a",
        "!a",
        "!",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "'",
        "\"",
        "{",
        "[",
        "true",
        "False",
        "NULL",
        "~",
        "y",
        "no",
        "1",
        "1.0",
        "0x1f",
        "0o7",
        "-1",
        "+1",
        ".5",
        "1e5",
        ".inf",
        ".nan",
        "<<",
        "=",
        "---",
        "...",
        "--- a",
        "2026-11-21",
        "12:30",
        "1_000",
        "\t",
        "a\tb",
        "\r",
        "a\r\nb",
        "\u{0}",
        "\u{7f}",
        "\u{85}",
        "\u{a0}",
        "\u{2028}",
        "\u{feff}",
        "\u{fffe}",
        "é",
        "😀",
        "a\n  b\n c\n",
        "\n  indented first",
        "trailing \nspace ",
        "key: |\n  text\n",
        "18446744073709551616",
        "-9223372036854775809",
    ];
    let mut written = 0;
    for outer in texts {
        for inner in texts {
            let value = json!({
                outer: {inner: [outer, inner, {outer: inner}]}, "list": [[inner], {inner: outer}],
            });
            let yaml = from_json(&value);
            let mapping = yaml.as_mapping().unwrap();
            if let Ok(text) = render(mapping) {
                assert_eq!(
                    Json::Object(to_json_object(&parsed(&text))),
                    value,
                    "{text}"
                );
                written += 1;
            }
        }
    }
    let all = texts.len() * texts.len();
    assert!(
        written * 100 >= all * 95,
        "only {written} of {all} could be written"
    );
}

#[test]
fn numbers_go_both_ways() {
    for number in [
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(0.1),
        json!(1e300),
        json!(-0.0),
    ] {
        let mapping = from_json(&json!({"n": number}));
        let text = render(mapping.as_mapping().unwrap()).unwrap();
        assert_eq!(to_json_object(&parsed(&text))["n"], number, "{text}");
    }
}

#[test]
fn json_nested_too_deep_for_yaml_is_refused_not_written() {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let mapping = from_json(&json!({"deep": deep}));
    assert!(render(mapping.as_mapping().unwrap()).is_err());
}

#[test]
fn memory_ratio_of_yaml() {
    let units = [
        "[0,", "- 0\n", "- []\n", "? a\n", "a: &a\n", "- {}\n", "-\n", "#\n",
    ];
    let mut texts: Vec<_> = units
        .iter()
        .map(|unit| filled(1 << 18, "a:\n", unit, ""))
        .collect();
    texts.extend(["0,", "[],", "{},", "a,", "'',"].map(|unit| filled(1 << 18, "a: [", unit, "0]")));
    texts.push(filled(1 << 18, "a: \"", "\\n", "\""));
    texts.push(filled(1 << 18, "a: |\n  ", "x\n  ", ""));
    at_most(150, "YAML", &texts, parse);
}
