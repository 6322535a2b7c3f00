//! Slash commands, with which a message may begin: `/prompts`, `/prompt`, `/compact`, `/clear`, and the
//! commands that the configuration assigns to recipes. SERVER §5.3; CORE §10.

use crate::agent::Error;
use crate::agent::commands::command_list;
use crate::agent::session::session_recipes;
use crate::agent::turn::Turn;
use crate::agent::turn::turn_output::random_id;
use crate::conversation::{Content, Message, Metadata, Role};
use crate::extension::{ExtensionItem, tool_names};
use crate::mcp::types::{Prompt, PromptMessage};
use crate::text::json_for_model;
use crate::text::split_command::split_literal;
use serde_json::{Map, Value};
use std::fmt::Write;

impl Turn<'_> {
    /// Runs the command that the message begins with. Returns the message for the model: the same one if it
    /// is not a command; an empty one if the command has stored the messages that the model answers; `None`
    /// if the model is not asked.
    pub(in crate::agent) fn run_slash_command(
        &mut self,
        user: Message,
    ) -> Result<Option<Message>, Error> {
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
            "prompts" => self.show_prompts(user, rest),
            "prompt" => self.use_prompt(user, rest),
            "compact" => self.compact("You asked for it").map(|_| None),
            "clear" => {
                self.state.journal.replace(Vec::<Message>::new())?;
                self.state.estimate.forget();
                self.output.tokens.clear();
                self.send_conversation();
                Ok(None)
            }
            command => self.use_recipe(user, command, rest),
        }
    }

    /// Stores a command and its answer, both visible to the user only. The model is not asked.
    fn answer_command(
        &mut self,
        command: Message,
        answer: impl Into<String>,
    ) -> Result<Option<Message>, Error> {
        self.store(command.seen_by(Metadata::USER_ONLY))?;
        self.reply_without_model(answer).map(|()| None)
    }

    fn show_prompts(&mut self, user: Message, extension: &str) -> Result<Option<Message>, Error> {
        let wanted = (!extension.is_empty()).then_some(extension);
        let listing = self.extensions().prompts(wanted, &self.context.cancel);
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
        self.answer_command(user, text)
    }

    fn use_prompt(&mut self, user: Message, rest: &str) -> Result<Option<Message>, Error> {
        let mut words = split_literal(rest).into_iter();
        let Some(name) = words.next() else {
            let usage = "Say which one: `/prompt NAME KEY=VALUE …`; `/prompts` lists them.";
            return self.answer_command(user, usage);
        };
        let listing = self.extensions().prompts(None, &self.context.cancel);
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
            return self.answer_command(user, answer);
        };
        let words: Vec<String> = words.collect();
        if words.iter().any(|word| word == "--info") {
            return self.answer_command(user, describe(item));
        }
        let pair = |word| match str::split_once(word, '=') {
            Some((key, value)) => Ok((key.to_owned(), Value::from(value))),
            None => Err(word),
        };
        let arguments: Result<Map<_, _>, &str> = words.iter().map(|word| pair(word)).collect();
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(word) => {
                let about = describe(item);
                let answer = format!("`{word}` is not of the form `KEY=VALUE`.\n\n{about}");
                return self.answer_command(user, answer);
            }
        };
        let prompt =
            self.extensions()
                .get_prompt(extension, &item.name, &arguments, &self.context.cancel);
        let prompt = match prompt {
            Ok(prompt) => prompt,
            Err(error) => {
                return self.answer_command(user, format!("{error}\n\n{}", describe(item)));
            }
        };
        let messages: Vec<Message> = prompt.messages.iter().filter_map(message).collect();
        let Some(last) = messages.last().map(|message| message.role) else {
            return self.answer_command(user, "The prompt is empty.");
        };
        self.store(user.seen_by(Metadata::USER_ONLY))?;
        for message in messages {
            let message = message.with_id(random_id("msg_"));
            self.output.message(&message);
            self.store(message)?;
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
        let config = &self.context.stores.config;
        let file = match command_list::recipe_of(config, command) {
            // Not every message with a slash is a command: it may begin with a path.
            Ok(None) => return Ok(Some(user)),
            Ok(Some(file)) => Ok(file),
            Err(error) => Err(format!(
                "{} is not a recipe: {error}",
                config.path().display()
            )),
        };
        let text = file.and_then(|file| {
            let text = session_recipes::of_program().and_then(|it| {
                it.command_message(
                    &file,
                    split_literal(rest),
                    &self.context.session.working_dir,
                )
            });
            text.map_err(|error| error.to_string())
        });
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                return self.answer_command(user, format!("`/{command}`: {error}"));
            }
        };
        self.store(user.seen_by(Metadata::USER_ONLY))?;
        let message = Message::text(Role::User, text);
        Ok(Some(message.seen_by(Metadata::AGENT_ONLY)))
    }
}

/// The description and the arguments of a prompt.
fn describe(prompt: &Prompt) -> String {
    let mut text = format!("`{}`", prompt.name);
    if let Some(description) = &prompt.description {
        let _ = write!(text, ": {description}");
    }
    text.push('\n');
    for argument in prompt.arguments.iter().flatten() {
        let is_required = argument.required == Some(true);
        let need = if is_required { "required" } else { "optional" };
        let about = argument.description.as_deref().unwrap_or_default();
        let _ = writeln!(text, "- `{}` ({need}) {about}", argument.name);
    }
    text
}

/// Converts a message of a prompt. An embedded resource becomes its text.
fn message(from: &PromptMessage) -> Option<Message> {
    let role = match from.role.as_str() {
        "assistant" => Role::Assistant,
        _ => Role::User,
    };
    let part: Content = crate::json::from_str(&json_for_model(from.content.as_json())).ok()?;
    let part = match part {
        Content::Text(_) | Content::Image(_) | Content::Audio(_) => part,
        Content::Other(other) => {
            let other: Value = crate::json::from_str(other.get()).ok()?;
            Content::text(other.pointer("/resource/text")?.as_str()?)
        }
        _ => return None,
    };
    Some(Message::new(role, vec![part]))
}
