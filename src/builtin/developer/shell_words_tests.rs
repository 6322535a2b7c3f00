use super::*;

fn texts(command: &str) -> Vec<String> {
    let variable = |name: &str| match name {
        "HOME" => Some("/home/me".to_owned()),
        "PWD" => Some("/here".to_owned()),
        _ => None,
    };
    words_of(command, &variable)
        .expect("the command is not too intricate")
        .into_iter()
        .map(|word| word.text)
        .collect()
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
        (
            "cat $HOME/.env ${HOME}x $NONE/y",
            &["cat", "/home/me/.env", "/home/mex", "/y"],
        ),
        ("echo \"$(cat .env)\"", &["echo", "cat", ".env", ""]),
        ("echo `cat .env` x", &["echo", "cat", ".env", "x"]),
        (
            "bash -c 'cat .env'",
            &["bash", "-c", "cat .env", "cat", ".env"],
        ),
        ("eval \"cat .env\"", &["eval", "cat .env", "cat", ".env"]),
        ("ls # .env\npwd", &["ls", "pwd"]),
        ("echo a#b", &["echo", "a#b"]),
        ("cat > f <<END\n.env\nEND\ncat g", &["cat", "f", "cat", "g"]),
        ("cat <<-'E' x\n\tone\n\tE\nls", &["cat", "x", "ls"]),
        ("cat <<<.env", &["cat", ".env"]),
        ("cat .en\\\nv", &["cat", ".env"]),
        ("echo $", &["echo", "$"]),
        ("cat 'open", &["cat", "open"]),
        ("echo $(echo (x", &["echo", "echo", "x", "(x"]),
    ] {
        assert_eq!(texts(command), expected, "{command}");
    }
    for (command, expected) in [
        ("F=.env; cat $F", &[".env"][..]),
        ("F=.env cat \"$F\"", &[".env"]),
        ("export A=.e B=nv; cat ${A}${B}", &[".env"]),
        ("A=.e; B=$A; cat ${B}nv", &[".env"]),
        ("f() { cat .$1; }; f env", &[".env"]),
        ("function f { cat .$1; }; f env", &[".env"]),
        ("A=.e; A+=nv; cat \"$A\"", &[".env"]),
        ("A=(x env); cat .${A[1]} .${A[@]}", &[".env", ".x"]),
        ("for n in env x; do cat .$n; done", &[".env", ".x"]),
        ("read -r a b <<< 'x env'; cat .$b", &[".env"]),
        ("read a <<< env && cat .$a", &[".env"]),
        ("set -- env; cat .$1", &[".env"]),
        ("set env x; cat .$@", &[".env", ".x"]),
        ("bash -c 'cat .$0$1' en v", &[".env"]),
        ("cat ${F:-.env}", &[".env"]),
        ("cat ${F-.env} ${G:=.x}; cat a$G", &[".env", "a.x"]),
        ("F=x; cat ${F:+.env}", &[".env"]),
        ("E=env; cat ${F:-.${E}}", &[".env"]),
        ("N=F; F=.env; cat ${!N}", &[".env"]),
        ("L='a .env'; cat $L", &["a", ".env"]),
        ("if x; then E=env; else E=x; fi; cat .$E", &[".env", ".x"]),
        ("E=env; bash -c \"cat .$E\"", &[".env"]),
        ("C='cat .e'; eval \"${C}nv\"", &[".env"]),
        ("bash <<E\ncat .env\nE", &[".env"]),
        ("cat <<E\n$(cat .env) `cat .x`\nE", &[".env", ".x"]),
        ("cat .$E; E=env", &[".", ".env"]),
        ("(E=env; cat .$E)", &[".env"]),
        ("E=$(true); cat .en${E}v", &[".env"]),
        ("sudo bash -euc 'cat .env'", &[".env"]),
        ("cat $(pwd)/.env \"`pwd`/.x\"", &["/here/.env", "/here/.x"]),
        ("cat $(echo .e)nv", &[".env"]),
        ("cat $\".env\" $'\\x2eenv' $'\\056x'", &[".env", ".x"]),
        ("echo $'it\\'s'; cat .env", &["it's", ".env"]),
        ("echo \"$'\"; cat .env", &["$'", ".env"]),
        ("x=$(echo ')'; cat .env) y", &[".env", "y"]),
        ("echo \"${F:-it's}\"; cat .env", &[".env"]),
        ("echo \"$(echo \"a)\")\"; cat .env", &[".env"]),
    ] {
        let texts = texts(command);
        let all = expected
            .iter()
            .all(|text| texts.iter().any(|it| it == text));
        assert!(all, "{command}: {texts:?}");
    }
    assert!(!texts("cat <<'E'\n$(cat .env)\nE").contains(&".env".to_owned()));
    let words = words_of("E='*'; cat .$E", &|_| None).unwrap();
    assert!(
        words
            .iter()
            .any(|word| word.has_wildcards && word.text == ".*")
    );
    let words = words_of("D=sub; cd -P $D", &|_| None).unwrap();
    assert!(
        words
            .iter()
            .any(|word| word.is_directory_change && word.text == "sub")
    );
    let words = words_of("git -C sub show", &|_| None).unwrap();
    assert!(
        words
            .iter()
            .any(|word| word.is_directory_change && word.text == "sub")
    );
    let words = words_of("cd sub && cat *.x; cat '*.y'", &|_| None).unwrap();
    let marked = |mark: fn(&Word) -> bool| {
        let marked = words.iter().filter(|word| mark(word));
        marked.map(|word| word.text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(marked(|word| word.is_directory_change), ["sub"]);
    assert_eq!(marked(|word| word.has_wildcards), ["*.x"]);
}

#[test]
fn commands_in_commands_have_an_end() {
    let deep = "$(".repeat(10_000);
    assert!(texts(&deep).len() < 100);
    let many = "a ".repeat(100_000);
    assert_eq!(texts(&many).len(), MAX_WORDS);
    let braces = "${a:-".repeat(10_000);
    assert!(texts(&braces).len() < 100);
    let doubled = "A=x; ".to_owned() + &"A=$A$A; ".repeat(100) + "cat $A$A$A$A";
    let words = texts(&doubled);
    assert!(words.len() <= MAX_WORDS && words.iter().all(|word| word.len() <= MAX_TEXT));
    let many: String = (0..200).map(|n| format!("A={n}; ")).collect();
    assert!(texts(&format!("{many} cat $A$A$A$A$A")).len() < 1_000);
    let documents = "bash <<E\n".repeat(1_000);
    assert!(texts(&documents).len() < 10_000);
    // A script that writes files with variables in them.
    let values = "A=x; B=y; for C in a b c d; do C=$C; done; ";
    let file = "curl -d \"$A$B$C\"; cat >$A <<E\n".to_owned()
        + &"$A ${B} $C and more\n".repeat(10)
        + "E\n";
    let files = values.to_owned() + &file.repeat(25) + "cat .env";
    assert!(texts(&files).contains(&".env".to_owned()));
    // About as long as the scripts of models with unbalanced quotes.
    let open = "echo \"${F:-it's}\" '}' ${{'}'}; ".repeat(100) + "cat .env";
    assert!(texts(&open).contains(&".env".to_owned()));
}

#[test]
fn a_command_that_takes_too_much_work_has_no_words() {
    let values: String = (0..32).map(|n| format!("A={n};")).collect();
    let long = "x".repeat(4_000);
    for command in [
        "${{'}'}".repeat(18_000),
        format!("{values}{long}{}", "$A".repeat(60_000)),
        format!(
            "{values}read {}<<<'{}'",
            "a ".repeat(9_000),
            "b ".repeat(50_000)
        ),
    ] {
        assert!(words_of(&command, &|_| None).is_none());
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
        let words = crate::text::split_command::split(text).unwrap();
        assert_eq!(texts(text), words, "{text}");
    }
}
