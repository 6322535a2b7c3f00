use super::*;

#[test]
fn the_place_of_an_error_is_named() {
    for (start, place) in [
        ("", ""),
        ("{", ""),
        (r#"{"a": 1"#, "a"),
        (r#"{"a": 1, "b"#, "a"),
        (r#"{"a": {"b": [1, 2, {"c": "x"#, "a.b[2].c"),
        (r#"{"a": [{"b": 1}]"#, "a"),
        (r#"{"a": [{"b": 1}, {}"#, "a[1]"),
        (r#"{"a": ["#, "a"),
        (r#"{"a": "]}\"", "c": [5"#, "c[0]"),
        ("[[", "[0]"),
        ("]]}}", ""),
    ] {
        assert_eq!(super::place(&steps_at(start.as_bytes())), place, "{start}");
    }
    #[derive(Debug, Deserialize)]
    struct Outer {
        #[allow(dead_code)]
        all: Vec<Inner>,
    }
    #[derive(Debug, Deserialize)]
    struct Inner {
        #[allow(dead_code)]
        n: u8,
    }
    let json = "{\n\"all\": [{\"n\": 1},\n {\"n\": \"x\"}]}";
    let error = from_str::<Outer>(json).unwrap_err();
    assert_eq!(place_of(&error, json), "all[1].n");
    let json = r#"{"all": [{"n": 1}, {}]}"#;
    let error = from_str::<Outer>(json).unwrap_err();
    assert_eq!(place_of(&error, json), "all[1]");
}
use serde_json::json;
use serde_json::value::RawValue;

#[derive(Debug, PartialEq, Deserialize)]
struct Point {
    x: u8,
    next: Option<Box<Point>>,
    #[serde(default)]
    many: Vec<Point>,
}

#[test]
fn an_object_is_a_struct_and_an_array_is_none_at_any_depth() {
    let read: Point = from_str(r#"{"x":1,"next":{"x":2},"many":[{"x":3}]}"#).unwrap();
    assert_eq!((read.next.unwrap().x, read.many[0].x), (2, 3));
    for wrong in [
        json!([1, null, []]),
        json!({"x": 1, "next": [2, null, []]}),
        json!({"x": 1, "many": [[2, null, []]]}),
    ] {
        let text = wrong.to_string();
        let error = from_str::<Point>(&text).unwrap_err().to_string();
        assert!(error.contains("sequence, expected struct Point"), "{error}");
        let error = from_value::<Point>(&wrong).unwrap_err().to_string();
        assert!(
            error.ends_with("sequence, expected struct Point"),
            "{error}"
        );
    }
}

#[test]
fn the_memory_of_values_is_limited_where_they_are_built() {
    #[derive(Deserialize)]
    struct Held<'a> {
        #[serde(borrow)]
        raw: &'a RawValue,
    }
    let list = |unit: &str, count: usize| format!("[{}0]", unit.repeat(count));
    let dense = list("[[]],", 200_000);
    let error = from_str::<Value>(&dense).unwrap_err();
    assert!(is_too_much(&error), "{error}");
    let objects = list("{\"\":0},", 200_000);
    assert!(from_str::<Value>(&objects).is_err());
    // Values that are skipped or stay text are not built.
    let text = format!(r#"{{"raw":{dense},"unknown":{dense}}}"#);
    assert_eq!(from_str::<Held>(&text).unwrap().raw.get(), dense);
    assert!(from_str::<serde::de::IgnoredAny>(&dense).is_ok());
    // Typical texts of any length.
    for unit in [
        "1.25,",
        "\"word\",",
        "[12.3456789,-1.2345678],",
        r#"{"id":1,"name":"water","ok":true},"#,
    ] {
        assert!(from_str::<Value>(&list(unit, 300_000)).is_ok(), "{unit}");
    }
    // Parsed values have no memory limit.
    let built = Value::Array(vec![json!([[]]); 200_000]);
    assert_eq!(to_value(&built).unwrap(), built);
    assert_eq!(from_value::<Value>(&built).unwrap(), built);
    // Short dense texts are accepted.
    assert!(from_str::<Value>(&list(r#"{"x":1},"#, 20_000)).is_ok());
}

#[test]
fn brackets_in_strings_are_not_depth() {
    for (text, deep) in [
        ("1", 0),
        ("[]", 1),
        (r#"{"a":[1,{"b":2}],"c":"[[[["}"#, 3),
        (r#"["\"[","\\",[]]"#, 2),
        (r#"[[[]],[[]]]"#, 3),
    ] {
        assert!(!is_deeper_than(deep, text.as_bytes()), "{text}");
        assert!(
            deep == 0 || is_deeper_than(deep - 1, text.as_bytes()),
            "{text}"
        );
    }
}

#[test]
fn brackets_are_counted_wherever_they_are() {
    for length in [0, 1, 7, 8, 9, 2_039, 2_040, 2_041, 5_000] {
        for byte in [b'[', b'{', b'Z', b'|', b';', 0xdb, 0xfb, 0xff, 0] {
            let brackets = usize::from(byte == b'[' || byte == b'{');
            assert_eq!(
                opening_brackets(&vec![byte; length]),
                brackets * length,
                "{byte}"
            );
        }
    }
    gosling_testing::property_testing::check(|u| {
        let bytes: Vec<u8> = u.arbitrary()?;
        let found = bytes.iter().filter(|byte| matches!(byte, b'[' | b'{'));
        assert_eq!(opening_brackets(&bytes), found.count());
        Ok(())
    });
}

#[test]
fn errors_say_where() {
    let error = from_str::<Point>("{\n\"x\": \"a\"}").unwrap_err();
    assert_eq!((error.line(), error.column()), (2, 8));
    assert!(from_slice::<Value>(b"\"\xff\"").unwrap_err().is_syntax());
    assert!(from_str::<Value>("1 2").unwrap_err().is_syntax());
}

#[test]
fn raw_json_and_whole_values_come_through() {
    #[derive(Deserialize)]
    struct Held<'a> {
        #[serde(borrow)]
        raw: &'a RawValue,
        value: Value,
    }
    let read: Held = from_str(r#"{"raw":[1, {"a":2.50}],"value":{"b":[1,"c"]}}"#).unwrap();
    assert_eq!(read.raw.get(), r#"[1, {"a":2.50}]"#);
    assert_eq!(read.value, json!({"b": [1, "c"]}));
}
