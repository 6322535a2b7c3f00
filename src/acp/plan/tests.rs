use super::*;

#[test]
fn items_become_entries_and_the_first_open_one_is_in_progress() {
    let list = "# work\n- [x] a\n  - [ ] b\n* [ ] c\n- [ ]\n- é\n";
    let update = update(list);
    let entries: Vec<_> = update["entries"].as_array().unwrap().iter().collect();
    let shown: Vec<_> = entries
        .iter()
        .map(|entry| (entry["content"].as_str(), entry["status"].as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (Some("a"), Some("completed")),
            (Some("b"), Some("in_progress")),
            (Some("c"), Some("pending"))
        ]
    );
}

#[test]
fn an_empty_list_is_an_empty_plan() {
    assert_eq!(update("")["entries"], json!([]));
}
