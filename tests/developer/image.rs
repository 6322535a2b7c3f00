//! `image_processor`.

use crate::fake_programs::{FakePrograms, jpeg, png};
use crate::model_text;
use crate::support::client::Answer;
use crate::support::server::{Extension, Session};
use crate::support::system::symlink;
use crate::support::until;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use std::fs;
use std::process::Command;

fn show(session: &Session<'_>, path: &str) -> Answer {
    session.call("developer__image_processor", json!({ "path": path }))
}

/// The bytes and the media type of the image.
pub fn image(answer: &Answer) -> (Vec<u8>, String) {
    let part = &answer.body["content"][1];
    assert_eq!(part["type"], "image", "{}", answer.text);
    let data = part["data"].as_str().expect("data");
    let mime_type = part["mimeType"].as_str().expect("a type").to_owned();
    (BASE64_STANDARD.decode(data).expect("base64"), mime_type)
}

/// Checks that the call failed with this reason.
pub fn fails(answer: Answer, why: &str) {
    let answer = answer.is(200);
    assert_eq!(answer.body["is_error"], true, "{}", answer.text);
    assert!(answer.content().contains(why), "{}", answer.content());
}

/// Runs the test in a session that finds only these programs.
fn on(programs: &FakePrograms, test: impl FnOnce(&Session<'_>)) {
    let server = programs.server().start();
    let session = server.session([Extension::builtin("developer")]);
    test(&session);
}

#[test]
fn a_small_one_is_passed_on_as_it_is() {
    let programs = FakePrograms::new();
    on(&programs, |session| {
        let dir = session.server.work();
        let gif = b"GIF89a\x40\x01\xf0\0\0\0\0pixels\x3b".to_vec();
        let webp = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\x03\0\xff\x03\0".to_vec();
        for (name, content, mime_type, size) in [
            ("a.png", png(1024, 1024), "image/png", "1024×1024"),
            ("b.txt", jpeg(300, 200), "image/jpeg", "300×200"),
            ("c.gif", gif, "image/gif", "320×240"),
            ("d", webp, "image/webp", "1024×1024"),
        ] {
            fs::write(dir.join(name), &content).unwrap();
            let answer = show(session, name).is(200);
            assert_eq!(image(&answer), (content, mime_type.to_owned()), "{name}");
            let said = model_text(&answer);
            assert!(said.contains(name) && said.contains(size), "{said}");
            assert_eq!(answer.body["content"].as_array().unwrap().len(), 2);
        }
        let home = session.server.root().join("home/e.png");
        fs::write(home, png(1, 1)).unwrap();
        let answer = show(session, "~/e.png").is(200);
        assert_eq!(image(&answer).0, png(1, 1));
    });
}

#[test]
fn any_other_is_made_smaller_from_a_copy_whatever_its_name_means_to_somebody() {
    let programs = FakePrograms::new().magick(&jpeg(1024, 683));
    on(&programs, |session| {
        let dir = session.server.work();
        let large = png(3000, 2000);
        for name in [
            "a.png", "-write", "msl:a", "@a", "a[0]", "%d.png", "a\nb", "|ls",
        ] {
            fs::write(dir.join(name), &large).unwrap();
            let _ = fs::remove_file(programs.record_folder().join("magick"));
            let answer = show(session, name).is(200);
            assert_eq!(image(&answer), (jpeg(1024, 683), "image/jpeg".to_owned()));
            let said = model_text(&answer);
            assert!(
                said.contains("3000×2000") && said.contains("1024×683"),
                "{said}"
            );
            let args = programs.recorded("magick");
            let at = |arg: &str| {
                let place = args.lines().position(|line| line == arg);
                place.unwrap_or_else(|| panic!("no {arg} in {args}"))
            };
            assert!(at("-limit") < at("png:in.png[0]"), "{args}");
            assert!(at("png:in.png[0]") < at("1024x1024>"), "{args}");
            assert_eq!(args.lines().last(), Some("jpeg:out.jpeg"));
            assert_eq!(
                fs::read(programs.record_folder().join("in")).unwrap(),
                large
            );
        }
        // Small images with too many bytes, cut short, or in a format that models do not accept.
        let mut heavy = png(10, 10);
        heavy.resize(1 << 21, 0);
        let cut = png(10, 10)[..40].to_vec();
        let bmp = b"BM0000____0000\x28\0\0\0\x0a\0\0\0\x0a\0\0\0".to_vec();
        for content in [heavy, cut, bmp, b"II*\0".to_vec()] {
            fs::write(dir.join("odd"), &content).unwrap();
            let answer = show(session, "odd").is(200);
            assert_eq!(image(&answer).0, jpeg(1024, 683));
            assert_eq!(
                fs::read(programs.record_folder().join("in")).unwrap(),
                content
            );
        }
        assert!(programs.is_tidy());
    });
}

#[test]
fn what_is_called_convert_is_asked_whether_it_is_the_right_one() {
    let programs = FakePrograms::new()
        .program("magick", "exit 1")
        .program("convert", "echo 'GraphicsMagick 1.3'; say \"$@\"")
        .later(
            "convert",
            "[ \"$1\" = -version ] && { echo 'Version: ImageMagick 6.9'; exit; }\n\
             cp \"$SAID/picture\" out.jpeg",
        );
    fs::write(programs.record_folder().join("picture"), jpeg(5, 5)).unwrap();
    on(&programs, |session| {
        fs::write(session.server.work().join("a.png"), png(2000, 20)).unwrap();
        let answer = show(session, "a.png").is(200);
        assert_eq!(image(&answer).0, jpeg(5, 5));
        assert_eq!(programs.recorded("convert"), "-version\n");
    });
}

#[test]
fn without_a_program_the_error_says_what_to_install() {
    let programs = FakePrograms::new();
    on(&programs, |session| {
        fs::write(session.server.work().join("a.png"), png(2000, 20)).unwrap();
        fails(show(session, "a.png"), "apt install imagemagick");
    });
}

#[test]
fn what_the_program_makes_is_looked_at() {
    let answers = "[ \"$1\" = -version ] && { echo 'Version: ImageMagick 7'; exit; }";
    for (script, why) in [
        ("echo 'no such delegate' >&2; exit 3", "no such delegate"),
        ("exit 0", "did not write a result"),
        ("echo text >out.jpeg", "not a JPEG of the right size"),
        (
            "cp \"$SAID/picture\" out.jpeg",
            "not a JPEG of the right size",
        ),
        ("head -c 9000000 /dev/zero >out.jpeg", "too large"),
        ("(yes | head -c 9000000) >&2; exit 1", "says: y y y"),
    ] {
        let programs = FakePrograms::new().program("magick", &format!("{answers}\n{script}"));
        fs::write(programs.record_folder().join("picture"), jpeg(1025, 5)).unwrap();
        on(&programs, |session| {
            fs::write(session.server.work().join("a.png"), png(2000, 20)).unwrap();
            fails(show(session, "a.png"), why);
            assert!(programs.is_tidy(), "{script}");
        });
    }
}

#[test]
fn the_program_ends_with_the_call_and_leaves_nothing() {
    let programs = FakePrograms::new().program(
        "magick",
        "[ \"$1\" = -version ] && { echo 'Version: ImageMagick 7'; exit; }\n\
         yes >&2 & trap '' TERM; sleep 1000",
    );
    on(&programs, |session| {
        fs::write(session.server.work().join("a.png"), png(2000, 20)).unwrap();
        let running = || {
            let all = session.server.descendants();
            all.iter()
                .filter(|p| ["sleep", "yes"].contains(&&*p.name()))
                .count()
        };
        let begun = || {
            let call = session.begin_call("developer__image_processor", json!({"path": "a.png"}));
            until("the program", || (running() == 2).then_some(()));
            assert!(!programs.is_tidy());
            call
        };
        drop(begun());
        until("its end", || (running() == 0).then_some(()));
        until("a tidy place", || programs.is_tidy().then_some(()));
        let _call = begun();
        session.server.terminate();
        assert!(programs.is_tidy());
    });
}

#[test]
fn what_is_no_image_or_too_much_is_refused() {
    let programs = FakePrograms::new().magick(&jpeg(10, 10));
    on(&programs, |session| {
        let dir = session.server.work();
        let fifo = Command::new("mkfifo").arg(dir.join("fifo")).status();
        assert!(fifo.unwrap().success());
        symlink("/dev/zero", dir.join("zero")).unwrap();
        symlink(dir.join("fifo"), dir.join("pipe.png")).unwrap();
        fs::write(dir.join("text.png"), "<svg/>").unwrap();
        fs::write(dir.join("empty.png"), "").unwrap();
        fs::write(dir.join("bomb.png"), png(60_000, 60_000)).unwrap();
        let large = fs::File::create(dir.join("large.png")).unwrap();
        large.set_len(65 << 20).unwrap();
        for (path, why) in [
            ("fifo", "not a regular file"),
            ("pipe.png", "not a regular file"),
            ("zero", "not a regular file"),
            ("/dev/zero", "not a regular file"),
            ("/proc/self/mem", "not a regular file"),
            (".", "is a directory"),
            ("none.png", "there is no file"),
            (" ", "`path` is empty"),
        ] {
            show(session, path).is(500).says(why);
        }
        for (path, why) in [
            ("text.png", "is not an image"),
            ("empty.png", "is not an image"),
            ("bomb.png", "60000×60000 pixels"),
            ("large.png", "68157440 bytes"),
        ] {
            fails(show(session, path), why);
        }
        assert_eq!(programs.recorded("magick"), "");
    });
}

#[test]
fn the_space_of_macos_is_found_and_what_is_kept_stays_kept() {
    let programs = FakePrograms::new();
    on(&programs, |session| {
        let dir = session.server.work();
        let plain = "Shot at 3.45.12 PM.png";
        let narrow = "Shot at 3.45.12\u{202f}PM.png";
        fs::write(dir.join(narrow), png(1, 1)).unwrap();
        let answer = show(session, plain).is(200);
        assert_eq!(image(&answer).0, png(1, 1));
        assert!(model_text(&answer).contains(narrow));
        // The exact name takes precedence.
        fs::write(dir.join(plain), png(2, 2)).unwrap();
        assert_eq!(image(&show(session, plain).is(200)).0, png(2, 2));
        fs::remove_file(dir.join(narrow)).unwrap();
        assert_eq!(image(&show(session, narrow).is(200)).0, png(2, 2));
        show(session, "Shot at 3.45.12 AM.png")
            .is(500)
            .says("there is no file");

        fs::write(dir.join(".gooseignore"), format!("{narrow}\nprivate/\n")).unwrap();
        fs::create_dir(dir.join("private")).unwrap();
        fs::rename(dir.join(plain), dir.join(narrow)).unwrap();
        fs::write(dir.join("private/a.png"), png(1, 1)).unwrap();
        symlink(dir.join("private/a.png"), dir.join("innocent.png")).unwrap();
        for kept in [narrow, plain, "private/a.png", "innocent.png"] {
            show(session, kept).is(500).says("not accessible to tools");
        }
    });
}
