use super::*;
use gosling_testing::property_testing::{any_json, check};
use serde::Deserialize;

#[derive(Debug, Default, PartialEq, Deserialize)]
struct Outer {
    name: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    inner: Inner,
    #[serde(default)]
    items: Vec<Inner>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
struct Inner {
    #[serde(default)]
    flag: Option<bool>,
    #[serde(default)]
    n: u8,
}

#[test]
fn what_does_not_fit_is_left_out_and_said() {
    for (json, expected) in [
        (r#"{"name":"a","text":["x"]}"#, &["`text`: "][..]),
        (r#"{"name":"a","inner":"x"}"#, &["`inner`: "]),
        (
            r#"{"name":"a","inner":{"flag":"true","n":[]},"text":5}"#,
            &["`inner.flag`: ", "`inner.n`: ", "`text`: "],
        ),
        (
            r#"{"name":"a","inner":[],"items":[{"n":0},5,{"n":-1},[]]}"#,
            &["`items[1]`: ", "`items[1].n`: "],
        ),
    ] {
        let mut overlooked = Vec::new();
        let read: Outer = from_str_overlooking(json, &mut overlooked).unwrap();
        assert_eq!(
            (read.name.as_str(), read.inner),
            ("a", Inner::default()),
            "{json}"
        );
        assert_eq!(overlooked.len(), expected.len(), "{overlooked:?}");
        for (phrase, start) in overlooked.iter().zip(expected) {
            assert!(phrase.starts_with(start), "{overlooked:?}");
        }
    }
    let mut overlooked = Vec::new();
    let error = from_str_overlooking::<Outer>(r#"{"text":5,"name":6}"#, &mut overlooked);
    assert!(
        error.unwrap_err().to_string().contains("integer `5`"),
        "the first error"
    );
    assert!(overlooked.is_empty());
}

#[test]
fn of_php_only_empty_arrays_are_read_otherwise() {
    let read = |json: &str| from_str_of_php::<Outer>(json);
    assert!(read(r#"{"name":"a","inner":[],"items":[[]]}"#).is_ok());
    for refused in [
        r#"{"name":"a","inner":[1]}"#,
        r#"{"name":"a","inner":true}"#,
        r#"{"name":[]}"#,
    ] {
        assert!(read(refused).is_err(), "{refused}");
    }
}

#[test]
fn any_json_is_read_or_refused() {
    check(|u| {
        let json = any_json(u, &["name", "text", "inner", "items", "flag", "n"], 4)?;
        let mut overlooked = Vec::new();
        let read = from_str_overlooking::<Outer>(&json.to_string(), &mut overlooked);
        assert_eq!(read.is_ok(), json["name"].is_string(), "{json}");
        Ok(())
    });
}
