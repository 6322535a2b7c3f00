//! Commands that a message may begin with: `/prompts`, `/prompt`, `/compact`, `/clear`, and those that the
//! configuration gives to recipes. SERVER §5.3; CORE §10.

use super::Error;
use super::turn::Turn;
use super::turn_output::random_id;
use crate::conversation::{Content, Message, Metadata, Role};
use crate::extension::{ExtensionItem, tool_names};
use crate::mcp::types::{Prompt, PromptMessage};
use crate::recipe;
use crate::text::json_for_model;
use serde_json::{Map, Value};
use std::fmt::Write;

impl Turn<'_> {
    /// Does what the message commands. Gives back what is left for the model: the message, if it is no
    /// command; an empty one, if what the model is to answer is stored already; nothing, if there is
    /// nothing to answer.
    pub(super) fn obey(&mut self, user: Message) -> Result<Option<Message>, Error> {
        let [Content::Text(text)] = user.content.as_slice() else {
            return Ok(Some(user));
        };
        let Some(line) = text.text.trim().strip_prefix('/') else {
            return Ok(Some(user));
        };
        let line = line.to_owned();
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let rest = rest.trim();
        match command {
            "prompts" => self.show_prompts(user, rest).map(|()| None),
            "prompt" => self.use_prompt(user, rest),
            "compact" => self.compact("You asked for it").map(|()| None),
            "clear" => {
                self.work.journal.replace(Vec::new())?;
                self.work.estimate.forget();
                self.output.tokens.clear();
                self.tell_conversation();
                Ok(None)
            }
            command => self.use_recipe(user, command, rest),
        }
    }

    /// Stores a command with its answer, for the user alone.
    fn show(&mut self, command: Message, answer: impl Into<String>) -> Result<(), Error> {
        self.keep(command.seen_by(Metadata::USER_ONLY))?;
        self.stop_short(answer)
    }

    fn show_prompts(&mut self, user: Message, extension: &str) -> Result<(), Error> {
        let wanted = (!extension.is_empty()).then_some(extension);
        let listing = self.agent.extensions.prompts(wanted, &self.cancel);
        let mut text = if listing.items.is_empty() {
            "No active extension offers prompts.\n".to_owned()
        } else {
            "These prompts can be used with `/prompt NAME`:\n".to_owned()
        };
        for ExtensionItem { extension, item } in &listing.items {
            let about = item.description.as_deref().unwrap_or_default();
            let _ = writeln!(text, "- `{}` ({extension}) {about}", item.name);
        }
        for error in &listing.errors {
            let _ = writeln!(text, "- {error}");
        }
        self.show(user, text)
    }

    fn use_prompt(&mut self, user: Message, rest: &str) -> Result<Option<Message>, Error> {
        let mut words = words(rest).into_iter();
        let Some(name) = words.next() else {
            let usage = "Say which one: `/prompt NAME KEY=VALUE …`; `/prompts` lists them.";
            return self.show(user, usage).map(|()| None);
        };
        let listing = self.agent.extensions.prompts(None, &self.cancel);
        let (extension, bare) = name
            .split_once(tool_names::SEPARATOR)
            .unwrap_or(("", &name));
        let found = listing
            .items
            .iter()
            .find(|of| of.item.name == name || (of.extension == extension && of.item.name == bare));
        let Some(ExtensionItem { extension, item }) = found else {
            let answer = format!(
                "No active extension offers a prompt called `{name}`; `/prompts` lists them."
            );
            return self.show(user, answer).map(|()| None);
        };
        let words: Vec<String> = words.collect();
        if words.iter().any(|word| word == "--info") {
            return self.show(user, about(item)).map(|()| None);
        }
        let mut arguments = Map::new();
        for word in &words {
            match word.split_once('=') {
                Some((key, value)) => {
                    arguments.insert(key.to_owned(), Value::from(value));
                }
                None => {
                    let answer = format!(
                        "`{word}` is not of the form `KEY=VALUE`.\n\n{}",
                        about(item)
                    );
                    return self.show(user, answer).map(|()| None);
                }
            }
        }
        let prompt =
            self.agent
                .extensions
                .get_prompt(extension, &item.name, &arguments, &self.cancel);
        let prompt = match prompt {
            Ok(prompt) => prompt,
            Err(error) => {
                return self
                    .show(user, format!("{error}\n\n{}", about(item)))
                    .map(|()| None);
            }
        };
        let messages: Vec<Message> = prompt.messages.iter().filter_map(message).collect();
        let Some(last) = messages.last().map(|message| message.role) else {
            return self.show(user, "The prompt is empty.").map(|()| None);
        };
        self.keep(user.seen_by(Metadata::USER_ONLY))?;
        for message in messages {
            let message = message.with_id(random_id("msg_"));
            self.output.say(&message);
            self.keep(message)?;
        }
        self.output.flush();
        Ok((last == Role::User).then(|| Message::new(Role::User, Vec::new())))
    }

    fn use_recipe(
        &mut self,
        user: Message,
        command: &str,
        rest: &str,
    ) -> Result<Option<Message>, Error> {
        let config = &self.registry.stores().config;
        let recipe = match recipe::slash_commands::find(config, command) {
            // Many a message begins with a slash, a path for one.
            Ok(None) => return Ok(Some(user)),
            Ok(Some(recipe)) => recipe,
            Err(error) => {
                return self
                    .show(user, format!("`/{command}`: {error}"))
                    .map(|()| None);
            }
        };
        let mut values = Map::new();
        let mut free = Vec::new();
        for word in words(rest) {
            match word.split_once('=') {
                Some((key, value)) => {
                    values.insert(key.to_owned(), Value::from(value));
                }
                None => free.push(word),
            }
        }
        // What is not named is the value of the first parameter that has none.
        if !free.is_empty() {
            let parameters = &recipe.fields().parameters;
            let open = parameters.iter().find(|p| !values.contains_key(&p.key));
            if let Some(open) = open {
                values.insert(open.key.clone(), Value::from(free.join(" ")));
            }
        }
        let rendered = match recipe.render(&values, &self.session.working_dir) {
            Ok(rendered) => rendered,
            Err(error) => {
                return self
                    .show(user, format!("`/{command}`: {error}"))
                    .map(|()| None);
            }
        };
        let texts = [rendered.instructions, rendered.prompt];
        let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        self.keep(user.seen_by(Metadata::USER_ONLY))?;
        let message = Message::text(Role::User, text);
        Ok(Some(message.seen_by(Metadata::AGENT_ONLY)))
    }
}

