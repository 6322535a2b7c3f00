use super::*;
use serde_json::json;
use std::path::PathBuf;

fn in_file(value: Value) -> Given<'static> {
    let file = Some(Path::new("/nonexistent/config.yaml"));
    Given { file, value }
}

fn variable(text: &str) -> Given<'static> {
    Given::of_variable(text)
}

/// What is wrong with the value; `None` if nothing is.
fn wrong(setting: &Setting<'_>, given: &Given<'_>) -> Option<String> {
    setting.fault_of(given).map(|fault| fault.to_string())
}

#[test]
fn names_are_unique_and_defaults_are_right_values() {
    let names: HashSet<_> = ALL.iter().map(|setting| setting.name).collect();
    assert_eq!(names.len(), ALL.len());
    for setting in ALL {
        let default = variable(setting.default);
        assert_eq!(
            wrong(setting, &default).filter(|_| !setting.default.is_empty()),
            None
        );
        assert!(find(setting.name).is_some());
        if let Wrong::Restricts(word) = setting.wrong {
            assert_eq!(wrong(setting, &variable(word)), None);
        }
    }
    assert!(find("GOOSE_NO_SUCH").is_none());
}

#[test]
fn values_are_read_in_every_spelling_that_users_write() {
    let number = |number| Some(Parsed::Number(number));
    let count = |count| Some(Parsed::Count(count));
    let text = |text: &str| Some(Parsed::Text(text.to_owned()));
    for (setting, given, parsed) in [
        (&MAX_TURNS, in_file(json!(10)), count(10)),
        (&MAX_TURNS, in_file(json!("10")), count(10)),
        (&MAX_TURNS, in_file(json!(1e3)), count(1000)),
        (&MAX_TURNS, variable(" 007 "), count(7)),
        (&MAX_TURNS, variable("1e3"), count(1000)),
        (&MAX_TURNS, variable(&u64::MAX.to_string()), count(u64::MAX)),
        (&TEMPERATURE, in_file(json!("0.5")), number(0.5)),
        (&TEMPERATURE, variable("0"), number(0.0)),
        (&MCP_ROOTS, in_file(json!(true)), Some(Parsed::Switch(true))),
        (&MCP_ROOTS, variable("1"), Some(Parsed::Switch(true))),
        (&MCP_ROOTS, variable("FALSE"), Some(Parsed::Switch(false))),
        (
            &MODE,
            variable("Smart_Approve "),
            Some(Parsed::Word("smart_approve")),
        ),
        (
            &TOOL_PINNING,
            in_file(json!(false)),
            Some(Parsed::Word("off")),
        ),
        (&TOOL_PINNING, variable(" "), Some(Parsed::Word(""))),
        (&MODE, variable(""), None),
        (&MODE, in_file(json!(" ")), None),
        (&MODEL, in_file(json!(" m ")), text("m")),
        (&MODEL, in_file(json!(4)), text("4")),
        (&MODEL, variable("4.10"), text("4.10")),
        (&MODEL, variable("\"m\""), text("m")),
        (&MODEL, variable("true"), text("true")),
        (&MODEL, variable(" "), None),
        (&MODEL, variable("null"), None),
    ] {
        let name = setting.name;
        assert_eq!(setting.parse(&given), (parsed, None), "{name} {given:?}");
    }
}

#[test]
fn a_wrong_value_is_named_with_its_place_its_type_and_what_counts() {
    let place = "in /nonexistent/config.yaml is";
    for (setting, given, expected) in [
        (
            &MODEL,
            in_file(json!(4.1)),
            format!("GOOSE_MODEL {place} the number 4.1, but must be text: put it in quotes"),
        ),
        (
            &MODEL,
            in_file(json!(["m"])),
            format!("GOOSE_MODEL {place} a list, but must be text"),
        ),
        (
            &MODEL,
            variable("[\"m\"]"),
            "GOOSE_MODEL in the environment is \"[\\\"m\\\"]\", but must be text".to_owned(),
        ),
        (
            &MAX_TURNS,
            in_file(json!(1.5)),
            format!("GOOSE_MAX_TURNS {place} the number 1.5, but must be a whole number from 0; the default 1000 is used"),
        ),
        (
            &MAX_TOKENS,
            variable("0"),
            "GOOSE_MAX_TOKENS in the environment is \"0\", but must be a whole number from 1; it is not used".to_owned(),
        ),
        (
            &AUTO_COMPACT_THRESHOLD,
            variable("nan"),
            "GOOSE_AUTO_COMPACT_THRESHOLD in the environment is \"nan\", but must be a number from 0 to 1; the \
             default 0.8 is used"
                .to_owned(),
        ),
        (
            &MODE,
            in_file(json!("yolo")),
            format!("GOOSE_MODE {place} \"yolo\", but must be one of auto, approve, smart_approve, chat; `approve` is used"),
        ),
        (
            &ENV_POLICY,
            variable("tidy"),
            "GOOSE_ENV_POLICY in the environment is \"tidy\", but must be one of inherit, clean; `clean` is used"
                .to_owned(),
        ),
    ] {
        assert_eq!(wrong(setting, &given), Some(expected));
    }
}

