use super::*;
use serde_json::json;

const RECORDED: &str = concat!(
    r#"{"id":"20261121_1","working_dir":"/w","name":"New Chat","user_set_name":false,"#,
    r#""session_type":"user","created_at":"2026-11-21T22:16:27Z","#,
    r#""updated_at":"2026-11-21T22:16:27Z","#,
    r#""extension_data":{"enabled_extensions.v0":{"extensions":[]}},"#,
    r#""total_tokens":null,"input_tokens":null,"output_tokens":null,"#,
    r#""accumulated_total_tokens":null,"accumulated_input_tokens":null,"#,
    r#""accumulated_output_tokens":null,"schedule_id":null,"recipe":null,"#,
    r#""user_recipe_values":null,"conversation":null,"message_count":0,"#,
    r#""provider_name":null,"model_config":null}"#
);

#[test]
fn has_the_recorded_shape_and_order() {
    let session: Session = serde_json::from_str(RECORDED).unwrap();
    assert_eq!(serde_json::to_string(&session).unwrap(), RECORDED);
    let made = Session {
        id: "20261121_1".into(),
        working_dir: "/w".into(),
        name: "New Chat".into(),
        created_at: "2026-11-21T22:16:27Z".into(),
        updated_at: "2026-11-21T22:16:27Z".into(),
        ..Session::default()
    };
    assert_eq!(serde_json::to_string(&made).unwrap(), RECORDED);
}

#[test]
fn missing_fields_take_their_defaults() {
    let session: Session = serde_json::from_str(r#"{"id":"20261121_1"}"#).unwrap();
    assert_eq!(session.session_type, SessionType::User);
    assert!(session.enabled_extensions().is_empty());
}

#[test]
fn enabling_keeps_what_others_stored() {
    let mut data: ExtensionData = serde_json::from_value(json!({
        "todo.v0": {"content": "x"},
        "enabled_extensions.v0": {"extensions": [1], "later": true},
    }))
    .unwrap();
    data.set_enabled(vec![json!({"name": "a"})]);
    assert_eq!(data.enabled(), [json!({"name": "a"})]);
    assert_eq!(
        serde_json::to_value(&data).unwrap(),
        json!({
            "todo.v0": {"content": "x"},
            "enabled_extensions.v0": {"extensions": [{"name": "a"}], "later": true},
        })
    );
}

#[test]
fn odd_extension_data_is_replaced_only_where_needed() {
    let mut data: ExtensionData =
        serde_json::from_value(json!({"enabled_extensions.v0": 7})).unwrap();
    assert!(data.enabled().is_empty());
    data.set_enabled(vec![json!(1)]);
    assert_eq!(data.enabled(), [json!(1)]);
}

#[test]
fn a_container_that_makes_no_sense_is_not_taken_for_none() {
    let read = |value: serde_json::Value| {
        let data: ExtensionData = serde_json::from_value(value).unwrap();
        data.container()
    };
    for none in [
        json!({}),
        json!({"container.v0": null}),
        json!({"container.v0": {"container_id": null}}),
    ] {
        assert_eq!(read(none), None);
    }
    for odd in [
        json!("box"),
        json!({"id": "box"}),
        json!({"container_id": 7}),
    ] {
        let read = read(json!({"container.v0": odd.clone()}));
        assert_eq!(read, Some(odd.to_string()));
    }
    let mut data = ExtensionData::default();
    let before = data.clone();
    data.set_container(Some("box"));
    assert_eq!(data.container().as_deref(), Some("box"));
    data.set_container(None);
    assert_eq!(data, before);
}
