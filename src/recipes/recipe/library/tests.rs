use super::*;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> Folder {
    let name = format!("gosling-library-{name}-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(&path).unwrap();
    Folder(fs::canonicalize(path).unwrap())
}

#[test]
fn recipes_are_found_by_where_they_are() {
    let folder = folder("found");
    let write = |name: &str, text: &str| fs::write(folder.0.join(name), text).unwrap();
    write("a.yaml", "title: A\ndescription: D\nprompt: go\n");
    write(
        "b.json",
        r#"{"title": "B", "description": "D", "prompt": "go"}"#,
    );
    write(
        "c.yml",
        "recipe:\n  title: C\n  description: D\n  prompt: go\n",
    );
    write("broken.yaml", "title: [");
    write("other.yaml", "name: no recipe\n");
    write("notes.txt", "title: T\ndescription: D\n");
    let library = Library {
        folders: vec![folder.0.clone(), folder.0.join("absent"), folder.0.clone()],
    };
    let listed = library.list();
    let titles: Vec<_> = listed
        .iter()
        .map(|it| it.recipe.fields().title.as_str())
        .collect();
    assert_eq!(titles, ["A", "B", "C"]);
    for entry in &listed {
        assert_eq!(entry.id.len(), 16);
        let found = library.find(&entry.id).unwrap();
        assert_eq!(found, Some((entry.path.clone(), entry.recipe.clone())));
    }
    assert_eq!(library.find("0000000000000000"), Ok(None));
    let broken = library.find(&id(&folder.0.join("broken.yaml")));
    assert!(matches!(broken, Err(Error::File { .. })), "{broken:?}");
}

#[test]
fn ids_stay_the_same() {
    assert_eq!(
        id(Path::new("/files/a.yaml")),
        id(Path::new("/files/a.yaml"))
    );
    assert_ne!(
        id(Path::new("/files/a.yaml")),
        id(Path::new("/files/b.yaml"))
    );
    assert_eq!(id(Path::new("")), "cbf29ce484222325");
}

#[test]
fn large_and_hostile_files_are_refused_at_once() {
    let folder = folder("hostile");
    let aliases: String = (1..40)
        .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1))
        .collect();
    for (name, text) in [
        (
            "large.yaml",
            format!("title: T\ndescription: {}\n", "x".repeat(MAX_FILE)),
        ),
        ("aliases.yaml", format!("a0: &a0 [x, x]\n{aliases}")),
        ("deep.yaml", format!("a: {}", "[".repeat(100_000))),
        ("deep.json", format!("{{\"a\": {}", "[".repeat(100_000))),
    ] {
        let path = folder.0.join(name);
        fs::write(&path, text).unwrap();
        let start = std::time::Instant::now();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{name}: {error}");
        assert!(start.elapsed().as_secs() < 10, "{name}");
    }
}

#[test]
fn the_file_of_a_new_recipe_is_that_of_no_device() {
    let folder = Path::new("/does/not/exist");
    for (title, name) in [
        ("Con", "con-recipe.yaml"),
        ("Pros and con", "pros-and-con.yaml"),
    ] {
        assert_eq!(unused_path(folder, title), folder.join(name));
    }
}
