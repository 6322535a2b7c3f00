use super::*;
use serde_json::json;
use std::fs;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, content: &[(&str, &str)]) -> Self {
        let name = format!("gosling-includes-{name}-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        for (name, content) in content {
            let path = folder.0.join("recipes").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    /// The prompt of a recipe with this template, where `who` is Ada.
    fn made(&self, prompt: &str) -> Result<String, String> {
        let recipe = json!({"title": "T", "description": "D", "prompt": prompt, "parameters": [
            {"key": "who", "input_type": "string", "requirement": "required", "description": ""},
        ]});
        let recipe: Recipe = serde_json::from_value(recipe).unwrap();
        let recipe = recipe.with_includes(&self.0.join("recipes"));
        let recipe = recipe.map_err(|error| error.to_string())?;
        let values = json!({"who": "Ada"}).as_object().unwrap().clone();
        let rendered = recipe.render(&values, &self.0);
        let rendered = rendered.map_err(|error| error.to_string())?;
        Ok(rendered.fields().prompt.clone().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_text_of_a_file_takes_the_place_of_its_tag() {
    let folder = Folder::new(
        "text",
        &[
            ("greeting.md", "Hello {{ who }}!\n"),
            ("more/outer.md", "<{% include \"more/inner.md\" %}>\n\n"),
            ("more/inner.md", "{% if who %}in{% endif %}"),
        ],
    );
    for (template, made) in [
        ("{% include \"greeting.md\" %} Bye.", "Hello Ada! Bye."),
        ("a {%- include './greeting.md' -%} b", "aHello Ada!b"),
        ("{% include 'more/outer.md' %}", "<in>\n"),
        (
            "{% for x in range(2) %}{% include 'greeting.md' %}{% endfor %}",
            "Hello Ada!Hello Ada!",
        ),
        (
            "{% raw %}{% include 'no' %}{% endraw %}",
            "{% include 'no' %}",
        ),
    ] {
        assert_eq!(folder.made(template).as_deref(), Ok(made), "{template}");
    }
}

#[test]
#[cfg(unix)] // Wine makes no symbolic links.
fn only_files_below_the_folder_are_included() {
    let folder = Folder::new(
        "outside",
        &[
            ("../secret", "secret"),
            ("a.md", "a"),
            ("self.md", "{% include 'self.md' %}"),
            ("open.md", "{% if who %}"),
            ("close.md", "{% endif %}"),
            ("folder/x", ""),
        ],
    );
    let recipes = folder.0.join("recipes");
    std::os::unix::fs::symlink("../secret", recipes.join("link")).unwrap();
    std::os::unix::fs::symlink("..", recipes.join("up")).unwrap();
    let absolute = format!("{{% include '{}' %}}", recipes.join("a.md").display());
    for (template, reason) in [
        ("{% include '../secret' %}", "below the recipe's folder"),
        (
            "{% include 'folder/../../secret' %}",
            "below the recipe's folder",
        ),
        ("{% include '/etc/passwd' %}", "below the recipe's folder"),
        (&absolute, "below the recipe's folder"),
        ("{% include '' %}", "below the recipe's folder"),
        ("{% include 'link' %}", "leads out"),
        ("{% include 'up/secret' %}", "leads out"),
        ("{% include 'absent.md' %}", "\"absent.md\": No such file"),
        ("{% include 'folder' %}", "\"folder\""),
        ("{% include 'self.md' %}", "too deep"),
        ("{% include 'open.md' %}x{% endif %}", "\"open.md\""),
        ("{% if who %}{% include 'close.md' %}", "\"close.md\""),
        ("{% include who %}", "one file"),
        ("{% include ['a.md'] %}", "one file"),
        ("{% include 'a.md' ignore missing %}", "one file"),
        ("{% extends 'a.md' %}", "extends"),
        ("{% import 'a.md' as a %}", "import"),
    ] {
        let error = folder.made(template).unwrap_err();
        assert!(error.contains(reason), "{template}: {error}");
        assert!(!error.contains("root:"), "{error}");
    }
}

#[test]
fn the_number_and_the_size_of_files_are_limited() {
    let large = "x".repeat(MAX_FILE / 2);
    let folder = Folder::new("limits", &[("a", "a"), ("large", &large)]);
    let many = "{% include 'a' %}";
    assert!(
        folder
            .made(&format!("{{{{ who }}}}{}", many.repeat(50)))
            .is_ok()
    );
    assert!(folder.made(&many.repeat(MAX_FILES + 1)).is_err());
    assert!(folder.made(&"{% include 'large' %}".repeat(3)).is_err());
}
