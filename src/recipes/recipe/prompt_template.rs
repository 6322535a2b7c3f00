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
            Error::Template { reason } => reason,
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
            Error::Template { reason } => reason,
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
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::{Duration, Instant};

    fn fault(text: &str) -> TemplateFault {
        match render(text, &["a", "list"], &json!({"a": "x", "list": ["p", "q"]})) {
            Ok(made) => panic!("{text:?} made {made:?}"),
            Err(fault) => fault,
        }
    }

    #[test]
    fn a_template_of_goose_renders_as_there() {
        let text = "Hi\n\n{% if (list is defined) and list %}\nAll:\n{% for it in list %}\n- {{it}}\n\
                    {% endfor %}\n{% else %}\nNone\n{% endif %}\n{% if pair is defined %}\n\
                    {% with (n, m) = pair  %}\n{{n}} of {{m}}\n{% endwith %}\n{% endif %}\nBye\n";
        let names = ["list", "pair"];
        let made = render(text, &names, &json!({"list": ["p", "q"]}));
        assert_eq!(made.as_deref(), Ok("Hi\n\nAll:\n- p\n- q\nBye"));
        let made = render(text, &names, &json!({"pair": [1, 2]}));
        assert_eq!(made.as_deref(), Ok("Hi\n\nNone\n1 of 2\nBye"));
    }

    #[test]
    fn a_value_is_no_template() {
        let made = render("{{ a }}", &["a"], &json!({"a": "{{ list }}{% if"}));
        assert_eq!(made.as_deref(), Ok("{{ list }}{% if"));
    }

    #[test]
    fn a_fault_names_line_and_reason() {
        for (text, line, reason) in [
            ("a\n{{ a", Some(2), "unexpected end"),
            ("a\n\n{% if a %}", Some(3), "end of"),
            ("a\nb\n{{ nosuch }}", Some(3), "`nosuch`"),
            ("{{ a|nosuch }}", Some(1), "nosuch"),
            ("a\n{{ a.b.c }}", Some(2), "undefined"),
            ("{% include 'x' %}", None, "include"),
        ] {
            let fault = fault(text);
            assert_eq!(fault.line, line, "{text:?}: {fault:?}");
            assert!(fault.reason.contains(reason), "{text:?}: {fault:?}");
        }
    }

    #[test]
    fn a_hostile_template_ends_soon_and_small() {
        let doubled = "{% set a = a ~ a %}".repeat(1_000) + "{{ a }}";
        let loops = "{% for i in range(1000) %}".repeat(4) + "x" + &"{% endfor %}".repeat(4);
        let long = "{% for i in range(900) %}".to_owned() + &"x".repeat(10_000) + "{% endfor %}";
        for text in [
            doubled,
            loops,
            long,
            "{{".repeat(30_000),
            "{% if a %}".repeat(5_000),
        ] {
            let start = Instant::now();
            fault(&text);
            assert!(start.elapsed() < Duration::from_secs(20));
        }
    }
}
