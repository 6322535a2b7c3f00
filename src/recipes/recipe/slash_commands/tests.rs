use super::*;
use crate::agent::command_list::{CommandType, list, recipe_of};
use gosling_core::part;
use std::fs;

#[test]
fn recipes_have_the_commands_that_the_setting_gives_them() {
    let folder = std::env::temp_dir().join(format!("gosling-slash-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let recipe = folder.join("standup.yaml");
    fs::write(
        &recipe,
        "title: Standup notes\ndescription: D\nprompt: go\n",
    )
    .unwrap();
    let path = recipe.display();
    let setting = format!(
        "slash_commands:\n- {{command: /Standup, recipe_path: {path}}}\n\
         - {{command: gone, recipe_path: /nowhere.yaml}}\n\
         - {{command: clear, recipe_path: {path}}}\n- nonsense\n- {{command: half}}\n"
    );
    fs::write(folder.join("config.yaml"), setting).unwrap();
    let config = Config::with_env(folder.join("config.yaml"), Box::new(|_| None));

    part::set(&[&crate::PART]);
    let listed = list(&config).unwrap();
    let names: Vec<_> = listed.iter().map(|it| it.command.as_str()).collect();
    assert_eq!(
        names,
        ["prompts", "prompt", "compact", "clear", "standup", "gone"]
    );
    assert_eq!(listed[4].help, "Standup notes");
    assert_eq!(listed[4].command_type, CommandType::Recipe);

    let found = |command: &str| recipe_of(&config, command).unwrap();
    assert_eq!(found("/STANDUP").as_ref(), Some(&recipe));
    assert_eq!(found("clear"), None);
    assert_eq!(found("unknown"), None);
    let gone = message(&found("gone").unwrap(), Vec::new(), &folder);
    assert!(matches!(gone, Err(Error::File { .. })));
    assert_eq!(message(&recipe, Vec::new(), &folder).as_deref(), Ok("go"));
    fs::remove_dir_all(&folder).unwrap();
}
