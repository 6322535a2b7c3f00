use super::*;

#[test]
fn a_name_that_also_belongs_to_a_tool_that_is_not_read_only_is_not_called() {
    let hint = |is_read_only: bool| json!({"readOnlyHint": is_read_only});
    let first = json!({"name": "a", "annotations": hint(true)});
    let second = json!({"name": "b", "annotations": hint(true)});
    let third = json!({"name": "b", "annotations": hint(false)});
    assert_eq!(read_only(&[&first, &second, &third]), [&first]);
    assert_eq!(read_only(&[&first, &second]), [&first, &second]);
}
