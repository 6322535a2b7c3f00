use super::*;
use gosling_testing::arbitrary::{Result, Unstructured};
use gosling_testing::property_testing::check;
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn rules(text: &str) -> Gitignore {
    let mut rules = Gitignore::new(Some(Path::new("/w")));
    for line in lines(text.as_bytes()) {
        let _ = rules.add(line);
    }
    rules
}

/// Whether the pattern matches the path, which is a folder if it ends with a slash.
fn matches(pattern: &str, path: &str) -> bool {
    let name = path.strip_suffix('/').unwrap_or(path);
    let rules = rules(pattern);
    rules.matched(Path::new(name), name != path).is_some()
}

#[test]
fn patterns_match_what_the_manual_says() {
    for (pattern, yes, no) in [
        ("a", "a|x/a|x/y/a|a/", "ab|a/b|A"),
        ("/a", "a|a/", "x/a"),
        ("a/", "a/|x/a/", "a|x/a"),
        ("a/b", "a/b|a/b/", "x/a/b|a/b/c"),
        ("/a/b/", "a/b/", "a/b"),
        ("*.o", ".o|a.o|x/a.b.o", "a.o.x|o"),
        ("a*b*c", "abc|axbybzc|abcbc", "ab|acb"),
        ("a?c", "abc|x/a.c", "ac|abbc"),
        ("x/*.o", "x/a.o", "x/y/a.o|a.o"),
        ("x/*/b", "x/y/b", "x/b|x/y/z/b"),
        ("**/a", "a|x/a|x/y/a", "ab|a/x"),
        ("**/a/b", "a/b|x/a/b|a/a/b", "a|b|a/x/b"),
        ("a/**", "a/b|a/b/c", "a|a/|b/a/c"),
        ("a/**/b", "a/b|a/x/b|a/x/y/b|a/b/b", "a|b|a/b/c"),
        ("a/**/b/**/c", "a/b/c|a/x/b/y/z/c", "a/c|a/x/c"),
        ("**", "a|a/b", ""),
        ("**/", "a/|a/b/", "a|a/b"),
        ("a**b", "ab|axxb|x/ab", "a/b"),
        ("x/a**b", "x/ab|x/a..b", "x/a/b"),
        ("a/***/b", "a/b|a/x/y/b", ""),
        ("[ab]c", "ac|bc", "cc|abc"),
        ("[!a]c|[^a]c", "bc", "ac"),
        ("[a-cx]", "a|b|c|x", "d|-"),
        ("[]a]", "]|a", "["),
        ("[!]a]", "b", "]|a"),
        ("[a-]", "a|-", "b"),
        ("[-a]", "a|-", "b"),
        ("[\\]]", "]", "\\"),
        ("[\\a-\\c]", "a|b|c", "\\"),
        ("[[:digit:]a]", "1|a", ":|d|[|b"),
        ("[![:space:]]", "a", " "),
        ("[[:]", "[|:", "a"),
        ("[[:a]", "[|:|a", "b"),
        ("a[/]b", "", "a/b|ab"),
        ("a[!x]b", "ayb", "a/b"),
        ("[z-a]", "z", "a|b"),
        ("[z-ab]", "b|z", "a|y"),
        ("\\*", "*", "a|\\*"),
        ("\\[a]", "[a]", "a"),
        ("\\a\\/b", "a/b", "ab"),
        ("a\\", "", "a|a\\"),
        ("[a", "", "a|[a"),
        ("[[:nothing:]]", "", "n|[|:"),
        ("{a,b}", "{a,b}", "a|b"),
        ("\\#a", "#a", "a"),
        ("\\!a", "!a", "a"),
        ("#a", "", "#a|a"),
        ("a  ", "a", "a  "),
        ("a\\ ", "a ", "a"),
        ("a\\ \\  ", "a  ", "a"),
        ("a\t", "a\t", "a"),
        ("a//b", "", "a/b"),
        ("a//", "", "a/"),
        ("/", "", "a/"),
        ("//a", "", "a"),
        ("", "", "a"),
        ("!", "", "a"),
        ("ä?", "äx", "ä|ää"),
        ("?", "x", "ä"),
    ] {
        for pattern in pattern.split('|') {
            // No name has a backslash on Windows.
            let is_path = |path: &&str| !(path.is_empty() || cfg!(windows) && path.contains('\\'));
            let split = |text: &'static str| text.split('|').filter(is_path);
            for path in split(yes) {
                assert!(matches(pattern, path), "{pattern:?} is for {path:?}");
            }
            for path in split(no) {
                assert!(!matches(pattern, path), "{pattern:?} is not for {path:?}");
            }
        }
    }
}

