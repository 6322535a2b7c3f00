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
