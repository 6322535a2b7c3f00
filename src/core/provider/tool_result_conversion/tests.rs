use super::*;
use serde_json::json;

fn result(json: &str) -> Outcome<CallToolResult> {
    let value = serde_json::from_str(json).unwrap();
    Outcome::Success { value }
}

fn text_for(mime_type: &str) -> String {
    format!("(an {mime_type})")
}

#[test]
fn every_kind_of_content_becomes_text_or_an_image() {
    for (content, text) in [
        (r#"{"type":"text","text":"a\nb"}"#, "a\nb"),
        (
            r#"{"type":"resource","resource":{"uri":"u://1","text":"t"}}"#,
            "u://1:\nt",
        ),
        (
            r#"{"type":"resource","resource":{"uri":"u://1","blob":"AAAA","mimeType":"a/b"}}"#,
            "u://1: (3 bytes of a/b)",
        ),
        (
            r#"{"type":"resource_link","uri":"u://1","name":"n","description":"d"}"#,
            "Resource: n — u://1 — d",
        ),
        (
            r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav"}"#,
            "(audio of audio/wav, which cannot be shown)",
        ),
        (
            r#"{"type":"hologram","x":1}"#,
            r#"{"type":"hologram","x":1}"#,
        ),
    ] {
        let result = result(&format!(r#"{{"content":[{content}]}}"#));
        let tool_output = tool_output(&result, &IMAGES);
        assert_eq!(
            (tool_output.text.as_str(), tool_output.images.len()),
            (text, 0)
        );
    }
    let result = result(r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/gif"}]}"#);
    let tool_output = tool_output(&result, &IMAGES);
    assert_eq!(tool_output.images[0].data, "AAAA");
    assert_eq!(tool_output.images[0].mime_type, "image/gif");
    assert!(!tool_output.text.is_empty());
}

#[test]
fn an_image_of_another_kind_is_told_in_words() {
    let image = |kind: &str, data: &str| {
        let part = format!(r#"{{"type":"image","data":"{data}","mimeType":"{kind}"}}"#);
        let result = result(&format!(r#"{{"content":[{part}]}}"#));
        let tool_output = tool_output(&result, &IMAGES);
        let kinds: Vec<String> = (tool_output.images.iter())
            .map(|image| image.mime_type.to_string())
            .collect();
        (tool_output.text, kinds)
    };
    for (kind, sent) in [
        ("image/png", "image/png"),
        ("image/PNG; x=y", "image/png"),
        ("image/jpg", "image/jpeg"),
    ] {
        assert_eq!(image(kind, "AAAA").1, [sent]);
    }
    for (kind, data) in [
        ("image/svg+xml", "AAAA"),
        ("image/png", ""),
        ("", "AAAA"),
        ("image/png", "AAAA\u{202e}"),
        ("image/png", "https://h/x.png"),
    ] {
        let (text, kinds) = image(kind, data);
        assert!(kinds.is_empty() && text.contains("cannot take"), "{text}");
    }
}

#[test]
fn refused_images_become_words_wherever_they_are() {
    let message = serde_json::json!({"role": "user", "created": 1, "content": [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value": {"content": [
            {"type": "image", "data": "BBBB", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "u://1", "blob": "CCCC", "mimeType": "image/gif"}},
            {"type": "image", "data": "DDDD", "mimeType": "image/png", "annotations": {"audience": ["user"]}},
            {"type": "text", "text": "kept"},
        ]}}},
    ]});
    let message: Message = serde_json::from_value(message).unwrap();
    let all = image_hashes(&message);
    assert_eq!(all.len(), 3);
    let none = replace_images(Cow::Borrowed(&message), &HashSet::new(), &text_for);
    assert!(matches!(none, Cow::Borrowed(_)));
    let refused = all.into_iter().collect();
    let words = replace_images(Cow::Borrowed(&message), &refused, &text_for);
    assert!(image_hashes(&words).is_empty());
    let json = serde_json::to_string(&words).unwrap();
    assert_eq!(json.matches("(an image/").count(), 3);
    assert!(json.contains("kept") && json.contains("DDDD"), "{json}");
}

#[test]
fn an_image_is_the_same_for_a_request_and_for_its_replacement() {
    for (part, images) in [
        (r#"{"type":"\u0069mage","data":"AAAA"}"#, 1),
        (
            r#"{"type":"image","data":"AAAA","mimeType":"IMAGE/PNG"}"#,
            1,
        ),
        (
            r#"{"type":"image","data":"AAAA","mimeType":" image/jpg;q=1"}"#,
            1,
        ),
        (
            r#"{"type":"resource","resource":{"uri":"u://1","blob":"AAAA","mimeType":"Image/GIF"}}"#,
            1,
        ),
        (
            r#"{"type":"resource","resource":{"uri":"u://1","blob":"AAAA","mimeType":"image/png","text":"kept"}}"#,
            0,
        ),
        (
            r#"{"type":"text","data":"AAAA","text":"kept","mimeType":"image/png"}"#,
            0,
        ),
        (
            r#"{"type":"image","data":"AAAA","mimeType":"image/svg+xml"}"#,
            0,
        ),
        (
            r#"{"type":"image","data":"no base64","mimeType":"image/png"}"#,
            0,
        ),
    ] {
        let message = format!(
            r#"{{"role":"user","created":1,"content":[{{"type":"toolResponse","id":"1",
                "toolResult":{{"status":"success","value":{{"content":[{part}]}}}}}}]}}"#
        );
        let message: Message = serde_json::from_str(&message).unwrap();
        let sent = |message: &Message| {
            let Content::ToolResponse(response) = &message.content[0] else {
                unreachable!()
            };
            let tool_output = tool_output(&response.tool_result, &IMAGES);
            (tool_output.text, tool_output.images.len())
        };
        let (text, count) = sent(&message);
        let hashes = image_hashes(&message);
        assert_eq!((count, hashes.len()), (images, images), "{part}");
        let all = hashes.into_iter().chain([hash64("AAAA".bytes())]).collect();
        let words = replace_images(Cow::Borrowed(&message), &all, &text_for);
        let (left, count) = sent(&words);
        assert_eq!(count, 0, "{part}");
        assert!(images > 0 || left == text, "{part}: {left}");
    }
}

