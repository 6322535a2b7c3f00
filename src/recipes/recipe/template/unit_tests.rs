use super::*;
use gosling_testing::counting_allocator::peak_bytes;
use serde_json::json;
use std::time::{Duration, Instant};

fn filled(template: &str, values: &[(&str, &str)]) -> Result<String, Error> {
    let texts = values
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let Value::Object(recipe) = json!({ "prompt": template }) else {
        unreachable!()
    };
    let filled = fill_in(&recipe, &texts)?;
    Ok(filled["prompt"].as_str().unwrap().to_owned())
}

#[test]
fn templates_are_filled_in_as_jinja_does() {
    let values = [("name", "Ada"), ("tone", "formal"), ("text", "a\nb")];
    for (template, text) in [
        ("plain", "plain"),
        ("Dear {{ name }}!", "Dear Ada!"),
        (
            "{% if tone == 'formal' %}Dear{% else %}Hi{% endif %} {{ name|upper }}",
            "Dear ADA",
        ),
        (
            "{% for line in text|lines %}- {{ line }}\n{% endfor %}",
            "- a\n- b\n",
        ),
        ("{% set who = name ~ '!' %}{{ who }}", "Ada!"),
        ("{{ text|indent(2) }}", "a\n  b"),
        ("{{ text|lines|join(', ') }}", "a, b"),
        ("{{ name|replace('A', 'I')|length }}", "3"),
        ("{% for i in range(3) %}{{ i }}{% endfor %}", "012"),
        ("{{ nothing|default('-') }}", "-"),
        ("{# a note #}{{ name|title }}", "Ada"),
        ("{% raw %}{{ name }}{% endraw %}", "{{ name }}"),
        ("{{some words}} {{ name }}", "{{some words}} Ada"),
        ("{{#each}} {{ name }}", "{{#each}} Ada"),
    ] {
        assert_eq!(filled(template, &values).as_deref(), Ok(text), "{template}");
    }
    for wrong in [
        "{{ unknown }}",
        "{{ name|nope }}",
        "{% if %}",
        "{% for x in %}",
        "{{ 1 + }",
    ] {
        let error = filled(wrong, &values).unwrap_err();
        assert!(matches!(error, Error::Template(_)), "{wrong}: {error}");
    }
}

#[test]
fn what_is_filled_in_is_no_template() {
    let values = [("name", "{{ name }}{% include '/etc/passwd' %}")];
    let text = filled("{{ name }}", &values).unwrap();
    assert_eq!(text, values[0].1);
}

#[test]
fn nothing_reaches_for_files() {
    for template in [
        "{% include '/etc/passwd' %}",
        "{% extends 'base' %}",
        "{% import 'x' as y %}",
        "{% from 'x' import y %}",
        "{% block a %}{% endblock %}",
    ] {
        assert!(filled(template, &[]).is_err(), "{template}");
    }
}

