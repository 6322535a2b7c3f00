//! Templates of prompts that the user has changed: those of recipes, with the white space and the lenient
//! undefined values of Goose's.

use super::template::{self, Bounded, Tags};
use minijinja::machinery::tokenize;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value as TemplateValue};
use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;
use std::collections::BTreeSet;

/// The largest rendered prompt, in bytes.
const MAX_OUTPUT: usize = 1 << 20;

/// How many instructions a template may run.
const FUEL: u64 = 20_000;

/// Why a prompt of the user cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TemplateFault {
    /// The line, from 1, if it is known.
    pub(crate) line: Option<usize>,
    /// What is wrong.
    pub(crate) reason: String,
}

/// Renders the template `text`. It may use the variables `names`; those without a value are empty.
///
/// # Errors
/// When the template is invalid, uses other variables, or exceeds a limit.
pub(crate) fn render(text: &str, names: &[&str], values: &Value) -> Result<String, TemplateFault> {
    for token in tokenize(text, false, SyntaxConfig::default()) {
        token.map_err(refused)?;
    }
    let size = text_size(values);
    let size = template::size_of_largest(text, size, Tags::OfPrompts);
    let size = size.map_err(|error| fault(None, error.into_reason()))?;
    let mut environment = template::environment(size);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    environment.set_syntax(syntax.map_err(refused)?);
    environment.set_fuel(Some(FUEL));
    rendered(&environment, text, names, values)
}

fn rendered(
    environment: &Environment<'_>,
    text: &str,
    names: &[&str],
    values: &Value,
) -> Result<String, TemplateFault> {
    let template = environment.template_from_str(text).map_err(refused)?;
    let used: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
    let unknown = used
        .iter()
        .find(|name| !names.contains(&name.as_str()) && *name != "range");
    if let Some(name) = unknown {
        let line = text.lines().position(|line| line.contains(name.as_str()));
        let names = names.join(", ");
        let reason = format!("there is no variable `{name}`; there are: {names}");
        return Err(fault(line.map(|at| at + 1), reason));
    }
    let mut made = Bounded {
        content: Vec::new(),
        left: MAX_OUTPUT,
    };
    let outcome = template
        .render_captured_to(TemplateValue::from(Serde(values)), &mut made)
        .map(drop);
    if made.left == 0 {
        let reason = format!("it makes a text of more than {} KiB", MAX_OUTPUT >> 10);
        return Err(fault(None, reason));
    }
    outcome.map_err(refused)?;
    Ok(String::from_utf8_lossy(&made.content).into_owned())
}

fn fault(line: Option<usize>, reason: String) -> TemplateFault {
    TemplateFault { line, reason }
}

fn refused(error: minijinja::Error) -> TemplateFault {
    fault(error.line(), template::refused(error).into_reason())
}

/// The size of all texts of the value together.
fn text_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_size).sum(),
        Value::Object(fields) => fields.values().map(text_size).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
