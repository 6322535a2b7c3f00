//! Writes the events of a turn as JSON.

use crate::agent::Event;
use crate::conversation::{Content, Message, Text, TokenState};
use serde_json::Result;

/// Where the text of a delta without text is. In a JSON string the quotes are escaped, so a delta has it once.
const EMPTY_TEXT: &[u8] = br#""text":"""#;

/// Writes the events of one turn. Most are text deltas, and those of one message differ in their text only, so
/// the rest of their JSON is written once and copied.
#[derive(Default)]
pub struct EventWriter(Option<Template>);

/// The JSON of the text deltas of one message.
struct Template {
    /// A delta without text.
    message: Message,
    token_state: TokenState,
    /// Its JSON before the text.
    before: Vec<u8>,
    /// Its JSON behind the text.
    after: Vec<u8>,
}

impl EventWriter {
    /// Appends the JSON of `event` to `out`.
    ///
    /// # Errors
    /// The event cannot be written as JSON; `out` may have a part of it.
    pub fn write(&mut self, event: &Event<'_>, out: &mut Vec<u8>) -> Result<()> {
        let Event::Message {
            message,
            token_state,
        } = *event
        else {
            return serde_json::to_writer(out, event);
        };
        let [
            Content::Text(Text {
                text,
                annotations: None,
                meta: None,
            }),
        ] = &*message.content
        else {
            return serde_json::to_writer(out, event);
        };
        let known = self.0.as_ref();
        if !known.is_some_and(|template| template.fits(message, token_state)) {
            self.0 = Template::new(message, token_state)?;
        }
        let Some(template) = &self.0 else {
            return serde_json::to_writer(out, event);
        };
        out.extend_from_slice(&template.before);
        serde_json::to_writer(&mut *out, text)?;
        out.extend_from_slice(&template.after);
        Ok(())
    }
}

impl Template {
    /// For the deltas of the message that `delta` belongs to.
    fn new(delta: &Message, token_state: TokenState) -> Result<Option<Self>> {
        let message = Message {
            id: delta.id.clone(),
            content: vec![Content::text("")],
            ..*delta
        };
        let json = serde_json::to_vec(&Event::Message {
            message: &message,
            token_state,
        })?;
        let mut places = json.windows(EMPTY_TEXT.len());
        let place = places.position(|part| part == EMPTY_TEXT);
        Ok(place.map(|place| {
            // The quotes belong to the text.
            let text = place + EMPTY_TEXT.len() - 2;
            Template {
                before: json[..text].to_vec(),
                after: json[text + 2..].to_vec(),
                message,
                token_state,
            }
        }))
    }

    fn fits(&self, delta: &Message, token_state: TokenState) -> bool {
        let message = &self.message;
        message.id == delta.id
            && message.role == delta.role
            && message.created == delta.created
            && message.metadata == delta.metadata
            && self.token_state == token_state
    }
}

#[cfg(test)]
mod tests;
