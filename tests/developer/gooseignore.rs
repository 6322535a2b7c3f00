//! `.gooseignore`.

use crate::support::server::{Extension, Server, Session};
use crate::support::system::symlink;
use crate::{model_text, with_developer};
use serde_json::json;
use std::fs;

fn refuses(session: &Session<'_>, tool: &str, arguments: serde_json::Value) {
    let shown = arguments.to_string();
    let answer = session.call(&format!("developer__{tool}"), arguments);
    assert_eq!(answer.status, 500, "{shown}");
    let message = answer.body["message"].as_str().unwrap();
    assert!(
        message.contains("not accessible to tools"),
        "{shown}: {message}"
    );
}

#[test]
fn what_it_names_is_kept_from_every_tool_however_it_is_written() {
    with_developer(|session| {
        let dir = session.server.work();
        fs::write(dir.join(".gooseignore"), "private/\n*.key\n!open.key\n").unwrap();
        fs::create_dir_all(dir.join("private/deep")).unwrap();
        fs::create_dir_all(dir.join("sub")).unwrap();
        for name in [
            ".env",
            "private/deep/a.txt",
            "my.key",
            "open.key",
            "sub/b.key",
            "fine.txt",
        ] {
            fs::write(dir.join(name), "word\n").unwrap();
        }
        symlink(dir.join("my.key"), dir.join("innocent")).unwrap();
        for path in [
            ".env",
            "private",
            "private/deep/a.txt",
            "my.key",
            "innocent",
            "sub/../.env",
            "sub/b.key",
        ] {
            refuses(
                session,
                "text_editor",
                json!({"command": "view", "path": path}),
            );
        }
        refuses(
            session,
            "text_editor",
            json!({"command": "write", "path": "new.key", "file_text": "x"}),
        );
        let diff = "--- a/my.key\n+++ b/my.key\n@@ -1 +1 @@\n-word\n+x\n";
        refuses(
            session,
            "text_editor",
            json!({"command": "str_replace", "path": ".", "diff": diff}),
        );
        for command in [
            "cat .env",
            "cat '.env'",
            "cat \".e\"nv",
            "cat<.env",
            "echo x>.env",
            "cat $PWD/.env",
            "cat ./sub/../.env",
            "cat .e*",
            "cat *.key",
            "cat [m]y.key",
            "cat {fine.txt,.env}",
            "cat innocent",
            "ls private",
            "cd sub && cat b.key",
            "cd sub; cat ../.env",
            "echo $(cat .env)",
            "echo \"`cat .env`\"",
            "bash -c 'cat .env'",
            "grep --file=.env x",
            "curl -d @.env x",
            "cp -t. .env",
            "true\ncat .env",
            "F=.e; cat ${F}nv",
            "E=nv cat .e\"$E\"",
            "export E=env && cat .$E",
            "D=private; ls $D",
            "D=sub; cd \"$D\" && cat b.key",
            "cat ${F:-my.key}",
            "LIST='fine.txt my.key'; cat $LIST",
            "E='.e*'; cat $E",
            "cat \"$(pwd)/.env\"",
            "cat `pwd`/.env",
            "git -C sub diff --no-index b.key /dev/null",
            "echo $'it\\'s'; cat .env",
            "cat {x,m}y.{txt,key}",
        ] {
            refuses(session, "shell", json!({ "command": command }));
        }
        for command in [
            "cat fine.txt",
            "cat open.key",
            "cat *.txt",
            "cat sub/none.txt; true",
            "cat <<END\n.env\nEND",
            "echo no.key",
            "F=fine; cat $F.txt; cat ${G:-fine.txt}",
            // The names appear only when the command runs.
            "cat $(echo vne. | rev)",
            "grep -r word . && find . -name '.e*' -exec cat {} \\;",
            "for n in b my; do cat $n.key sub/$n.key; done; true",
            "sh <<E\ncat .env\nE",
            "cat {m..n}y.key; true",
        ] {
            session
                .call("developer__shell", json!({ "command": command }))
                .is(200);
        }
        let answer = session.call(
            "developer__text_editor",
            json!({"command": "view", "path": "open.key"}),
        );
        assert!(model_text(&answer.is(200)).contains("1: word"));
        // The file is read again when it has changed.
        fs::write(dir.join(".gooseignore"), "!.env\n").unwrap();
        session
            .call("developer__shell", json!({"command": "cat .env my.key"}))
            .is(200);
        fs::write(dir.join(".gooseignore"), "[z-a]\n").unwrap();
        session
            .call("developer__shell", json!({"command": "true"}))
            .is(500)
            .says("line 1");
    });
}

