//! Images, and audio, that a model refused: in later requests to this model, also after a restart, a short text replaces
//! each of them. Other models get the images.

use crate::conversation::{ExtensionData, Message, Role};
use crate::provider::{image_hashes, replace_images};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// How many images are remembered for one model. Those that the conversation still shows to the model are
/// remembered beyond this limit, because otherwise a request would hold them again.
const MAX_REMEMBERED: usize = 1_000;

/// The images that each model of a session refused.
#[derive(Debug, Default)]
pub(in crate::agent) struct RefusedImages {
    /// By `provider/model`, the hashes of their data, oldest first.
    by_model: BTreeMap<String, Vec<u64>>,
    /// Images were added, and the model has not answered without them yet.
    is_changed: bool,
    /// The value to store with the session, if it changed.
    proven: Option<Value>,
}

/// The text that takes the place of a refused image.
fn replacement(mime_type: &str) -> String {
    let kind = if mime_type.starts_with("audio/") {
        "audio"
    } else {
        "an image"
    };
    format!("({kind} of type {mime_type}, which the model did not take)")
}

impl RefusedImages {
    /// Reads the images that are stored with the session.
    pub(in crate::agent) fn of(data: &ExtensionData) -> Self {
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
            ..RefusedImages::default()
        }
    }

    /// Records that the model answered without the images, so they were the reason for its refusal.
    pub(in crate::agent) fn prove(&mut self) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let hex = |hash: &u64| Value::from(format!("{hash:x}"));
        let models = self.by_model.iter();
        let lists = models.map(|(model, list)| (model.clone(), list.iter().map(hex).collect()));
        self.proven = Some(lists.collect::<Map<String, Value>>().into());
    }

    /// Stores the proven images with the session.
    pub(in crate::agent) fn store(&self, data: &mut ExtensionData) {
        if let Some(proven) = &self.proven {
            let key = ExtensionData::REFUSED_IMAGES.to_owned();
            data.0.insert(key, proven.clone());
        }
    }

    /// The history with texts in place of the images that this model refused.
    pub(in crate::agent) fn in_words<'m>(
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
            .map(|message| replace_images(message, &refused, &replacement))
            .collect()
    }

    /// Adds the images of which this model refused one in a request with `history`: those after its last
    /// message, or all if there are none after it. False if there are none to add. `stored` are the messages
    /// that the history was made from.
    pub(in crate::agent) fn add(
        &mut self,
        model: &str,
        history: &[Cow<'_, Message>],
        stored: &[Arc<Message>],
    ) -> bool {
        let (_, last) = history.split_at(after_last_answer(history));
        let mut new = hashes(last);
        if new.is_empty() {
            new = hashes(history);
        }
        self.add_hashes(model, new, stored)
    }

    /// Adds the images before the last message of this model, because a request with `history` was too large. False if
    /// there are none to add.
    pub(in crate::agent) fn add_older(
        &mut self,
        model: &str,
        history: &[Cow<'_, Message>],
        stored: &[Arc<Message>],
    ) -> bool {
        let (older, _) = history.split_at(after_last_answer(history));
        self.add_hashes(model, hashes(older), stored)
    }

    fn add_hashes(&mut self, model: &str, mut new: Vec<u64>, stored: &[Arc<Message>]) -> bool {
        let list = self.by_model.entry(model.to_owned()).or_default();
        let mut known: HashSet<u64> = list.iter().copied().collect();
        new.retain(|hash| known.insert(*hash));
        if new.is_empty() {
            return false;
        }
        list.extend(new);
        if list.len() > MAX_REMEMBERED {
            let visible = stored.iter().filter(|m| m.metadata.agent_visible);
            let visible: HashSet<u64> = visible.flat_map(|m| image_hashes(m)).collect();
            let mut surplus = list.len() - MAX_REMEMBERED;
            list.retain(|hash| {
                let is_kept = surplus == 0 || visible.contains(hash);
                surplus -= usize::from(!is_kept);
                is_kept
            });
        }
        self.is_changed = true;
        true
    }
}

/// Where in a history the messages begin that the model has not answered.
fn after_last_answer(history: &[Cow<'_, Message>]) -> usize {
    let is_answer = |message: &Cow<'_, Message>| message.role == Role::Assistant;
    history.iter().rposition(is_answer).map_or(0, |at| at + 1)
}

fn hashes(messages: &[Cow<'_, Message>]) -> Vec<u64> {
    messages.iter().flat_map(|m| image_hashes(m)).collect()
}

#[cfg(test)]
mod tests;
