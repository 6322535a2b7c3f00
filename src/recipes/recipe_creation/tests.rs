use super::*;

#[test]
fn what_the_model_says_is_a_recipe_without_templates() {
    let answer = "<think>{}</think>Here:\n```json\n{\"title\": \"A\\n {{ b }}\", \"description\": \"D\", \
                  \"instructions\": \"Say {{{ x }} {% raw %}\\nthen {# y #}\", \"activities\": [\"\", \"go\"]}\n```\n";
    let fields = fields(parse(answer).unwrap());
    assert_eq!(fields["title"], "A { { b }}");
    assert_eq!(
        fields["instructions"],
        "Say { { { x }} { % raw %}\nthen { # y #}"
    );
    assert_eq!(fields["activities"], json!(["go"]));
    Recipe::from_object(fields).unwrap().check().unwrap();
    for answer in [
        "",
        "{",
        "}{",
        "no",
        "{\"title\": 1}",
        "<think>{\"title\": \"T\"}",
    ] {
        assert!(parse(answer).is_none(), "{answer}");
    }
}

#[test]
fn values_that_may_be_secret_are_not_passed_on() {
    let extension = json!({"type": "stdio", "name": "a", "cmd": "a", "env_keys": ["B"],
        "envs": {"A": "secret", "B": "secret"}, "headers": {"x": "secret", "y": "Bearer ${T}"}});
    let expected = json!({"type": "stdio", "name": "a", "cmd": "a", "env_keys": ["B", "A"],
        "headers": {"y": "Bearer ${T}"}});
    assert_eq!(without_values(&extension), expected);
}
