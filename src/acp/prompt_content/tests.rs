use super::*;
use serde_json::{Value, json};

/// The path of a file in a root folder, as it stands in a URI, which on Windows begins with a drive.
fn file_path(name: &str) -> String {
    format!("{}/{name}", if cfg!(windows) { "C:" } else { "" })
}

fn file_uri(name: &str) -> String {
    format!("file:///{}", file_path(name).trim_start_matches('/'))
}

fn texts(blocks: Value) -> Result<Vec<String>, String> {
    let blocks: Vec<RawJson> = serde_json::from_str(&blocks.to_string()).unwrap();
    let inside = Path::new(&*file_path("a b")).to_owned();
    let read = |path: &Path| (path == inside).then(|| "inside".to_owned());
    let contents = contents("session/prompt", blocks, &read).map_err(|error| error.message)?;
    let text = |part: &Content| match part {
        Content::Image(image) => format!("image {}", image.mime_type),
        Content::Audio(audio) => format!("audio {}", audio.mime_type),
        part => part.as_text().unwrap_or_default().to_owned(),
    };
    Ok(contents.iter().map(text).collect())
}

#[test]
fn blocks_become_text_images_and_audio() {
    let blocks = json!([
        {"type": "text", "text": "look"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": file_uri("a%20b"), "name": "a b"},
        {"type": "resource_link", "uri": "file:///gone", "name": "gone"},
        {"type": "resource_link", "uri": "file:////host/share/x", "name": "shared"},
        {"type": "resource_link", "uri": "file://host/share/x", "name": "shared"},
        {"type": "resource_link", "uri": "zed:///terminal", "name": "", "description": "x"},
        {"type": "resource", "resource": {"uri": file_uri("c"), "text": "text"}},
        {"type": "resource", "resource": {"uri": "x:y", "blob": "aGk=", "mimeType": "image/gif"}},
        {"type": "resource", "resource": {"uri": "x:y", "blob": "aGk="}},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "x:y", "blob": "aGk=", "mimeType": "audio/ogg"}},
    ]);
    assert_eq!(
        texts(blocks).unwrap(),
        [
            "look",
            "image image/png",
            &*format!("{}:\n```\ninside\n```\n", file_path("a b")),
            "[gone](file:///gone)",
            "[shared](file:////host/share/x)",
            "[shared](file://host/share/x)",
            "zed:///terminal (x)",
            &format!("{}:\n```\ntext\n```\n", file_path("c")),
            "image image/gif",
            "x:y",
            "audio audio/wav",
            "audio audio/ogg"
        ]
    );
}

#[test]
fn what_is_not_valid_is_refused_with_its_place() {
    let audio =
        json!([{"type": "text", "text": "x"}, {"type": "audio", "data": "", "mimeType": ""}]);
    assert!(texts(audio).unwrap_err().contains("`prompt[1]`"));
    assert!(texts(json!([])).unwrap_err().contains("empty"));
    let bare = json!([{"type": "resource", "resource": {"uri": "x:y"}}]);
    assert!(texts(bare).unwrap_err().contains("`text` or `blob`"));
}

#[test]
fn a_uri_names_a_file_of_this_system() {
    let file = |uri: &str| file_of(uri).map(|path| path.display().to_string());
    let (uri, path) = if cfg!(windows) {
        ("file:///C%3A/a%20b?x#y", "C:/a b")
    } else {
        ("file:///home/a%20b?x#y", "/home/a b")
    };
    assert_eq!(file(uri).as_deref(), Some(path));
    assert_eq!(
        file(&uri.replace("//", "//localhost")).as_deref(),
        Some(path)
    );
    for uri in ["file://C", "file://there/a", "http:///a"] {
        assert_eq!(file(uri), None, "{uri}");
    }
}
