use super::*;

#[test]
fn bytes_are_text_where_they_can_be() {
    let read = |blob: &str| {
        normalized(ResourceContents {
            blob: Some(blob.to_owned()),
            ..ResourceContents::default()
        })
    };
    let text = read("aMOp");
    assert_eq!((text.text.as_str(), text.encoding), ("hé", None));
    let bytes = read("/9j/");
    assert_eq!(
        (bytes.text.as_str(), bytes.encoding),
        ("/9j/", Some("base64"))
    );
}

#[test]
fn arguments_are_an_object_or_nothing() {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    assert_eq!(object_of(raw(r#"{"a": 1}"#)).unwrap().get(), r#"{"a": 1}"#);
    assert_eq!(object_of(raw("null")).unwrap().get(), "{}");
    for bad in ["[]", "5", "\"{}\""] {
        assert!(object_of(raw(bad)).is_err(), "{bad}");
    }
}
