use super::*;

fn words(command: &str) -> Option<Vec<Word>> {
    words_of(command, &|name| match name {
        "HOME" => Some("/home/me".to_owned()),
        "PWD" => Some("/here".to_owned()),
        _ => None,
    })
}

fn texts(command: &str) -> Vec<String> {
    let words = words(command).expect("the command is not too complex");
    words.into_iter().map(|word| word.text).collect()
}

#[test]
fn words_are_found_however_they_are_written() {
    for (command, expected) in [
        ("cat .env", &["cat", ".env"][..]),
        ("cat<.env>out", &["cat", ".env", "out"]),
        (
            "cat '.env' \".e\"nv .\\env",
            &["cat", ".env", ".env", ".env"],
        ),
        ("a;b|c&&d", &["a", "b", "c", "d"]),
        ("cat .en\\\nv", &["cat", ".env"]),
        ("cat 'open", &["cat", "open"]),
        ("cat '' \"\"", &["cat", "", ""]),
        ("ls # .env\npwd", &["ls", "pwd"]),
        ("echo a#b", &["echo", "a#b"]),
        ("echo $ \"$'\"", &["echo", "$", "$'"]),
        ("echo $'it\\'s'; cat .env", &["echo", "it's", "cat", ".env"]),
        ("cat <<<.env", &["cat", ".env"]),
        ("echo \"$(cat \".env\")\"", &["echo", "cat", ".env", ""]),
        ("echo `cat .env` x", &["echo", "cat", ".env", "x"]),
        ("a$(b (c; d) .env)e f", &["b", "c", "d", ".env", "ae", "f"]),
        ("diff <(cat .env) x", &["diff", "cat", ".env", "x"]),
        (
            "bash -euc 'cat .env'",
            &["bash", "-euc", "cat .env", "cat", ".env"],
        ),
        ("eval \"cat .env\"", &["eval", "cat .env", "cat", ".env"]),
        (
            "case $x in a) cat .env;; esac",
            &["case", "in", "a", "cat", ".env", "esac"],
        ),
        ("cat .{x,e{nv,}}", &["cat", ".e", ".x", ".env", ".x"]),
        ("cat '{a,b}' {} {a}", &["cat", "{a,b}", "{}", "{a}"]),
        ("echo $(echo (x", &["echo", "echo", "x"]),
    ] {
        assert_eq!(texts(command), expected, "{command}");
    }
}

#[test]
fn variables_have_the_value_that_was_assigned_last() {
    for (command, expected) in [
        (
            "cat $HOME/.env ${HOME}x $NONE/y",
            &["cat", "/home/me/.env", "/home/mex", "/y"][..],
        ),
        ("cat $(pwd)/a \"`pwd`/b\"", &["cat", "/here/a", "/here/b"]),
        (
            "F=.env; cat $F \"$F\" '$F'",
            &["F=.env", "cat", ".env", ".env", "$F"],
        ),
        ("F=.env cat ${F}", &["F=.env", "cat", ".env"]),
        (
            "export A=.e B=nv; cat $A$B",
            &["export", "A=.e", "B=nv", "cat", ".env"],
        ),
        ("A=.e; B=${A}nv; cat $B", &["A=.e", "B=.env", "cat", ".env"]),
        ("A=x; A=y; cat $A", &["A=x", "A=y", "cat", "y"]),
        ("L='a .env'; cat $L", &["L=a .env", "cat", "a", ".env"]),
        (
            "E=env; bash -c \"cat .$E\"",
            &["E=env", "bash", "-c", "cat .env", "cat", ".env"],
        ),
        ("cat ${F:-.env}", &["cat", ".env"]),
        ("F=a; cat \"${F:-it's}\" b", &["F=a", "cat", "a", "b"]),
    ] {
        assert_eq!(texts(command), expected, "{command}");
    }
}