#[test]
fn a_link_to_a_file_that_does_not_exist_yet_is_followed() {
    with_developer(|session| {
        let dir = session.server.work();
        fs::write(dir.join(".gooseignore"), "private/\n*.key\n").unwrap();
        fs::create_dir(dir.join("sub")).unwrap();
        for (target, link) in [
            (".env", "innocent"),
            ("innocent", "twice"),
            ("../my.key", "sub/up"),
            ("private", "folder"),
        ] {
            symlink(target, dir.join(link)).unwrap();
        }
        for path in [
            "innocent",
            "twice",
            "sub/up",
            "folder/new.txt",
            "folder/x/new.txt",
        ] {
            let write = json!({"command": "write", "path": path, "file_text": "x"});
            refuses(session, "text_editor", write);
        }
        for command in ["echo x > innocent", "echo x > twice", "cd sub; echo x > up"] {
            refuses(session, "shell", json!({ "command": command }));
        }
        assert!(!dir.join(".env").exists() && !dir.join("my.key").exists());
        symlink("fine.txt", dir.join("open")).unwrap();
        let write = json!({"command": "write", "path": "open", "file_text": "x"});
        session.call("developer__text_editor", write).is(200);
        assert!(dir.join("fine.txt").exists());
    });
}

#[test]
fn a_file_of_rules_that_cannot_be_understood_is_refused_aloud() {
    with_developer(|session| {
        let file = session.server.work().join(".gooseignore");
        let utf16 = |bom: &[u8], bytes: fn(u16) -> [u8; 2]| {
            let text = "*.key\n".encode_utf16().flat_map(bytes);
            bom.iter().copied().chain(text).collect::<Vec<u8>>()
        };
        for text in [
            utf16(b"\xff\xfe", u16::to_le_bytes),
            utf16(b"\xfe\xff", u16::to_be_bytes),
            utf16(b"", u16::to_le_bytes),
        ] {
            fs::write(&file, text).unwrap();
            let command = json!({"command": "cat my.key"});
            let refused = session.call("developer__shell", command).is(500);
            refused.says(".gooseignore").says("UTF-16").says("UTF-8");
        }
        fs::remove_file(&file).unwrap();
        for target in ["/dev/zero", ".gooseignore"] {
            symlink(target, &file).unwrap();
            let refused = session.call("developer__shell", json!({"command": "true"}));
            refused.is(500).says(".gooseignore");
            fs::remove_file(&file).unwrap();
        }
    });
}

#[test]
fn the_users_own_rules_count_everywhere() {
    let server = Server::new().start();
    let config = server.root().join("config");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join(".gooseignore"), "*.diary\n").unwrap();
    let elsewhere = crate::support::temp_dir();
    let diary = elsewhere.path().join("my.diary");
    fs::write(&diary, "dear\n").unwrap();
    let session = server.session([Extension::builtin("developer")]);
    refuses(
        &session,
        "text_editor",
        json!({"command": "view", "path": diary}),
    );
    refuses(
        &session,
        "shell",
        json!({"command": format!("cat {}", diary.display())}),
    );
}

#[test]
fn a_folder_has_its_rules_by_whatever_name_it_is_called() {
    let server = Server::new().start();
    let around = crate::support::temp_dir();
    let around = around.path().canonicalize().unwrap();
    let real = around.join("real");
    fs::create_dir_all(real.join("sub/private")).unwrap();
    fs::write(real.join(".gooseignore"), "/sub/private/\n*.key\n").unwrap();
    for name in ["my.key", "sub/private/a.txt"] {
        fs::write(real.join(name), "word\n").unwrap();
    }
    let link = around.join("link");
    let other = around.join("other");
    symlink(&real, &link).unwrap();
    symlink(&real, &other).unwrap();
    let dirs = [&real, &link, &real.join("sub/..")].map(|dir| dir.to_str().unwrap().to_owned());
    for dir in &dirs {
        let session = server.start(json!({ "working_dir": dir }));
        session.add(Extension::builtin("developer")).is(200);
        for way in [&real, &link, &other] {
            for name in ["my.key", "sub/private/a.txt", "sub/private"] {
                let path = way.join(name);
                let view = json!({"command": "view", "path": path});
                refuses(&session, "text_editor", view);
                let command = format!("cat {}", path.display());
                refuses(&session, "shell", json!({ "command": command }));
            }
            let new = way.join("new.key");
            let write = json!({"command": "write", "path": new, "file_text": "x"});
            refuses(&session, "text_editor", write);
        }
    }
}
