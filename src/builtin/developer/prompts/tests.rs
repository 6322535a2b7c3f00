use super::*;

fn arguments(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let given = given.iter();
    given
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

fn names(template: &Template) -> Vec<(&str, bool)> {
    let arguments = template.arguments.iter();
    arguments
        .map(|it| (it.name.as_str(), it.required))
        .collect()
}

#[test]
fn arguments_come_in_as_they_are() {
    let given = arguments(&[("A", "{{B}}"), ("B", "b"), ("Ü-1", "u")]);
    for (text, expected) in [
        ("{{A}} and {{ B }}", "{{B}} and b"),
        ("{{Ü-1}}{{none}}.", "u."),
        ("{{two words}} {{}} {{ B", "{{two words}} {{}} {{ B"),
        ("{{{B}}}", "{b}"),
        ("{{ {{B}}", "{{ b"),
        ("}}{{B}}{{", "}}b{{"),
        ("", ""),
    ] {
        assert_eq!(fill(text, &given, 100).as_deref(), Ok(expected), "{text:?}");
    }
    assert!(fill("{{A}}{{A}}", &given, 9).is_err());
}

#[test]
fn a_hostile_template_takes_no_time() {
    for text in [
        "{{".repeat(30_000),
        "{{ }} ".repeat(10_000),
        "{".repeat(60_001) + "}}",
    ] {
        let start = std::time::Instant::now();
        assert_eq!(fill(&text, &arguments(&[]), MAX_FILLED).unwrap(), text);
        assert!(start.elapsed().as_secs() < 2);
    }
}

#[test]
fn markdown_may_have_front_matter() {
    let declaration = markdown("Hello {{NAME}},\n\nmeet {{OTHER}} and {{NAME}}.\n").unwrap();
    let plain = template(declaration, "greet").unwrap();
    assert_eq!(plain.name, "greet");
    assert_eq!(names(&plain), [("NAME", true), ("OTHER", true)]);
    let front = "---\nname: meet\ndescription: Two people\narguments:\n- name: OTHER\n  \
                 description: Who\n---\n\nHello {{NAME}} and {{OTHER}}\n---\nbye\n";
    for text in [front.to_owned(), front.replace('\n', "\r\n")] {
        let declaration = template(markdown(&text).unwrap(), "x").unwrap();
        assert_eq!(
            (declaration.name.as_str(), names(&declaration)),
            ("meet", vec![("OTHER", false), ("NAME", true)])
        );
        assert_eq!(declaration.description.as_deref(), Some("Two people"));
        let expected = "Hello {{NAME}} and {{OTHER}}\n---\nbye";
        assert_eq!(declaration.messages[0].1.replace('\r', ""), expected);
    }
}

#[test]
fn what_makes_no_sense_says_why() {
    let why = |declaration: Result<Declaration, String>| {
        declaration
            .and_then(|declaration| template(declaration, "f"))
            .unwrap_err()
    };
    for (text, part) in [
        ("---\nname: x\n", "no end"),
        ("---\nname: [\n---\nx", "line"),
        ("---\narguments: 5\n---\nx", "a sequence"),
        ("---\nname: two words\n---\nx", "two words"),
        ("---\narguments: [{name: a b}]\n---\nx", "a b"),
        ("---\narguments: [{name: a}, {name: a}]\n---\nx", "twice"),
        (" \n", "text is empty"),
    ] {
        let why = why(markdown(text));
        assert!(why.contains(part), "{text:?}: {why}");
    }
    for (text, part) in [
        (r#"{"name": "x"}"#, "neither"),
        (r#"{"template": "x", "messages": []}"#, "both"),
        (r#"{"messages": []}"#, "text is empty"),
        (
            r#"{"messages": [{"role": "system", "content": "x"}]}"#,
            "system",
        ),
    ] {
        let why = why(gosling_core::json::from_str(text).map_err(|error| error.to_string()));
        assert!(why.contains(part), "{text}: {why}");
    }
    let many: String = (0..40).map(|n| format!("{{{{a{n}}}}}")).collect();
    assert!(why(markdown(&many)).contains("arguments"));
}

#[test]
fn ours_need_what_they_say() {
    assert_eq!(BUILTIN_PROMPTS.len(), 4);
    for own in BUILTIN_PROMPTS.iter() {
        let used = |text: &str, name: &str| text.contains(&format!("{{{{{name}}}}}"));
        assert!(used(&own.text, &own.required.0), "{}", own.name);
        assert!(used(&own.also, &own.optional.0), "{}", own.name);
        assert_eq!(
            parts(&own.text).len() + parts(&own.also).len(),
            6,
            "{}",
            own.name
        );
    }
}
