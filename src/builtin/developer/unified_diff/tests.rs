use super::*;

fn applied(text: &str, diff: &str) -> Result<String, String> {
    let patches = parse(diff)?;
    patches[0].apply(text).map(|(text, ..)| text)
}

#[test]
fn hunks_are_applied_where_they_say_or_near_it() {
    let diff = "--- a/x\n+++ b/x\n@@ -2,2 +2,3 @@ fn\n b\n-c\n+C\n+D\n@@ -6 +7 @@\n-f\n+F\n";
    assert_eq!(
        applied("a\nb\nc\nd\ne\nf\n", diff).unwrap(),
        "a\nb\nC\nD\nd\ne\nF\n"
    );
    let later = "x\ny\nz\na\nb\nc\nd\ne\nf\n";
    assert_eq!(
        applied(later, diff).unwrap(),
        "x\ny\nz\na\nb\nC\nD\nd\ne\nF\n"
    );
    let error = applied("a\nb\nd\n", diff).unwrap_err();
    assert!(
        error.contains("hunk 1") && error.contains("\"b\""),
        "{error}"
    );
    let patches = parse(diff).unwrap();
    assert_eq!(patches[0].apply("a\nb\nc\nd\ne\nf\n").unwrap().1, 2);
}

#[test]
fn the_nearest_of_several_places_is_taken() {
    let diff = "@@ -5,1 +5,1 @@\n-x\n+y\n";
    assert_eq!(
        applied("x\nx\nx\nx\nx\nx\n", diff).unwrap(),
        "x\nx\nx\nx\ny\nx\n"
    );
}

#[test]
fn a_hunk_that_names_a_line_beyond_any_file_is_applied_where_it_matches() {
    for line in [u64::MAX, 1 << 63, (1 << 63) + 1] {
        let diff = format!("@@ -{line} +1 @@\n-a\n+A\n@@ -{line} +1 @@\n-b\n+B\n");
        assert_eq!(applied("a\nb\n", &diff).unwrap(), "A\nB\n");
    }
}

#[test]
fn no_hunk_is_looked_for_without_end() {
    let text = "x\n".repeat(200_000);
    let old = "-x\n".repeat(99_999);
    let diff = format!("@@ -1,100000 +1,0 @@\n{old}-y\n");
    assert!(applied(&text, &diff).unwrap_err().contains("hunk 1"));
}

#[test]
fn files_are_made_and_removed() {
    let diff = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+one\n+two\n\
                --- a/o\t2024-01-01\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    let patches = parse(diff).unwrap();
    let names = |p: &FilePatch| (p.old.clone(), p.new.clone());
    assert_eq!(names(&patches[0]), (None, Some("b/n".to_owned())));
    assert_eq!(names(&patches[1]), (Some("a/o".to_owned()), None));
    assert_eq!(patches[0].apply("").unwrap().0, "one\ntwo\n");
    assert_eq!(patches[1].apply("gone\n").unwrap().0, "");
}

#[test]
fn the_last_line_break_is_as_the_diff_says() {
    let adds = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
    assert_eq!(applied("a", adds).unwrap(), "a\n");
    let drops = "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
    assert_eq!(applied("a\n", drops).unwrap(), "b");
    let other = "@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(applied("a\nz", other).unwrap(), "b\nz");
}

#[test]
fn what_is_no_diff_says_why() {
    for (bad, says) in [
        ("", "no change"),
        ("hello", "no change"),
        ("--- a\n+++ b\n", "no change"),
        ("--- a\nx", "without"),
        ("@@ nonsense @@\n", "hunk header"),
        ("@@ -1,2 +1,2 @@\n a\n*b\n", "neither"),
        ("@@ -1,1 +1,1 @@\n\\ No newline\n", "no line"),
        (
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
            "chmod",
        ),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", "copies"),
        (
            "diff --git a/x b/x\nnew file mode 120000\n",
            "something else",
        ),
        ("diff --git a/x b/x\nindex 1..2 100644\n", "no change"),
        ("@@ -1,2 +1,2 @@\n\n", "no lines"),
    ] {
        let error = parse(bad).unwrap_err();
        assert!(error.contains(says), "{bad:?}: {error}");
    }
    let huge = format!("@@ -{0},1 +{0},1 @@\n-a\n+b\n", usize::MAX);
    assert_eq!(applied("a\n", &huge).unwrap(), "b\n");
    assert!(applied("", "@@ -18446744073709551615,0 +1,1 @@\n+b\n").is_err());
}