#[test]
fn a_wrong_value_is_replaced_or_an_error() {
    let config = |name: &'static str, value: &'static str| {
        let env = move |wanted: &str| (wanted == name).then(|| value.to_owned());
        Config::with_env(PathBuf::from("/nonexistent/config.yaml"), Box::new(env))
    };
    assert_eq!(MAX_TURNS.count(&config("GOOSE_MAX_TURNS", "ten")), 1000);
    assert_eq!(MAX_TURNS.count(&config("GOOSE_MAX_TURNS", "10")), 10);
    assert_eq!(
        CONTEXT_LIMIT.count_if_set(&config("GOOSE_CONTEXT_LIMIT", "0")),
        None
    );
    assert_eq!(AUTO_COMPACT_THRESHOLD.number(&config("", "")), Some(0.8));
    assert!(MCP_UI.is_on(&config("GOOSE_MCP_UI", "perhaps")));
    assert!(!MCP_UI.is_on(&config("GOOSE_MCP_UI", "0")));
    assert_eq!(MODE.word(&config("", "")), "auto");
    assert_eq!(MODE.word(&config("GOOSE_MODE", "yolo")), "approve");
    assert_eq!(SCREENING.word(&config("GOOSE_SCREENING", "yes")), "strict");
    assert_eq!(MODEL.text(&config("GOOSE_MODEL", "")).unwrap(), None);
    let error = MODEL.text(&config("GOOSE_MODEL", "{}")).unwrap_err();
    assert!(matches!(error, Error::Setting { .. }), "{error}");
}

#[test]
fn of_a_list_the_right_items_are_used() {
    let names = |value| CONTEXT_FILE_NAMES.parse(&in_file(value));
    let list = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        Some(Parsed::List(names.collect()))
    };
    assert_eq!(names(json!("NOTES.md")), (list(&["NOTES.md"]), None));
    let listed = CONTEXT_FILE_NAMES.parse(&variable("AGENTS.md, CLAUDE.md,"));
    assert_eq!(listed, (list(&["AGENTS.md", "CLAUDE.md"]), None));
    let (some, wrong) = names(json!("A.md,../x"));
    assert_eq!(some, list(&["A.md"]));
    assert!(wrong.is_some_and(|wrong| wrong.contains("../x")));
    let (some, wrong) = names(json!(["CLAUDE.md", "../x", "/etc/passwd", "a/b", "", 3]));
    assert_eq!(some, list(&["CLAUDE.md"]));
    assert_eq!(wrong.as_deref(), Some("has the item \"../x\""));
    assert_eq!(names(json!(["../x"])).0, None);
    let variable = CONTEXT_FILE_NAMES.parse(&variable("[\"A\",\"B\"]"));
    assert_eq!(variable, (list(&["A", "B"]), None));
    let default = CONTEXT_FILE_NAMES.fallback();
    assert_eq!(default, list(&[".goosehints", "AGENTS.md"]));
    let commands = SLASH_COMMANDS.parse(&in_file(json!([
        {"command": "a", "recipe_path": "/a.yaml"}, {"command": "b"}, "c",
    ])));
    let pairs = vec![("a".to_owned(), "/a.yaml".to_owned())];
    assert_eq!(commands.0, Some(Parsed::Pairs(pairs)));
    assert!(commands.1.is_some_and(|wrong| wrong.contains("item 2")));
}

#[test]
fn no_sentence_contains_a_secret() {
    const KEY: Setting<'static> = essential("X_API_KEY", Kind::Secret);
    gosling_testing::property_testing::check(|u| {
        let secret: u64 = u.int_in_range(1_000_000_000..=u64::MAX)?;
        let secret = secret.to_string();
        let begin = *u.choose(&["", "x", "A=", "[", "{\"a\":", "\n"])?;
        let text = format!("{begin}{secret}{}", u.arbitrary::<String>()?);
        for value in [
            json!(text),
            json!([text]),
            json!({"A b": text}),
            json!({"A": [text]}),
            crate::json::from_str(&secret).unwrap_or_default(),
        ] {
            for given in [in_file(value.clone()), variable(&value.to_string())] {
                let wrong = wrong(&KEY, &given).unwrap_or_default();
                assert!(!wrong.contains(&secret), "{wrong}");
            }
        }
        Ok(())
    });
}

#[test]
fn only_names_that_are_nearly_right_are_misspelled() {
    for (name, meant) in [
        ("GOOSE_MDOE", "GOOSE_MODE"),
        ("GOOSE_PROVDER", "GOOSE_PROVIDER"),
        ("goose_mode", "GOOSE_MODE"),
        ("GOOSE_MAX_TURN", "GOOSE_MAX_TURNS"),
        ("GOOSE_MAXTURNS", "GOOSE_MAX_TURNS"),
        ("GOOSE_ALOWLIST", "GOOSE_ALLOWLIST"),
        ("GOOSE_SERVER_SECRET_KEY", "GOOSE_SERVER__SECRET_KEY"),
    ] {
        let fault = misspelled(name, None).expect(name).to_string();
        assert!(fault.contains(&format!("did you mean {meant}?")), "{fault}");
    }
    for name in [
        "GOOSE_MODE",
        "GOOSE_PLANNER_MODEL",
        "GOOSE_TERMINAL",
        "GOOSE_HOME",
        "GOOSE_",
        "MODE",
        "GOOSE_é",
        "GOSLING_MODE",
    ] {
        assert_eq!(misspelled(name, None), None, "{name}");
    }
}