#[test]
fn the_last_line_that_matches_counts() {
    let rules = rules("\u{feff}*.key\r\n!open.key\n# *\n\nsecret/");
    let line = |path: &str, is_folder| {
        let rule = rules.matched(Path::new(path), is_folder)?;
        Some((rule.line(), rule.negated))
    };
    assert_eq!(line("a.key", false), Some(("*.key".to_owned(), false)));
    assert_eq!(
        line("x/open.key", false),
        Some(("!open.key".to_owned(), true))
    );
    assert_eq!(line("secret", true), Some(("secret/".to_owned(), false)));
    assert_eq!(line("secret", false), None);
    assert_eq!(line("", true), None);
    assert_eq!(rules.relative(Path::new("/w/a")), Some(Path::new("a")));
    assert_eq!(rules.relative(Path::new("/v/a")), None);
}

#[test]
fn a_line_that_cannot_mean_what_its_author_wanted_says_why() {
    for (line, why) in [
        ("[a", OPEN),
        ("![", OPEN),
        ("x/[!", OPEN),
        ("[a\\", OPEN),
        ("[]", OPEN),
        ("[[:alpha:]", OPEN),
        ("[[:alphabet:]]", UNKNOWN),
        ("[z-a]", REVERSED),
        ("a\\", BACKSLASH),
        ("a\\/", BACKSLASH),
    ] {
        let added = Gitignore::new(None).add(line.as_bytes());
        assert_eq!(added, Err(why), "{line}");
    }
    for line in ["", "#[", "a\\\\", "[a-c-e]", "[\\]]", "]", "{", "\\["] {
        Gitignore::new(None).add(line.as_bytes()).unwrap();
    }
}

#[test]
fn bytes_that_are_not_text_are_bytes_like_others() {
    let mut rules = Gitignore::new(None);
    rules.add(b"a\xff?").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"x/a\xff\xfe"));
        assert!(rules.matched(path, false).is_some());
    }
    assert!(rules.matched(Path::new("a??"), false).is_none());
}

