use super::*;
use serde_json::json;

fn recipe(input_type: &str, more: Value) -> Recipe {
    let mut parameter = json!({
        "key": "v", "input_type": input_type, "requirement": "required", "description": "",
    });
    for (key, value) in more.as_object().unwrap() {
        parameter[key] = value.clone();
    }
    serde_json::from_value(json!({
        "title": "T", "description": "D", "instructions": "{{ v }}", "prompt": "go",
        "activities": ["do {{ v }}"], "parameters": [parameter],
    }))
    .unwrap()
}

fn rendered(recipe: &Recipe, value: Value) -> Result<String, String> {
    let values = Map::from_iter([("v".to_owned(), value)]);
    let rendered = recipe.render(&values, Path::new("/work"));
    let rendered = rendered.map_err(|error| error.to_string())?;
    assert_eq!(
        rendered.fields().activities,
        [format!(
            "do {}",
            rendered.fields().instructions.as_ref().unwrap()
        )]
    );
    assert_eq!(rendered.fields().prompt.as_deref(), Some("go"));
    Ok(rendered.fields().instructions.clone().unwrap())
}

#[test]
fn values_take_the_type_of_their_parameter() {
    let select = json!({"options": ["a", "b"]});
    for (input_type, value, text) in [
        ("string", json!(" x "), Some(" x ")),
        ("string", json!(5), Some("5")),
        ("string", json!(["x"]), None),
        ("number", json!("4.5 "), Some("4.5")),
        ("number", json!(-3), Some("-3")),
        ("number", json!("four"), None),
        ("number", json!("inf"), None),
        ("boolean", json!(true), Some("true")),
        ("boolean", json!("False"), Some("false")),
        ("boolean", json!("maybe"), None),
        ("date", json!("2024-02-29"), Some("2024-02-29")),
        ("date", json!("2023-02-29"), None),
        ("date", json!("2023-13-01"), None),
        ("date", json!("1.2.2023"), None),
        ("select", json!("b"), Some("b")),
        ("select", json!("c"), None),
    ] {
        let made = rendered(&recipe(input_type, select.clone()), value.clone());
        match text {
            Some(text) => assert_eq!(made.as_deref(), Ok(text), "{input_type} {value}"),
            None => assert!(
                made.unwrap_err().contains("the parameter `v`"),
                "{input_type} {value}"
            ),
        }
    }
}

#[test]
fn every_missing_value_is_named() {
    let recipe: Recipe = serde_json::from_value(json!({
        "title": "T", "description": "D", "prompt": "{{ a }}{{ b }}{{ c }}",
        "parameters": [
            {"key": "a", "input_type": "string", "requirement": "required", "description": ""},
            {"key": "b", "input_type": "string", "requirement": "optional", "description": "", "default": "x"},
            {"key": "c", "input_type": "string", "requirement": "user_prompt", "description": ""},
        ],
    }))
    .unwrap();
    let keys = vec!["a".to_owned(), "c".to_owned()];
    let none = Map::from_iter([("c".to_owned(), Value::Null)]);
    assert_eq!(
        recipe.render(&none, Path::new("/")),
        Err(Error::Missing(keys))
    );
    let all = json!({"a": "1", "c": "3", "z": "ignored"});
    let rendered = recipe
        .render(all.as_object().unwrap(), Path::new("/"))
        .unwrap();
    assert_eq!(rendered.fields().prompt.as_deref(), Some("1x3"));
}

#[test]
fn a_file_parameter_brings_in_what_the_file_says() {
    let folder = std::env::temp_dir().join(format!("gosling-values-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("note"), "{{ not a template }}").unwrap();
    std::fs::write(folder.join("bytes"), [0xff, 0xfe]).unwrap();
    std::fs::write(folder.join("large"), vec![b'x'; MAX_VALUES + 1]).unwrap();
    let recipe = recipe("file", json!({}));
    let read = |name: &str| {
        let values = Map::from_iter([("v".to_owned(), json!(name))]);
        recipe
            .render(&values, &folder)
            .map(|it| it.fields().instructions.clone().unwrap())
    };
    assert_eq!(read("note").as_deref(), Ok("{{ not a template }}"));
    let absolute = folder.join("note");
    assert!(read(absolute.to_str().unwrap()).is_ok());
    for (name, reason) in [
        ("bytes", "is not text in UTF-8"),
        ("large", "is larger than 1 MiB"),
        ("absent", "cannot read"),
        (".", "is not a regular file"),
    ] {
        let error = read(name).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_default_of_a_file_parameter_is_not_read() {
    let recipe = recipe("file", json!({"default": "/etc/passwd"}));
    let keys = vec!["v".to_owned()];
    let rendered = recipe.render(&Map::new(), Path::new("/"));
    assert_eq!(rendered, Err(Error::Missing(keys)));
}

#[test]
fn a_session_shows_its_recipe_filled_in_once_it_can() {
    let mut session = Session {
        working_dir: "/work".into(),
        recipe: Some(recipe("string", json!({})).into_value()),
        ..Session::default()
    };
    assert_eq!(of_session(&session).unwrap(), None);
    assert_eq!(apply(&session).unwrap(), session.recipe);
    session.user_recipe_values = Some(Map::from_iter([("v".to_owned(), json!("x"))]));
    assert_eq!(apply(&session).unwrap().unwrap()["instructions"], "x");
    session.recipe = None;
    assert_eq!(apply(&session).unwrap(), None);
}
