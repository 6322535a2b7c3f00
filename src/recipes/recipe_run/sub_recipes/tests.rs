use super::*;
use std::fs;

#[test]
fn the_model_is_told_what_each_sub_recipe_is_for() {
    let root = std::env::temp_dir().join(format!("gosling-told-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    let parameter = |key: &str, requirement: &str| {
        json!({
            "key": key, "input_type": "string", "requirement": requirement,
            "description": format!("about {key}"), "default": "d",
        })
    };
    let scan = json!({
        "title": "T", "description": "looks everywhere", "prompt": "{{ a }}{{ b }}{{ c }}",
        "parameters": [
            parameter("a", "required"), parameter("b", "optional"), parameter("c", "required"),
        ],
    });
    fs::write(root.join("scan.yaml"), scan.to_string()).unwrap();
    let list: Vec<SubRecipe> = crate::json::from_value(&json!([
        {"name": "scan", "path": "scan.yaml", "values": {"c": 1},
         "sequential_when_repeated": true},
        {"name": "gone", "path": "gone.yaml", "description": "vanished"},
    ]))
    .unwrap();
    let mut session = Session::default();
    session.extension_data.set_recipe_origin(&RecipeOrigin {
        folder: Some(root.clone()),
        trusted: false,
    });
    let nesting = Nesting::default();
    let tool = SubRecipes::of(&session, &list, &nesting).unwrap().tool();
    fs::remove_dir_all(&root).unwrap();
    let told = tool["description"].as_str().unwrap();
    let tasks = told.split_once("Tasks:").unwrap().1;
    assert_eq!(
        tasks,
        "\n- scan: looks everywhere [several calls run one after the other]\
         \n  - `a` (required) about a\n  - `b` (optional) about b\
         \n- gone: cannot be used, as its file cannot be read"
    );
    let names = &tool["inputSchema"]["properties"]["subrecipe"]["enum"];
    assert_eq!(*names, json!(["scan", "gone"]));
    let nesting = Nesting {
        depth: MAX_DEPTH,
        ..Nesting::default()
    };
    assert!(SubRecipes::of(&session, &list, &nesting).is_none());
}

#[test]
#[cfg(unix)] // Wine makes no symbolic links.
fn files_of_an_untrusted_recipe_are_below_its_folder() {
    let root = std::env::temp_dir().join(format!("gosling-sub-{}", std::process::id()));
    let folder = root.join("recipes");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("sub/a.yaml"), "").unwrap();
    fs::write(root.join("b.yaml"), "").unwrap();
    std::os::unix::fs::symlink(root.join("b.yaml"), folder.join("link.yaml")).unwrap();
    let outside = root.join("b.yaml");
    let found = |path: &str, trusted: bool, folder: Option<&PathBuf>| {
        let origin = RecipeOrigin {
            folder: folder.cloned(),
            trusted,
        };
        locate(path, &origin, &root).is_ok()
    };
    let here = Some(&folder);
    for (path, if_untrusted) in [
        ("sub/a.yaml", true),
        ("./sub/../sub/a.yaml", true),
        ("../b.yaml", false),
        ("link.yaml", false),
        (outside.to_str().unwrap(), false),
    ] {
        assert!(found(path, true, here), "{path}");
        assert_eq!(found(path, false, here), if_untrusted, "{path}");
    }
    assert!(!found("absent.yaml", true, here));
    assert!(found("b.yaml", true, None) && !found("b.yaml", false, None));
    fs::remove_dir_all(&root).unwrap();
}