#[test]
fn hostile_patterns_take_no_long() {
    let start = Instant::now();
    let name = "a".repeat(255);
    let path = vec!["a"; 2_000].join("/");
    for (pattern, path) in [
        ("*a".repeat(400) + "b", name.as_str()),
        ("**/a/".repeat(190) + "b", &path),
        ("*/".repeat(400) + "b", &path),
        ("[".repeat(900), &name),
        ("[[:".repeat(300) + "]", &name),
        ("[!b]*".repeat(200) + "b", &name),
        ("x/".to_owned() + &"**/*a".repeat(150), &path),
    ] {
        for _ in 0..10 {
            assert!(!matches(&pattern, path));
        }
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_bracket_with_many_openings_takes_linear_time() {
    let start = Instant::now();
    let pattern = "*[".to_owned() + &"[:".repeat(490) + "x]b";
    let name = "a".repeat(255);
    for _ in 0..200 {
        assert!(!matches(&pattern, &name));
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn no_pattern_makes_it_panic() {
    check(|u| {
        let text: Vec<u8> = u.arbitrary()?;
        let mut rules = Gitignore::new(None);
        for line in lines(&text) {
            let _ = rules.add(line);
        }
        let _ = rules.matched(Path::new("a/[b]/c"), false);
        Ok(())
    });
}

/// The names of files and folders in the tree for `git check-ignore`.
const NAMES: [&str; 14] = [
    "a", "b", "ab", "ba", "aab", ".a", "a.b", "a b", "[", "a]", "-", "*", "\\", "ä",
];
const PIECES: [&str; 36] = [
    "a",
    "b",
    "a",
    "b",
    "ab",
    ".",
    "-",
    "*",
    "*",
    "**",
    "***",
    "?",
    "/",
    "/",
    "/**/",
    "**/",
    "/**",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-b]",
    "[]a]",
    "[[:alpha:]]",
    "[[:",
    "[",
    "]",
    "\\",
    "\\*",
    "\\a",
    "\\/",
    "!",
    " ",
    "\\ ",
    "ä",
    "[a-]",
    "[[:x:]]",
];

fn any_line(u: &mut Unstructured<'_>) -> Result<String> {
    let mut line = String::new();
    for _ in 0..u.int_in_range(1..=5)? {
        line += u.choose(&PIECES)?;
    }
    Ok(line)
}

/// Before 2.53, git matches `a/x/b` with `a**/b`.
fn depends_on_version(line: &str) -> bool {
    let pattern = line.trim_start_matches('!');
    let literal = pattern.find(['*', '?', '[', '\\']).unwrap_or(pattern.len());
    let (before, rest) = pattern.split_at(literal);
    pattern.contains('/') && rest.starts_with("**") && !before.is_empty() && !before.ends_with('/')
}

/// The paths of a small tree, folders first.
fn tree() -> Vec<(String, bool)> {
    let mut paths = Vec::new();
    for outer in NAMES {
        paths.push((outer.to_owned(), true));
        for inner in ["a", "b", "ab"] {
            paths.push((format!("{outer}/{inner}"), true));
            paths.extend(["a", "b", "x"].map(|name| (format!("{outer}/{inner}/{name}"), false)));
        }
        paths.extend(
            NAMES[4..]
                .iter()
                .map(|name| (format!("{outer}/{name}"), false)),
        );
    }
    paths.extend(["x", "aaab", "b.a"].map(|name| (name.to_owned(), false)));
    paths
}

/// Whether the rules ignore `path` or a folder above it.
fn decided<'r>(rules: &'r Gitignore, path: &str, is_folder: bool) -> Option<&'r Rule> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    let folders = ends.filter_map(|end| rules.matched(Path::new(&path[..end]), true));
    let mut ignored = folders.filter(|rule| !rule.negated);
    ignored
        .next()
        .or_else(|| rules.matched(Path::new(path), is_folder))
}

/// Compares random patterns with `git check-ignore`. Without git, the test is skipped with a message.
#[test]
fn git_decides_the_same() {
    const FOLDERS: usize = 20;
    let root = std::env::temp_dir().join(format!("gosling-gitignore-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    let git = || {
        let mut git = Command::new("git");
        git.current_dir(&root)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        git
    };
    let made = git().args(["init", "-q"]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("skipped: git cannot be run");
        let _ = fs::remove_dir_all(&root);
        return;
    }
    let tree = tree();
    for folder in 0..FOLDERS {
        for (path, is_folder) in &tree {
            let path = root.join(format!("f{folder}/{path}"));
            if *is_folder {
                fs::create_dir_all(path).unwrap()
            } else {
                fs::write(path, "").unwrap()
            }
        }
    }
    let mut compared = 0;
    check(|u| {
        let mut texts = Vec::new();
        for folder in 0..FOLDERS {
            let mut text = String::new();
            for _ in 0..u.int_in_range(1..=3)? {
                let line = any_line(u)?;
                if !depends_on_version(&line) {
                    text += &line;
                    text.push('\n');
                }
            }
            fs::write(root.join(format!("f{folder}/.gitignore")), &text).unwrap();
            texts.push(text);
        }
        let mut asked = String::new();
        for folder in 0..FOLDERS {
            for (path, _) in &tree {
                asked += &format!("f{folder}/{path}\0");
            }
        }
        let mut child = git()
            .args(["check-ignore", "--stdin", "-z", "-v", "-n", "--no-index"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(asked.as_bytes()));
        let answer = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let answer = String::from_utf8(answer.stdout).unwrap();
        let fields: Vec<_> = answer.split_terminator('\0').collect();
        let mut git_says = HashMap::new();
        for field in fields.chunks(4) {
            git_says.insert(field[3], field[2]);
        }
        for (folder, text) in texts.iter().enumerate() {
            let rules = rules(text);
            for (path, is_folder) in &tree {
                let ours = decided(&rules, path, *is_folder).map(Rule::line);
                let git = git_says[&*format!("f{folder}/{path}")];
                assert_eq!(ours.as_deref().unwrap_or(""), git, "{path:?} with {text:?}");
                compared += 1;
            }
        }
        Ok(())
    })
    .size_min(3_000)
    .size_max(6_000)
    .run();
    println!("{compared} decisions compared");
    fs::remove_dir_all(&root).unwrap();
}
