use super::*;
use serde_json::json;

fn message(role: &str, images: &[&str]) -> Message {
    let image = |data: &&str| json!({"type": "image", "data": data, "mimeType": "image/png"});
    let mut content: Vec<Value> = images.iter().map(image).collect();
    content.push(json!({"type": "text", "text": "t"}));
    let message = json!({"role": role, "created": 1, "content": content});
    serde_json::from_value(message).unwrap()
}

/// How many images the model still gets.
fn left(refused: &RefusedImages, model: &str, history: &[Message]) -> usize {
    let history = history.iter().map(Cow::Borrowed).collect();
    let history = refused.in_words(model, history);
    history.iter().map(|m| image_hashes(m).len()).sum()
}

#[test]
fn the_newest_images_are_refused_first_and_then_all() {
    let history = [
        message("user", &["AAAA"]),
        message("assistant", &[]),
        message("user", &["BBBB", "CCCC"]),
    ];
    let mut refused = RefusedImages::default();
    let add = |refused: &mut RefusedImages| {
        let history = history.iter().map(Cow::Borrowed).collect();
        let history = refused.in_words("p/m", history);
        refused.add("p/m", &history, &[])
    };
    assert!(add(&mut refused));
    assert_eq!(left(&refused, "p/m", &history), 1);
    assert_eq!(left(&refused, "p/other", &history), 3);
    assert!(add(&mut refused));
    assert_eq!(left(&refused, "p/m", &history), 0);
    assert!(!add(&mut refused), "none is left");
    let mut data = ExtensionData::default();
    refused.store(&mut data);
    assert_eq!(data, ExtensionData::default(), "the model has not answered");
    refused.prove();
    refused.store(&mut data);
    let again = RefusedImages::of(&data);
    assert_eq!(left(&again, "p/m", &history), 0);
    assert_eq!(left(&again, "p/other", &history), 3);
}

#[test]
fn more_images_than_are_kept_are_refused_once() {
    let images: Vec<String> = (0..MAX_REMEMBERED + 5).map(|n| format!("{n:08}")).collect();
    let images: Vec<&str> = images.iter().map(String::as_str).collect();
    let history = [message("user", &images), message("user", &images[..3])];
    let stored = history.clone().map(Arc::new);
    let mut refused = RefusedImages::default();
    let mut rounds = 0;
    loop {
        let history = history.iter().map(Cow::Borrowed).collect();
        let history = refused.in_words("p/m", history);
        if !refused.add("p/m", &history, &stored) {
            break;
        }
        rounds += 1;
        assert!(rounds < 10, "it is refused again and again");
    }
    assert_eq!(
        (rounds, refused.by_model["p/m"].len()),
        (1, MAX_REMEMBERED + 5)
    );
    assert_eq!(left(&refused, "p/m", &history), 0);
}

#[test]
fn they_do_not_grow_without_end() {
    let mut refused = RefusedImages::default();
    for n in 0..MAX_REMEMBERED + 5 {
        let message = message("user", &[&format!("{n}")]);
        let stored = [Arc::new(message.clone())];
        refused.add("p/m", &[Cow::Owned(message)], &stored);
    }
    assert_eq!(refused.by_model["p/m"].len(), MAX_REMEMBERED);
}
