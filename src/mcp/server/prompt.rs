//! Prompts: messages that begin a conversation. MCP 2025-11-25, server/prompts.

use super::{Context, check_argument, check_unique, reason};
use crate::jsonrpc::{ErrorObject, INVALID_PARAMS};
use crate::types::{self, Content, GetPromptResult, PromptArgument, PromptMessage};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

type Handler = Box<dyn Fn(Value, &Context) -> Result<GetPromptResult, ErrorObject> + Send + Sync>;

/// A prompt and its handler.
pub struct Prompt {
    pub(super) wire: types::Prompt,
    pub(super) quick: bool,
    handler: Handler,
}

impl Prompt {
    /// A prompt without arguments; see [`required`](Prompt::required) and [`optional`](Prompt::optional). The
    /// arguments, all strings, are deserialized into `A`, for example a struct or a map. An error of the
    /// handler is sent as -32602 with its text.
    ///
    /// # Panics
    /// `A` is a type that no object can be read as.
    pub fn new<A, F>(name: &str, description: &str, handler: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, &Context) -> Result<GetPromptResult, String> + Send + Sync + 'static,
    {
        check_argument::<A>(name);
        Prompt {
            wire: types::Prompt {
                name: name.to_owned(),
                description: Some(description.to_owned()),
                ..types::Prompt::default()
            },
            quick: false,
            handler: Box::new(move |values, context| {
                let arguments = gosling_text::json::from_value(&values)
                    .map_err(|e| invalid(format!("The arguments do not fit: {}", reason(&e))))?;
                handler(arguments, context).map_err(invalid)
            }),
        }
    }

    /// Sets the name for users.
    pub fn title(mut self, title: &str) -> Self {
        self.wire.title = Some(title.to_owned());
        self
    }

    /// Adds a required argument.
    ///
    /// # Panics
    /// The prompt has an argument of this name.
    pub fn required(self, name: &str, description: &str) -> Self {
        self.argument(name, description, true)
    }

    /// Adds an optional argument.
    ///
    /// # Panics
    /// The prompt has an argument of this name.
    pub fn optional(self, name: &str, description: &str) -> Self {
        self.argument(name, description, false)
    }

    /// See [`Tool::quick`](super::Tool::quick).
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    fn argument(mut self, name: &str, description: &str, required: bool) -> Self {
        let arguments = self.wire.arguments.get_or_insert_default();
        check_unique("argument", name, arguments.iter().map(|known| &known.name));
        arguments.push(PromptArgument {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            required: Some(required),
        });
        self
    }

    pub(super) fn get(
        &self,
        given: BTreeMap<String, String>,
        context: &Context,
    ) -> Result<GetPromptResult, ErrorObject> {
        let declared = self.wire.arguments.iter().flatten();
        let mut required = declared.filter(|argument| argument.required == Some(true));
        if let Some(missing) = required.find(|argument| !given.contains_key(&argument.name)) {
            let prompt = &self.wire.name;
            let argument = &missing.name;
            return Err(invalid(format!(
                "The prompt `{prompt}` needs the argument `{argument}`"
            )));
        }
        (self.handler)(given.into_iter().collect(), context)
    }
}

impl PromptMessage {
    /// A message of the user.
    pub fn user(text: &str) -> Self {
        PromptMessage {
            role: "user".to_owned(),
            content: Content::text(text),
        }
    }
}

fn invalid(text: String) -> ErrorObject {
    ErrorObject::new(INVALID_PARAMS, text)
}