#[test]
fn miscounted_hunks_are_taken_whole() {
    let text = "a\nb\nc\n";
    for (counts, says) in [
        ("-1,1 +1,1", "too few"),
        ("-1,9 +1,9", "too many"),
        ("-1,2 +1,1", "too few new"),
        ("-1,3 +1,5", "right"),
    ] {
        let hunk = format!("@@ {counts} @@\n-a\n+A\n+AA\n b\n+B\n c\n");
        for behind in ["", "\n\n", "-- \n2.39.5\n\n"] {
            let diff = format!("--- a/x\n+++ b/x\n{hunk}{behind}");
            assert_eq!(applied(text, &diff).unwrap(), "A\nAA\nb\nB\nc\n", "{says}");
        }
        let two = format!("{hunk}\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+z\n");
        let patches = parse(&two).unwrap();
        assert_eq!(patches.len(), 2);
        assert_eq!(patches[1].apply("a\n").unwrap().0, "z\n");
    }
    // A line that looks like a header is part of the hunk if the counts say so.
    let dashes = "@@ -1,2 +1,2 @@\n--- a\n+++ b\n x\n";
    assert_eq!(applied("-- a\nx\n", dashes).unwrap(), "++ b\nx\n");
}

#[test]
fn git_says_more_than_hunks() {
    let diff = "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n\
                diff --git a/gone b/gone\ndeleted file mode 100644\n\
                diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+ls\n\
                diff --git a/x y b/z\nsimilarity index 100%\nrename from x y\nrename to z\n\
                diff --git \"a/\\303\\274\" \"b/\\303\\274\"\n--- \"a/\\303\\274\"\n+++ \"b/\\303\\274\"\n@@ -1 +1 @@\n-a\n+b\n";
    let short = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\
                 diff --git a/y b/y\n@@ -1 +1 @@\n-c\n+d\n";
    let patches = parse(short).unwrap();
    assert_eq!(patches[1].new.as_deref(), Some("b/y"));
    assert_eq!(patches[1].apply("c\n").unwrap().0, "d\n");
    let patches = parse(diff).unwrap();
    let all: Vec<_> = patches
        .iter()
        .map(|p| {
            (
                p.old.as_deref(),
                p.new.as_deref(),
                p.is_renamed,
                p.is_executable,
            )
        })
        .collect();
    assert_eq!(
        all,
        [
            (None, Some("b/empty"), false, false),
            (Some("b/gone"), None, false, false),
            (None, Some("b/run.sh"), false, true),
            (Some("x y"), Some("z"), true, false),
            (Some("a/ü"), Some("b/ü"), false, false),
        ]
    );
}

#[test]
fn lines_end_as_they_did() {
    let diff = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c\n";
    assert_eq!(
        applied("a\r\nb\nc\r\nd\r\n", diff).unwrap(),
        "a\r\nB\nBB\nc\r\nd\r\n"
    );
    assert_eq!(
        applied("a\nb\nc\nd\r\n", diff).unwrap(),
        "a\nB\nBB\nc\nd\r\n"
    );
    assert_eq!(applied("a\r\nb\r\nc", diff).unwrap(), "a\r\nB\r\nBB\r\nc");
    // The line ends of a diff that was sent with CR LF do not count.
    let sent = diff.replace('\n', "\r\n");
    assert_eq!(applied("a\nb\nc\n", &sent).unwrap(), "a\nB\nBB\nc\n");
    // The form that git writes.
    let exact = "@@ -1,3 +1,4 @@\n a\r\n-b\n+B\r\n+BB\n c\r\n";
    assert_eq!(
        applied("a\r\nb\nc\r\n", exact).unwrap(),
        "a\r\nB\r\nBB\nc\r\n"
    );
    assert_eq!(applied("a\nb\nc\n", exact).unwrap(), "a\nB\nBB\nc\n");
    let new = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\r\n";
    assert_eq!(applied("", new).unwrap(), "n\r\n");
}