#[test]
fn what_is_for_the_user_alone_is_not_told() {
    let result = result(
        r#"{"content":[
                {"type":"text","text":"secret","annotations":{"audience":["user"]}},
                {"type":"text","text":"both","annotations":{"audience":["user","assistant"]}},
                {"type":"text","text":"any","annotations":{"priority":1}},
                {"type":"text","text":"open","annotations":{"audience":[]}}
            ],"structuredContent":{"secret":1}}"#,
    );
    assert_eq!(tool_output(&result, &IMAGES).text, "both\nany\nopen");
    let parts = &result.value().unwrap().content;
    let shown: Vec<bool> = parts.iter().map(is_part_for_model).collect();
    assert_eq!(shown, [false, true, true, true]);
}

#[test]
fn data_that_mirrors_what_is_withheld_is_withheld_too() {
    let result = result(
        r#"{"content":[{"type":"text","text":"secret","annotations":{"audience":["user"]}}],
                "structuredContent":{"secret":1}}"#,
    );
    assert!(!tool_output(&result, &IMAGES).text.contains("secret"));
}

#[test]
fn data_follows_a_text_that_does_not_say_the_same() {
    let told = |texts: &[&str], data: Value| {
        let parts = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        let parts: Vec<Value> = parts.collect();
        let result = result(&json!({"content": parts, "structuredContent": data}).to_string());
        tool_output(&result, &IMAGES).text
    };
    let many = json!({"rows": vec!["value"; 300]});
    let whole = format!("2 rows\n{many}");
    assert_eq!(told(&["2 rows"], many.clone()), whole, "the longer one");
    assert_eq!(told(&["a"], json!({"b": 1})), "a\n{\"b\":1}");
    assert_eq!(
        told(&["a".repeat(5_000).as_str()], json!({"b": 1})).len(),
        5_008
    );
    let rendered = "| value |\n".repeat(300);
    assert_eq!(told(&[&rendered], many.clone()), rendered);
    let pretty = serde_json::to_string_pretty(&json!({"b": [1, "ä"]})).unwrap();
    for (texts, data) in [
        (&[r#"{"b":1}"#][..], json!({"b": 1})),
        (&[&pretty], json!({"b": [1, "ä"]})),
        (&["a\nb"], json!({"result": "a\nb"})),
        (&["7"], json!({"result": 7})),
        (&["[1, 2]"], json!({"result": [1, 2]})),
        (&["1", "b"], json!({"result": [1, "b"]})),
        (&["done"], json!({})),
    ] {
        assert_eq!(told(texts, data), texts.join("\n"));
    }
    let without = result(r#"{"content":[],"structuredContent":{"b":1}}"#);
    assert_eq!(tool_output(&without, &IMAGES).text, r#"{"b":1}"#);
}

#[test]
fn nothing_is_told_in_words() {
    for json in [
        r#"{"content":[]}"#,
        r#"{"content":[{"type":"text","text":" "}]}"#,
    ] {
        assert!(
            tool_output(&result(json), &IMAGES)
                .text
                .contains("returned nothing")
        );
    }
    let error = Outcome::Error {
        error: "gone".into(),
    };
    let tool_output = tool_output(&error, &IMAGES);
    assert_eq!(
        (tool_output.text.as_str(), tool_output.failed),
        ("Error: gone", true)
    );
}
