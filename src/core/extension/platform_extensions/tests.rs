use super::*;

#[test]
fn what_is_configured_stays_and_the_rest_is_switched_off() {
    let mut config = Map::new();
    config.insert("extensions".into(), json!({"todo": {"enabled": true}}));
    complete(&mut config);
    let section = &config["extensions"];
    assert_eq!(section["todo"], json!({"enabled": true}));
    assert_eq!(section["tom"]["enabled"], false);
    assert_eq!(section.as_object().unwrap().len(), KNOWN.len());
}
