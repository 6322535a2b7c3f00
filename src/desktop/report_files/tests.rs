use super::*;
use std::fs::File;

#[test]
fn the_newest_files_come_first() {
    let folder = std::env::temp_dir().join(format!("gosling-newest-{}", std::process::id()));
    fs::create_dir_all(folder.join("d")).unwrap();
    let begin = std::time::SystemTime::now();
    for (name, age) in [("b", 20), ("c", 10), ("a", 30)] {
        let file = File::create(folder.join(name)).unwrap();
        file.set_modified(begin - std::time::Duration::from_secs(age))
            .unwrap();
    }
    let found = |count| {
        newest(&folder, count)
            .into_iter()
            .map(|it| it.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(found(9), ["c", "b", "a"]);
    assert_eq!(found(1), ["c"]);
    assert_eq!(newest(&folder, 1)[0].1, folder.join("c"));
    assert!(newest(&folder.join("none"), 1).is_empty());
    fs::remove_dir_all(&folder).unwrap();
}
