use super::*;
use serde_json::json;

#[test]
fn a_folder_gives_the_named_packages_and_its_other_files_are_left_alone() {
    let folder = std::env::temp_dir().join(format!("gosling-advisories-{}", std::process::id()));
    fs::create_dir_all(folder.join("below")).unwrap();
    let write = |file: &str, ecosystem: &str, name: &str| {
        let package = json!({"ecosystem": ecosystem, "name": name});
        let advisory = json!({"id": format!("MAL-{name}"), "affected": [{"package": package}]});
        fs::write(folder.join(file), advisory.to_string()).unwrap();
    };
    write("a.json", "npm", "a");
    write("b.json", "npm", "b");
    write("below/c.JSON", "npm", "c");
    write("d.json", "PyPI", "a");
    fs::write(folder.join("README.md"), "# Advisories").unwrap();
    let found = find(
        &folder,
        &[(Ecosystem::Npm, "a"), (Ecosystem::Npm, "c")],
        &Cancel::new(),
    );
    let _ = fs::remove_dir_all(&folder);
    let mut names: Vec<_> = found
        .malware
        .iter()
        .map(|it| (it.ecosystem, &*it.name))
        .collect();
    names.sort_unstable();
    assert_eq!(names, [("npm", "a"), ("npm", "c")]);
    assert_eq!(found.fault, None);
}

#[test]
fn all_files_that_cannot_be_read_count_and_some_are_named() {
    let folder = std::env::temp_dir().join(format!("gosling-unread-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for n in 0..=MAX_FAULTS {
        fs::write(folder.join(format!("{n}.json")), "no JSON").unwrap();
    }
    let mut imported = Imported::default();
    let read = imported.read_folder(&folder, MAX_DEPTH, &mut || Ok(()), &|_| true);
    let _ = fs::remove_dir_all(&folder);
    assert_eq!(read, Ok(()));
    assert_eq!(imported.unread, MAX_FAULTS + 1);
    assert_eq!(imported.faults.len(), MAX_FAULTS);
}
