use super::*;

#[test]
fn a_category_is_a_name_and_never_a_path() {
    for name in ["a", "two words", "a.b", "C++", "naïve", " trimmed "] {
        assert_eq!(Category::named(name).unwrap().name(), name.trim());
    }
    let long = "x".repeat(MAX_NAME + 1);
    let wide = "𝔵".repeat(60);
    for name in [
        "",
        " ",
        ".",
        "..",
        ".hidden",
        "a.",
        "a/b",
        "/etc/passwd",
        "..\\x",
        "c:x",
        "*",
        "a\0",
        "a\nb",
        &long,
        &wide,
    ] {
        let error = Category::named(name).unwrap_err();
        assert!(error.starts_with("The category"), "{error}");
    }
    for device in ["nul", "COM1", "aux.notes"] {
        assert_eq!(Category::named(device).is_err(), cfg!(windows), "{device}");
    }
}

#[test]
fn a_folder_that_another_process_makes_at_the_same_moment_is_used() {
    let root = std::env::temp_dir().join(format!("gosling-memory-{}", std::process::id()));
    for round in 0..2_000 {
        let project = root.join(round.to_string());
        fs::create_dir_all(&project).unwrap();
        let folder = CategoryFolder::local(&project);
        std::thread::scope(|scope| {
            let maker = scope.spawn(|| files::ensure_dir(&folder.dir).unwrap());
            while !maker.is_finished() {
                folder.exists().unwrap();
            }
        });
        assert!(folder.exists().unwrap());
    }
    fs::remove_dir_all(&root).unwrap();
}
