use super::*;

#[test]
fn what_was_given_comes_back_as_it_was() {
    let given = concat!(
        r#"{"prompt":"go","zebra":{"b":1,"a":null},"title":"T","description":"D","#,
        r#""parameters":[{"key":"k","input_type":"select","requirement":"optional","#,
        r#""description":"","default":3,"options":["3","4"],"hint":"ours"}],"#,
        r#""settings":{"goose_model":"m","temperature":0.5},"activities":null}"#
    );
    let recipe: Recipe = serde_json::from_str(given).unwrap();
    assert_eq!(recipe.to_string(), given);
    assert_eq!(serde_json::to_string(&recipe).unwrap(), given);
    assert_eq!(recipe.clone().into_value().to_string(), given);
    let model = recipe.fields();
    assert_eq!(model.parameters[0].input_type, InputType::Select);
    assert_eq!(model.parameters[0].default.as_deref(), Some("3"));
    let settings = recipe.fields().settings.as_ref().unwrap();
    assert_eq!(settings.goose_model.as_deref(), Some("m"));
    assert_eq!(settings.temperature, Some(0.5));
}

#[test]
fn fields_of_another_type_are_refused_by_name() {
    for (given, reason) in [
        (r#"{"description":"D"}"#, "missing field `title`"),
        (r#"{"title":"T"}"#, "missing field `description`"),
        (r#"{"title":1,"description":"D"}"#, "invalid type"),
        (
            r#"{"title":"T","description":"D","parameters":[{"key":"k","input_type":"colour","requirement":"required","description":""}]}"#,
            "unknown variant `colour`",
        ),
    ] {
        let error = serde_json::from_str::<Recipe>(given).unwrap_err();
        assert!(error.to_string().contains(reason), "{given}: {error}");
    }
}
