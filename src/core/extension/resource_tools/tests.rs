use super::*;

fn shown(contents: ResourceContents) -> serde_json::Value {
    serde_json::from_str(part(contents).as_json()).unwrap()
}

#[test]
fn text_images_and_other_bytes_are_told_apart() {
    let blob = |kind: &str| {
        shown(ResourceContents {
            uri: "x://y".to_owned(),
            mime_type: Some(kind.to_owned()),
            blob: Some("AAAAAA==".to_owned()),
            text: None,
            meta: None,
        })
    };
    assert_eq!(
        blob("image/png"),
        json!({"type": "image", "data": "AAAAAA==", "mimeType": "image/png"})
    );
    let note = blob("application/pdf");
    assert_eq!(
        note["text"],
        "x://y is 4 bytes of application/pdf, not shown here."
    );
    let text = shown(ResourceContents {
        text: Some("hi".to_owned()),
        ..ResourceContents::default()
    });
    assert_eq!(text["text"], "hi");
}

#[test]
fn the_tools_say_what_they_need() {
    let tools = tools();
    assert!(tools.iter().all(|tool| owns(&tool.name)));
    assert_eq!(tools[0].parameters(), ["extension_name"]);
    assert_eq!(tools[1].parameters(), ["extension_name", "uri"]);
}
