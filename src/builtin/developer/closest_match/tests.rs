use super::*;

#[test]
fn a_near_miss_is_pointed_out() {
    let text = "fn main() {\n    let total = add(1, 2);\n    println!(\"{total}\");\n}\n";
    let message = not_found_message(Path::new("/a.rs"), text, "let totl = add(1,2);\n");
    assert!(
        message.contains("line 2, \"    let total = add(1, 2);\""),
        "{message}"
    );
    let message = not_found_message(Path::new("/a.rs"), text, "nothing of the kind");
    assert!(message.contains("view the file"), "{message}");
    let message = not_found_message(
        Path::new("/a.rs"),
        text,
        "fn main() {\n  let total = add(1, 2);\n}\n",
    );
    let says =
        "it matches from line 1 on, but line 2 is \"    let total = add(1, 2);\", not \"  let";
    assert!(message.contains(says), "{message}");
    let message = not_found_message(Path::new("/a.rs"), text, "\n}\nfn more() {\n");
    let says = "line 5 is the end of the file, not \"fn more() {\"";
    assert!(message.contains(says), "{message}");
    // Comparing all lines at all positions would take minutes.
    let text = "x\n".repeat(200_000);
    let old = "x\n".repeat(150_000) + "y";
    let message = not_found_message(Path::new("/a"), &text, &old);
    assert!(
        message.contains("line 150001 is \"x\", not \"y\""),
        "{message}"
    );
    assert!(similarity("", "") == 1.0 && similarity("a", "b") == 0.0);
}
