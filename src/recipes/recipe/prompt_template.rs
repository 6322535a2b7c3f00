//! Templates of prompts that the user has changed: those of recipes, with the white space and the lenient
//! undefined values of Goose's.

use super::Error;
use super::template::{self, Bounded, Tags};
use crate::agent::recipes::TemplateFault;
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

/// Renders the template `text`. It may use the variables `names`; those without a value are empty.
///
/// # Errors
/// When the template is invalid, uses other variables, or exceeds a limit.
pub(crate) fn render(text: &str, names: &[&str], values: &Value) -> Result<String, TemplateFault> {
    let fault = |line: Option<usize>, error: Error| TemplateFault {
        line,
        reason: match error {
            Error::Template(reason) => reason,
            other => other.to_string(),
        },
    };
    for token in tokenize(text, false, SyntaxConfig::default()) {
        token.map_err(|error| fault(error.line(), template::refused(error)))?;
    }
    let size = text_size(values);
    let size = template::size_of_largest(text, size, Tags::OfPrompts);
    let size = size.map_err(|error| fault(None, error))?;
    let mut environment = template::environment(size);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    environment.set_syntax(syntax.map_err(|error| fault(None, template::refused(error)))?);
    environment.set_fuel(Some(FUEL));
    rendered(&environment, text, names, values)
}

fn rendered(
    environment: &Environment<'_>,
    text: &str,
    names: &[&str],
    values: &Value,
) -> Result<String, TemplateFault> {
    let refused = |error: minijinja::Error| TemplateFault {
        line: error.line(),
        reason: match template::refused(error) {
            Error::Template(reason) => reason,
            other => other.to_string(),
        },
    };
    let template = environment.template_from_str(text).map_err(refused)?;
    let used: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
    let unknown = used
        .iter()
        .find(|name| !names.contains(&name.as_str()) && *name != "range");
    if let Some(name) = unknown {
        let line = text.lines().position(|line| line.contains(name.as_str()));
        let names = names.join(", ");
        return Err(TemplateFault {
            line: line.map(|at| at + 1),
            reason: format!("there is no variable `{name}`; there are: {names}"),
        });
    }
    let mut made = Bounded {
        content: Vec::new(),
        left: MAX_OUTPUT,
    };
    let outcome = template
        .render_captured_to(TemplateValue::from(Serde(values)), &mut made)
        .map(drop);
    if made.left == 0 {
        return Err(TemplateFault {
            line: None,
            reason: format!("it makes a text of more than {} KiB", MAX_OUTPUT >> 10),
        });
    }
    outcome.map_err(refused)?;
    Ok(String::from_utf8_lossy(&made.content).into_owned())
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