#[test]
fn hostile_templates_are_refused_at_once() {
    let sets = |step: &str| {
        let steps = (0..60).map(|n| {
            format!(
                "{{% set a{} = {} %}}",
                n + 1,
                step.replace('@', &format!("a{n}"))
            )
        });
        format!(
            "{{% set a0 = 'abc\\\\' %}}{}{{{{ a60 }}}}",
            steps.collect::<String>()
        )
    };
    let deep = |open: &str, close: &str| open.repeat(20_000) + "1" + &close.repeat(20_000);
    let templates = [
        "{% for i in range(10**9) %}x{% endfor %}".to_owned(),
        "{% for i in range(1000000000) %}x{% endfor %}".to_owned(),
        "{% for i in range(1000) %}{% for j in range(1000) %}{% for k in range(1000) %}x{% endfor %}{% endfor %}{% endfor %}".to_owned(),
        "{{ 'a' * 100000000 }}".to_owned(),
        "{{ [1] * 100000000 }}".to_owned(),
        "{{ 'a'|indent(1000000000) }}".to_owned(),
        "{{ ('a' ~ 'a')|replace('', v)|replace('', v)|replace('', v)|replace('', v) }}".to_owned(),
        sets("@ ~ @"),
        sets("@ + @"),
        sets("[@, @]"),
        sets("{'a': @, 'b': @}"),
        sets("[@] ~ ''"),
        sets("@|replace('a', @)"),
        sets("@|join(@)"),
        sets("[@]|safe"),
        sets("[@]|upper"),
        sets("[@]|trim"),
        sets("[[@]]|join"),
        sets("[@]|replace('a', 'b')"),
        sets("@|list|join('ab')"),
        sets("@|lines|indent"),
        sets("[@]|string"),
        sets("[@, @]|join"),
        "{% set a %}x{% endset %}{{ a }}".to_owned(),
        "{% filter upper %}x{% endfilter %}".to_owned(),
        "{% with a = 1 %}{{ a }}{% endwith %}".to_owned(),
        "{% macro a() %}x{% endmacro %}{{ a() }}".to_owned(),
        "{% for x in [v, v] recursive %}{{ loop([x ~ x]) }}{% endfor %}".to_owned(),
        format!("{{{{ {} }}}}", deep("(", ")")),
        format!("{{{{ {} }}}}", deep("[", "]")),
        format!("{{{{ {} }}}}", deep("not ", "")),
        format!("{{{{ {} }}}}", deep("-", "")),
        format!("{{{{ {} }}}}", deep("1+", "")),
        format!("{{{{ v{} }}}}", ".a".repeat(20_000)),
        format!("{{{{ v{} }}}}", "|upper".repeat(20_000)),
        "{% if v %}".repeat(5_000) + &"{% endif %}".repeat(5_000),
        format!("{{% if v %}}{}{{% endif %}}", "{% elif v %}".repeat(5_000)),
        "{{".repeat(60_000),
        "\n".repeat(100_000) + "{{ nothing }}",
        "x".repeat(100_000) + "{{ nothing }}",
        "{{}}".repeat(60_000) + "{{ nothing }}",
        "{% for x in v|list %}{% for y in v|list %}{{ v|upper|lower|upper }}{% endfor %}{% endfor %}".to_owned(),
        "{% for x in v|list %}{% for y in v|list %}{% if v|list == v|list %}{% endif %}{% endfor %}{% endfor %}".to_owned(),
    ];
    let value = "v".repeat(100_000);
    let mut most = 0;
    for template in &templates {
        let start = Instant::now();
        let held = peak_bytes(|| filled(template, &[("v", &value)]));
        most = most.max(held);
        let made = filled(template, &[("v", &value)]);
        let shown: String = template.chars().take(60).collect();
        assert!(made.is_err(), "{shown} made {} bytes", made.unwrap().len());
        let took = start.elapsed();
        assert!(took < Duration::from_secs(20), "{shown} took {took:?}");
    }
    println!("| template | {most} bytes at most |");
    assert!(most < 64 << 20, "{most} bytes");
}

#[test]
fn many_templates_share_one_bound() {
    let heavy = "{% for i in range(1000) %}{{ i }}{% endfor %}";
    let Value::Object(recipe) = json!({ "activities": vec![heavy; 5_000] }) else {
        unreachable!()
    };
    let error = fill_in(&recipe, &BTreeMap::new()).unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
}

#[test]
fn a_recipe_must_not_be_larger_than_its_bound() {
    assert_eq!(filled(&"x".repeat(MAX_FILE + 1), &[]), Err(Error::TooLarge));
    let value = "v".repeat(1 << 20);
    let many = "{{ v }}".repeat(5);
    assert_eq!(filled(&many, &[("v", &value)]), Err(Error::TooLarge));
    assert_eq!(filled("{{ v }}", &[("v", &value)]).unwrap().len(), 1 << 20);
}

#[test]
fn the_names_that_are_used_are_known() {
    let Value::Object(recipe) = json!({
        "title": "{{ a }}",
        "prompt": "{% for x in b|lines %}{{ x ~ loop.index }}{% endfor %}{{ range(2) }}",
        "extensions": [{"cmd": "{{ c }}"}],
        "parameters": [{"description": "as {{ d }}"}],
    }) else {
        unreachable!()
    };
    let names: Vec<_> = variables(&recipe).unwrap().into_iter().collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn every_filter_and_test_of_the_lists_exists_and_no_other_is_accepted() {
    let environment = environment(MIN_SIZE);
    let kind_of = |text: &str| {
        let made = environment.render_str(text, ());
        made.err().map(|error| error.kind())
    };
    for filter in FILTERS {
        let kind = kind_of(&format!("{{{{ 'a' | {filter} }}}}"));
        assert_ne!(kind, Some(ErrorKind::UnknownFilter), "{filter}");
    }
    for test in TESTS {
        let kind = kind_of(&format!("{{{{ 1 is {test} }}}}"));
        assert_ne!(kind, Some(ErrorKind::UnknownTest), "{test}");
    }
    for (text, reason) in [
        ("{{ 'a' | nosuch }}", "no filter `nosuch`"),
        ("{% if 1 is nosuch %}{% endif %}", "no test `nosuch`"),
        ("{% if 1 is not nosuch %}{% endif %}", "no test `nosuch`"),
        ("{{ 'a' | upper | tojson }}", "no filter `tojson`"),
    ] {
        let error = variables_of(&environment, text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    let used = "{{ 'a' | upper }}{% if 1 is not none and 'b' is string %}{% endif %}";
    assert!(variables_of(&environment, used).unwrap().is_empty());
}
