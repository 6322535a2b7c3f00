use super::*;
use crate::agent::prompt_templates::Prompts;
use gosling_core::part;

fn folder(name: &str) -> PathBuf {
    part::set(&[&crate::PART]);
    std::env::temp_dir().join(format!("gosling-{name}-{}", std::process::id()))
}

#[test]
fn every_default_is_a_template_of_itself() {
    let folder = folder("default-prompts");
    let prompts = Prompts::new(&folder);
    let own = UserPrompts(prompts.folder());
    let listed = own.list();
    assert_eq!(listed.last().unwrap().name, "recipe.md");
    let made = || {
        let others = all().filter(|kind| kind.file != SYSTEM.file);
        let made = others.map(|kind| prompts.text(kind, &json!({ "messages": MESSAGES })));
        made.collect::<Vec<String>>()
    };
    let defaults = made();
    for prompt in listed {
        own.save(prompt.name, &prompt.default_content).unwrap();
        assert!(own.get(prompt.name).unwrap().is_customized);
    }
    assert_eq!(made(), defaults);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_default_template_makes_the_default_system_prompt() {
    let folder = folder("system-prompt");
    let (default, own) = (Prompts::new(&folder.join("none")), Prompts::new(&folder));
    let files = UserPrompts(own.folder());
    let system = files.get("system.md").unwrap();
    files.save("system.md", &system.default_content).unwrap();
    let extensions = [
        ("files", "Read before you write.\n\n{{ no }}"),
        ("clock", ""),
    ];
    for mode in [Mode::Auto, Mode::Approve, Mode::SmartApprove, Mode::Chat] {
        for extensions in [&extensions[..], &[]] {
            let parts = Parts {
                date: "2026-11-22",
                working_dir: "/home/ada/<b>",
                os: "linux",
                extensions,
                hints: "Use tabs.",
                recipe_instructions: Some("Be brief"),
                mode,
            };
            assert_eq!(own.system(&parts), default.system(&parts));
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}