#[test]
fn here_documents_are_text() {
    for (command, expected) in [
        (
            "cat > f <<END\nit's .env\nEND\ncat g",
            &["cat", "f", "cat", "g"][..],
        ),
        ("cat <<-'E' x # y\n\t.env\n\tE\nls", &["cat", "x", "ls"]),
        ("cat <<A <<B\na\nA\nb\nB\nls", &["cat", "ls"]),
        ("cat <<E\nopen\n.env", &["cat"]),
        (
            "git commit -m \"$(cat <<'EOF'\nDon't read .env\n(really\nEOF\n)\"; ls",
            &["git", "commit", "-m", "cat", "", "ls"],
        ),
        ("echo $((1<<3))\ncat .env", &["echo", "1", "cat", ".env"]),
    ] {
        assert_eq!(texts(command), expected, "{command}");
    }
}

#[test]
fn wildcards_and_directories_are_marked() {
    let marked = |command, mark: fn(&Word) -> bool| {
        let words = words(command).expect("the command is not too complex");
        let marked = words.into_iter().filter(mark).map(|word| word.text);
        marked.collect::<Vec<_>>()
    };
    let has_wildcards = |word: &Word| word.has_wildcards;
    let command = "cat *.a '*.b' \"*\".c ?d [e]; F='*.f'; cat $F \"$F\"";
    let expected = ["*.a", "?d", "[e]", "*.f"];
    assert_eq!(marked(command, has_wildcards), expected);
    let is_directory_change = |word: &Word| word.is_directory_change;
    let command = "cd a && pushd 'b'; D=c; cd $D; git -C d show e";
    let expected = ["a", "b", "c", "d"];
    assert_eq!(marked(command, is_directory_change), expected);
}

#[test]
fn names_that_appear_only_when_the_command_runs_pass() {
    for command in [
        "cat $(echo vne. | rev)",
        "cat $(echo .e)nv",
        "cat $'\\x2eenv' $\".env\"",
        "grep -r x .; find . -exec cat {} \\;",
        "for n in env x; do cat .$n; done",
        "read a <<< env; cat .$a",
        "f() { cat .$1; }; f env",
        "set -- env; cat .$1",
        "bash -c 'cat .$0' env",
        "A=(x env); cat .${A[1]}",
        "A=.e; A+=nv; cat $A",
        "F=.envx; cat ${F%x}",
        "N=F; F=.e; cat ${!N}nv",
        "cat .$E; E=env",
        "if x; then E=env; else E=x; fi; cat .$E",
        "cat .en{u..w}",
        "bash <<E\ncat .env\nE",
        "cat <<E\n$(cat .env)\nE",
    ] {
        let texts = texts(command);
        assert!(
            !texts.iter().any(|text| text == ".env"),
            "{command}: {texts:?}"
        );
    }
}

#[test]
fn a_command_that_is_too_complex_has_no_words() {
    let plain = "a ".repeat(MAX_WORDS);
    assert_eq!(texts(&plain).len(), MAX_WORDS);
    let long = "x".repeat(MAX_TEXT / 2);
    let nested = "$(".repeat(10_000) + "'`".repeat(10_000).as_str();
    assert!(texts(&nested).len() < 10);
    let evaluated = "eval ".repeat(MAX_WORDS / (MAX_DEPTH + 1));
    assert!(words(&evaluated).is_some());
    for command in [
        format!("{plain} a"),
        format!("A={long}; cat $A"),
        "A=x; ".to_owned() + &"A=$A$A; ".repeat(100),
        "L='a a a a'; ".to_owned() + &"$L ".repeat(MAX_WORDS / 4),
        "{a,b}".repeat(50),
        "{,}".repeat(20),
        format!("{{{}}}{}", ",".repeat(1_000), "x".repeat(10_000)),
    ] {
        let begin = &command[..30];
        assert!(words(&command).is_none(), "{begin}");
    }
}

#[test]
fn quotes_are_read_as_in_other_command_lines() {
    for text in [
        "  a  b\t",
        "a 'b c' \"d \\\" e\"",
        "a\\ b''c \"\"",
        "'\\'",
        "a'b'\"c\"d",
        "\"it's\" '\"'",
        "\\'a \\\"b\\\"",
    ] {
        let words = gosling_core::text::split_command::split(text).unwrap();
        assert_eq!(texts(text), words, "{text}");
    }
}
