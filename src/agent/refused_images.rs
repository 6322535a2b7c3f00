//! Images that a model did not take: it is told of them in words, with every later message and after a
//! restart too. Another model gets them as they are.

use crate::conversation::{ExtensionData, Message, Role};
use crate::provider::{image_hashes, with_images_in_words};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

/// The most images that are kept for one model; the oldest are forgotten, and refused once more.
const MOST: usize = 1_000;

/// The images that each model of a session did not take.
#[derive(Debug, Default)]
pub(super) struct RefusedImages {
    /// By `provider/model`, the hashes of their data, oldest first.
    by_model: BTreeMap<String, Vec<u64>>,
    is_changed: bool,
}

impl RefusedImages {
    /// What is stored with the session.
    pub(super) fn of(data: &ExtensionData) -> Self {
        let stored = data.0.get(ExtensionData::REFUSED_IMAGES);
        let stored = stored.and_then(Value::as_object).into_iter().flatten();
        let hash = |text: &Value| u64::from_str_radix(text.as_str()?, 16).ok();
        let hashes = |list: &Value| {
            list.as_array()
                .into_iter()
                .flatten()
                .filter_map(hash)
                .collect()
        };
        RefusedImages {
            by_model: stored
                .map(|(model, list)| (model.clone(), hashes(list)))
                .collect(),
            is_changed: false,
        }
    }

    /// Stores them with the session.
    pub(super) fn keep(&self, data: &mut ExtensionData) {
        let hex = |hash: &u64| Value::from(format!("{hash:x}"));
        let models = self.by_model.iter();
        let lists = models.map(|(model, list)| (model.clone(), list.iter().map(hex).collect()));
        let lists = lists.collect::<Map<String, Value>>();
        let key = ExtensionData::REFUSED_IMAGES.to_owned();
        data.0.insert(key, lists.into());
    }

    /// Whether there are more than were stored; false from then on.
    pub(super) fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// The history, with words in the place of the images that this model did not take.
    pub(super) fn in_words<'m>(
        &self,
        model: &str,
        history: Vec<Cow<'m, Message>>,
    ) -> Vec<Cow<'m, Message>> {
        let Some(list) = self.by_model.get(model) else {
            return history;
        };
        let refused: HashSet<u64> = list.iter().copied().collect();
        let messages = history.into_iter();
        messages
            .map(|message| with_images_in_words(message, &refused))
            .collect()
    }

    /// Adds the images of which this model refused one: those since its last message, which it has not
    /// taken before, or all if there are none since. False if there are none at all.
    pub(super) fn add(&mut self, model: &str, history: &[Cow<'_, Message>]) -> bool {
        let hashes = |messages: &[Cow<'_, Message>]| -> Vec<u64> {
            messages.iter().flat_map(|m| image_hashes(m)).collect()
        };
        let is_models = |message: &Cow<'_, Message>| message.role == Role::Assistant;
        let since = history.iter().rposition(is_models).map_or(0, |at| at + 1);
        let mut new = hashes(&history[since..]);
        if new.is_empty() {
            new = hashes(history);
        }
        if new.is_empty() {
            return false;
        }
        let list = self.by_model.entry(model.to_owned()).or_default();
        list.extend(new);
        list.drain(..list.len().saturating_sub(MOST));
        self.is_changed = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(role: &str, images: &[&str]) -> Message {
        let image = |data: &&str| json!({"type": "image", "data": data, "mimeType": "image/png"});
        let mut content: Vec<Value> = images.iter().map(image).collect();
        content.push(json!({"type": "text", "text": "t"}));
        let message = json!({"role": role, "created": 1, "content": content});
        serde_json::from_value(message).unwrap()
    }

    /// The images that are left for the model.
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
            refused.add("p/m", &history)
        };
        assert!(add(&mut refused) && refused.take_change());
        assert_eq!(left(&refused, "p/m", &history), 1);
        assert_eq!(left(&refused, "p/other", &history), 3);
        assert!(add(&mut refused));
        assert_eq!(left(&refused, "p/m", &history), 0);
        assert!(!add(&mut refused), "none is left");
        let mut data = ExtensionData::default();
        refused.keep(&mut data);
        let again = RefusedImages::of(&data);
        assert_eq!(left(&again, "p/m", &history), 0);
        assert_eq!(left(&again, "p/other", &history), 3);
    }

    #[test]
    fn they_do_not_grow_without_end() {
        let mut refused = RefusedImages::default();
        for n in 0..MOST + 5 {
            let message = message("user", &[&format!("{n}")]);
            refused.add("p/m", &[Cow::Owned(message)]);
        }
        assert_eq!(refused.by_model["p/m"].len(), MOST);
    }
}
