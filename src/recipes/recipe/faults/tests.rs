use super::*;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder() -> Folder {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("gosling-faults-{}-{count}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(&path).unwrap();
    Folder(path)
}

/// The faults of a file with this text.
fn faults_of(name: &str, text: &str) -> Vec<String> {
    let folder = folder();
    let path = folder.0.join(name);
    fs::write(&path, text).unwrap();
    let faults = of_file(&path).unwrap();
    // What is called valid can be used.
    if faults.is_empty() {
        library::load(&path).unwrap().check().unwrap();
    }
    faults.iter().map(Fault::to_string).collect()
}

fn yaml(text: &str) -> Vec<String> {
    faults_of("a.yaml", text)
}

const FAULTY: &str = "\
title: T
description: 4.10
prompt: |
  Greet {{ who }}
  on {% if day %}{{ day }}{% endif %}.
parameters:
  - key: who
    input_type: colour
    requirement: required
    description: W
  - key: unused
    input_type: select
    requirement: optional
    description: W
  - {key: n, input_type: number, requirement: optional, description: N, default: many}
activities: [\"{{ n }}\", 7]
extensions:
  - {type: stdio, name: x}
retry:
  max_retries: 0
  checks: []
response:
  json_schema: {type: array}
sub_recipes:
  - {name: a, path: absent.yaml}
  - {name: a, path: ''}
";

#[test]
fn every_fault_is_named_with_its_place() {
    let faults = yaml(FAULTY);
    let expected = [
        "2:14: description: it is not text",
        "5:12: prompt: uses `day`, which `parameters` does not declare",
        "7:5: parameters[0]: unknown variant `colour`",
        "11:5: parameters[1]: `unused` is of type select",
        "11:5: parameters[1]: `unused` is optional and needs a `default`",
        "11:10: parameters[1].key: nothing uses the parameter `unused`",
        "15:82: parameters[2].default: \"many\" is not a number",
        "16:25: activities[1]: ",
        "18:5: extensions[0]: ",
        "20:16: retry.max_retries: it is 0",
        "21:11: retry.checks: there is none",
        "23:16: response.json_schema: the output is the arguments of a tool",
        "25:21: sub_recipes[0].path: ",
        "26:12: sub_recipes[1].name: another sub-recipe has the name `a`",
        "26:21: sub_recipes[1].path: it is empty",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
}

#[test]
fn faults_of_json_have_places_too() {
    let text = "{\"title\": \"T\",\n \"description\": \"D\",\n \"recipe\": 1,\n \"prompt\": \"go {{ \\u0061b }}\",\n\t\"parameters\": [\n\t{\"key\": \"c\"}]}";
    let faults = faults_of("a.json", text);
    assert_eq!(faults.len(), 3, "{faults:#?}");
    assert!(
        faults[0].starts_with("4:12: prompt: uses `ab`"),
        "{faults:#?}"
    );
    assert!(faults[1].starts_with("6:2: parameters[0]: missing field"));
    assert!(faults[2].starts_with("6:10: parameters[0].key: nothing uses"));
}

#[test]
fn valid_recipes_have_no_faults() {
    for text in [
        "title: T\ndescription: D\nprompt: go\n",
        "recipe:\n  title: T\n  description: D\n  instructions: be\n  prompt: null\n",
        "\u{feff}title: T\ndescription: D\nprompt: '{{ recipe_dir }} {{ not a template }}'\n",
        "title: T\ndescription: D\nprompt: '{{ a }}'\nresponse: {json_schema: {type: '{{ a }}'}}\n\
         parameters: [{key: a, input_type: date, requirement: optional, description: '', default: 2026-11-23}]\n",
        "title: T\ndescription: D\nprompt: go\nretry: {max_retries: 1, checks: [{type: shell, command: x}]}\n",
    ] {
        assert_eq!(yaml(text), [""; 0], "{text}");
    }
}

#[test]
fn a_recipe_under_a_key_has_its_places_and_bare_fields() {
    let faults = yaml("recipe:\n  title: T\n  description: [D]\n");
    assert_eq!(
        faults,
        [
            "2:3: `instructions` and `prompt` are missing; write one of them",
            "3:16: description: it is not text",
        ]
    );
}

#[test]
fn syntax_is_a_fault_with_its_place() {
    for (name, text, expected) in [
        ("a.yaml", "title: T\nprompt: [\n", "3:1: "),
        ("a.yaml", "title: T\n- x\n", "2:1: "),
        (
            "a.json",
            "{\"title\": \"T\",\n \"x\" 1}",
            "2:6: expected `:`",
        ),
    ] {
        let faults = faults_of(name, text);
        assert!(faults[0].starts_with(expected), "{faults:?}");
        assert!(!faults[0].contains("at line"), "{faults:?}");
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
}

#[test]
fn templates_that_are_not_valid_are_named_one_by_one() {
    let faults = yaml(
        "title: '{% if %}'\ndescription: D\nprompt: \"{% include 'x' %}\"\nparameters:\n\
         - {key: a, input_type: string, requirement: required, description: ''}\n",
    );
    // Whether a parameter is used is unknown then.
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(faults[0].starts_with("1:8: title: "), "{faults:#?}");
    let reason = faults[1].strip_prefix("3:9: prompt: include of \"x\": ");
    assert!(reason.unwrap().contains("(os error 2)"), "{faults:#?}");
}

#[test]
fn values_that_a_sub_recipe_does_not_take_are_faults() {
    let folder = folder();
    let sub = "title: S\ndescription: D\nprompt: '{{ a }}'\nparameters:\n\
               - {key: a, input_type: string, requirement: required, description: ''}\n";
    fs::write(folder.0.join("sub.yaml"), sub).unwrap();
    let path = folder.0.join("a.yaml");
    let text = "title: T\ndescription: D\nprompt: go\nsub_recipes:\n\
                - {name: s, path: sub.yaml, values: {a: 1, b: 2}}\n";
    fs::write(&path, text).unwrap();
    let faults = of_file(&path).unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(
        faults[0].to_string(),
        "5:47: sub_recipes[0].values.b: the sub-recipe has no parameter `b`"
    );
}

#[test]
fn a_sub_recipe_is_another_recipe_in_the_same_place() {
    let folder = folder();
    let project = folder.0.join(".goose/recipes");
    fs::create_dir_all(&project).unwrap();
    let valid = "title: S\ndescription: D\nprompt: go\n";
    fs::write(folder.0.join("out.yaml"), valid).unwrap();
    fs::write(project.join("in.yaml"), valid).unwrap();
    let path = project.join("a.yaml");
    let with = |subs: &str| {
        let text = format!("{valid}sub_recipes: [{subs}]\n");
        fs::write(&path, text).unwrap();
        let faults = of_file(&path).unwrap();
        faults.iter().map(Fault::to_string).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(with("{name: s, path: in.yaml}"), none);
    for (sub, reason) in [
        ("{name: s, path: a.yaml}", "this recipe itself"),
        ("{name: s, path: ./a.yaml}", "this recipe itself"),
        ("{name: s, path: ../../out.yaml}", "below its folder"),
    ] {
        let faults = with(sub);
        assert!(faults.iter().any(|it| it.contains(reason)), "{faults:?}");
    }
    let many = "{name: s, path: in.yaml}, ".repeat(3_000);
    let start = Instant::now();
    assert!(with(&many).iter().any(|it| it.contains("more than 32")));
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn hostile_files_end_soon_with_few_faults() {
    let many: String = (0..10_000).map(|n| format!("- {{key: k{n}}}\n")).collect();
    let many = format!("title: T\ndescription: D\nprompt: go\nparameters:\n{many}");
    let aliases = format!(
        "title: T\ndescription: D\nprompt: &a \"{}{{{{ x }}}}\"\nactivities: [{}]\n",
        "y".repeat(1_000),
        "*a, ".repeat(1_000)
    );
    for text in [many, aliases] {
        let start = Instant::now();
        let faults = yaml(&text);
        assert!((1..=MAX_FAULTS).contains(&faults.len()), "{}", faults.len());
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}
