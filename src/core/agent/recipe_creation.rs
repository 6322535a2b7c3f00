//! A recipe made from a session: its model describes how to do the task of the conversation again.

use super::conversation_digest::digest;
use super::short_answer::{LengthLimit, without_reasoning};
use super::token_estimate::Estimate;
use super::turn_channel::Model;
use super::{Error, Registry};
use crate::conversation::{Message, Role};
use crate::provider::{CompletionRequest, Purpose};
use crate::recipe::Recipe;
use crate::sys::cancel::Cancel;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The size of the digest that the model gets, in bytes.
const DIGEST_SIZE: usize = 60_000;
/// The most activities that a recipe gets, and the longest one, in characters.
const MAX_ACTIVITIES: (usize, usize) = (10, 200);
/// The longest title and description, in characters.
const MAX_LINE: usize = 200;

/// Who made the recipe.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct RecipeAuthor {
    /// How to reach them.
    pub contact: Option<String>,
    /// Anything else.
    pub metadata: Option<String>,
}

/// What the model answers.
#[derive(Deserialize)]
struct Description {
    title: String,
    description: String,
    instructions: String,
    #[serde(default)]
    activities: Vec<String>,
}

impl Registry {
    /// Makes a recipe of a session: the model describes the task; the extensions and the model are those of the
    /// session. Nothing is stored.
    ///
    /// # Errors
    /// When there is no such session, it has no messages or no model, or the model fails or does not answer with
    /// a recipe.
    pub fn create_recipe(
        &self,
        id: &str,
        author: Option<RecipeAuthor>,
        cancel: &Cancel,
    ) -> Result<Recipe, Error> {
        let session = self.session(id)?;
        let messages = self.stores().sessions.conversation(id)?.unwrap_or_default();
        let shown = messages
            .iter()
            .filter(|message| message.metadata.user_visible);
        let text = digest(shown, DIGEST_SIZE);
        if text.trim().is_empty() {
            return Err(invalid("the session has no messages"));
        }
        let model = self.model_of(&session)?;
        let answer = self.ask_for_recipe(&model, &text, cancel)?;
        let described = parse(&answer)
            .ok_or_else(|| invalid("the model did not answer with a recipe; try again"))?;
        let mut recipe = fields(described);
        let extensions = session.enabled_extensions().iter().map(without_values);
        recipe.insert("extensions".to_owned(), extensions.collect());
        let settings = json!({
            "goose_provider": model.provider.name(),
            "goose_model": model.config.model_name,
        });
        recipe.insert("settings".to_owned(), settings);
        if let Some(RecipeAuthor { contact, metadata }) = author {
            let author = json!({"contact": contact, "metadata": metadata});
            recipe.insert("author".to_owned(), author);
        }
        let recipe = Recipe::from_object(recipe)?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The text with which the model answers.
    fn ask_for_recipe(&self, model: &Model, text: &str, cancel: &Cancel) -> Result<String, Error> {
        let question = format!("<conversation>\n{text}</conversation>");
        let question = Message::text(Role::User, question);
        let request = CompletionRequest {
            model: &model.config,
            system: &self.stores().prompts.recipe(),
            messages: &[&question],
            note: None,
            tools: &[],
            purpose: Purpose::Summary,
            input: Estimate::default().tokens(text.len()),
        };
        let cancel = cancel.child();
        let mut limit = LengthLimit::new(cancel.clone());
        let answer = model.provider.complete(&request, &cancel, &mut limit);
        let answer = answer.map_err(Error::Model)?;
        Ok(Message::new(Role::Assistant, answer.content).concat_text())
    }
}

/// The configuration of an extension without what may be secret: recipes are passed on. Variables are named
/// instead, for the user of the recipe to set; a header stays if its value comes from variables.
fn without_values(extension: &Value) -> Value {
    let mut extension = extension.clone();
    let Some(fields) = extension.as_object_mut() else {
        return extension;
    };
    if let Some(Value::Object(variables)) = fields.shift_remove("envs") {
        let keys = fields.entry("env_keys").or_insert_with(|| json!([]));
        if let Value::Array(keys) = keys {
            keys.extend(variables.into_iter().map(|(name, _)| Value::String(name)));
            let mut seen = BTreeSet::new();
            keys.retain(|key| seen.insert(key.to_string()));
        }
    }
    if let Some(Value::Object(headers)) = fields.get_mut("headers") {
        headers.retain(|_, value| value.as_str().is_some_and(|value| value.contains('$')));
    }
    extension
}

fn invalid(reason: &str) -> Error {
    Error::Config {
        reason: reason.to_owned(),
    }
}

/// The first JSON object in the text of the model, which may stand in a code block.
fn parse(answer: &str) -> Option<Description> {
    let answer = without_reasoning(answer);
    let start = answer.find('{')?;
    let end = answer.rfind('}')?;
    crate::json::from_str(answer.get(start..=end)?).ok()
}

fn fields(described: Description) -> Map<String, Value> {
    let line = |text: &str, limit: usize| -> String {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(limit).collect()
    };
    let (count, longest) = MAX_ACTIVITIES;
    let activities = described
        .activities
        .iter()
        .map(|it| literal(&line(it, longest)));
    let activities: Vec<_> = activities.filter(|it| !it.is_empty()).take(count).collect();
    let mut fields = Map::new();
    for (name, value) in [
        ("version", json!("1.0.0")),
        ("title", json!(literal(&line(&described.title, MAX_LINE)))),
        (
            "description",
            json!(literal(&line(&described.description, MAX_LINE))),
        ),
        ("instructions", json!(literal(&described.instructions))),
        ("activities", json!(activities)),
    ] {
        fields.insert(name.to_owned(), value);
    }
    fields
}

/// Text that a template renders as itself: the model writes no templates.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '{' | '%' | '#') && literal.ends_with('{') {
            literal.push(' ');
        }
        literal.push(c);
    }
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_model_says_is_a_recipe_without_templates() {
        let answer = "<think>{}</think>Here:\n```json\n{\"title\": \"A\\n {{ b }}\", \"description\": \"D\", \
                      \"instructions\": \"Say {{{ x }} {% raw %}\\nthen {# y #}\", \"activities\": [\"\", \"go\"]}\n```\n";
        let fields = fields(parse(answer).unwrap());
        assert_eq!(fields["title"], "A { { b }}");
        assert_eq!(
            fields["instructions"],
            "Say { { { x }} { % raw %}\nthen { # y #}"
        );
        assert_eq!(fields["activities"], json!(["go"]));
        Recipe::from_object(fields).unwrap().check().unwrap();
        for answer in [
            "",
            "{",
            "}{",
            "no",
            "{\"title\": 1}",
            "<think>{\"title\": \"T\"}",
        ] {
            assert!(parse(answer).is_none(), "{answer}");
        }
    }

    #[test]
    fn values_that_may_be_secret_are_not_passed_on() {
        let extension = json!({"type": "stdio", "name": "a", "cmd": "a", "env_keys": ["B"],
            "envs": {"A": "secret", "B": "secret"}, "headers": {"x": "secret", "y": "Bearer ${T}"}});
        let expected = json!({"type": "stdio", "name": "a", "cmd": "a", "env_keys": ["B", "A"],
            "headers": {"y": "Bearer ${T}"}});
        assert_eq!(without_values(&extension), expected);
    }
}