/// What a prompt is for and what it takes.
fn about(prompt: &Prompt) -> String {
    let mut text = format!("`{}`", prompt.name);
    if let Some(description) = &prompt.description {
        let _ = write!(text, ": {description}");
    }
    text.push('\n');
    for argument in prompt.arguments.iter().flatten() {
        let need = match argument.required {
            Some(true) => "required",
            _ => "optional",
        };
        let about = argument.description.as_deref().unwrap_or_default();
        let _ = writeln!(text, "- `{}` ({need}) {about}", argument.name);
    }
    text
}

/// A message of a prompt as one of ours; text of embedded resources counts as text.
fn message(from: &PromptMessage) -> Option<Message> {
    let role = match from.role.as_str() {
        "assistant" => Role::Assistant,
        _ => Role::User,
    };
    let part: Content = crate::json::from_str(&json_for_model(from.content.as_json())).ok()?;
    let part = match part {
        Content::Text(_) | Content::Image(_) => part,
        Content::Other(other) => {
            let other: Value = crate::json::from_str(other.get()).ok()?;
            Content::text(other.pointer("/resource/text")?.as_str()?)
        }
        _ => return None,
    };
    Some(Message::new(role, vec![part]))
}

/// The words of a line; quotes keep blanks together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut inside, mut quote) = (String::new(), false, None);
    for c in line.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.push(c),
            None if c == '"' || c == '\'' => (quote, inside) = (Some(c), true),
            None if c.is_whitespace() => {
                if inside {
                    words.push(std::mem::take(&mut word));
                    inside = false;
                }
            }
            None => {
                word.push(c);
                inside = true;
            }
        }
    }
    if inside {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together() {
        assert_eq!(
            words(r#"greet name="Ada Lovelace" 'it''s' empty="" x"#),
            ["greet", "name=Ada Lovelace", "its", "empty=", "x"]
        );
        assert_eq!(words("  "), Vec::<String>::new());
        assert_eq!(words("a=\"b c"), ["a=b c"]);
    }
}
