use super::*;
use crate::{ModelConfig, Purpose};

fn adapt(form: &mut RequestForm, status: u16, words: &str) -> Option<String> {
    let request = CompletionRequest {
        model: &ModelConfig::default(),
        system: "",
        messages: &[],
        tools: &[],
        purpose: Purpose::Turn,
        input: 0,
    };
    form.adapt(Refusal { status, words }, &request)
}

#[test]
fn a_parameter_that_is_refused_by_its_name_is_left_out() {
    for (words, parameter) in [
        (
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "temperature",
        ),
        ("`temperature` is deprecated for this model.", "temperature"),
        (
            "Unsupported value: 'temperature' does not support 0.2 with this model.",
            "temperature",
        ),
        ("json: unknown field \"stream_options\"", "stream_options"),
        (
            "Unrecognized request argument supplied: reasoning_effort",
            "reasoning_effort",
        ),
        (
            "stream_options.include_usage: Extra inputs are not permitted",
            "stream_options",
        ),
    ] {
        let mut form = RequestForm::default();
        assert!(adapt(&mut form, 400, words).is_some(), "{words}");
        assert!(!form.accepts(parameter), "{words}");
        // The server still refuses it: leaving it out did not help.
        assert_eq!(adapt(&mut form, 400, words), None);
    }
}

#[test]
fn other_errors_change_nothing() {
    for (status, words) in [
        (400, "the temperature of the sea is 12 degrees"),
        (400, "Unsupported parameter: 'messages[0].temperatures'"),
        (401, "Unsupported parameter: 'temperature'"),
        (500, "Unsupported parameter: 'temperature'"),
        (400, "Unknown model: gpt-9"),
    ] {
        let mut form = RequestForm::default();
        assert_eq!(adapt(&mut form, status, words), None, "{words}");
        assert_eq!(form, RequestForm::default());
    }
}

#[test]
fn the_number_of_models_is_limited() {
    let mut forms = LearnedForms::default();
    for i in 0..MAX_MODELS + 5 {
        let left_out = BTreeSet::from(["temperature"]);
        let form = RequestForm {
            left_out,
            ..RequestForm::default()
        };
        forms.learn(&i.to_string(), form);
    }
    assert!(!forms.of("0").accepts("temperature"));
    assert!(
        forms
            .of(&(MAX_MODELS + 1).to_string())
            .accepts("temperature")
    );
}
