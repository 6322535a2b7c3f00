//! `screen_capture` and `list_windows`.

use crate::fake_programs::{FakePrograms, jpeg, png};
use crate::image::{fails, image};
use crate::support::client::Answer;
use crate::support::server::{Extension, RunningServer, Session};
use crate::{model_text, user_text};
use serde_json::{Value, json};
use std::fs;

fn capture(session: &Session<'_>, arguments: Value) -> Answer {
    session.call("developer__screen_capture", arguments)
}

fn windows(session: &Session<'_>) -> Answer {
    session.call("developer__list_windows", json!({}))
}

/// A server with an X11 screen.
fn x11(programs: &FakePrograms) -> RunningServer {
    programs.server().env("DISPLAY", ":7").start()
}

const WMCTRL: &str = "say \"$@\"\necho '0x0240000a  0 host Mail – Inbox (3)'\n\
                      echo '0x0240000b -1 host Editor'; echo oops >&2";
const XRANDR: &str =
    "echo 'Monitors: 2'; echo ' 0: +*A 800/1x600/1+0+0  A'; echo ' 1: +B 640/1x480/1+800+5  B'";
/// Writes the picture, and records the mode and the path of its folder.
const SCROT: &str = "say \"$@\"; stat -c %a . >\"$SAID/mode\"; pwd >\"$SAID/place\"\n\
                     for last; do :; done; cp \"$SAID/picture\" \"$last\"; chmod 666 \"$last\"";

#[test]
fn a_display_or_a_window_but_not_both() {
    let programs = FakePrograms::new();
    let server = x11(&programs);
    let session = server.session([Extension::builtin("developer")]);
    capture(&session, json!({"display": 0, "window_title": "Mail"}))
        .is(500)
        .says("say which of the two");
    fails(capture(&session, json!({"display": -1})), "do not fit");
}

#[test]
fn without_a_screen_the_error_says_so() {
    let programs = FakePrograms::new().program("scrot", SCROT);
    let server = programs.server().start();
    let session = server.session([Extension::builtin("developer")]);
    for answer in [capture(&session, json!({})), windows(&session)] {
        fails(answer, "neither DISPLAY nor WAYLAND_DISPLAY is set");
    }
    assert_eq!(programs.recorded("scrot"), "");
}

#[test]
fn without_a_program_the_error_says_what_to_install() {
    let programs = FakePrograms::new();
    let server = x11(&programs);
    let session = server.session([Extension::builtin("developer")]);
    fails(capture(&session, json!({})), "apt install scrot");
    fails(
        capture(&session, json!({"display": 1})),
        "x11-xserver-utils",
    );
    fails(windows(&session), "apt install wmctrl");
    let server = programs
        .server()
        .env("WAYLAND_DISPLAY", "wayland-0")
        .start();
    let session = server.session([Extension::builtin("developer")]);
    fails(capture(&session, json!({})), "apt install grim");
    fails(windows(&session), "only sway and Hyprland");
    let answer = capture(&session, json!({"window_title": "x"}));
    fails(answer, "capture the display instead");
    assert!(programs.is_tidy());
}

#[test]
fn a_display_is_captured_where_nobody_else_can_look() {
    let programs = FakePrograms::new()
        .program("xrandr", XRANDR)
        .program("scrot", SCROT);
    fs::write(programs.record_folder().join("picture"), png(640, 480)).unwrap();
    let server = x11(&programs);
    let session = server.session([Extension::builtin("developer")]);
    let answer = capture(&session, json!({"display": 1})).is(200);
    assert_eq!(image(&answer), (png(640, 480), "image/png".to_owned()));
    assert!(model_text(&answer).starts_with("Display 1: 640×480"));
    assert_eq!(
        programs.recorded("scrot"),
        "-a\n800,5,640,480\nscreen.png\n"
    );
    assert_eq!(programs.recorded("mode"), "700\n");
    assert!(!fs::exists(programs.recorded("place").trim()).unwrap());
    fails(
        capture(&session, json!({"display": 2})),
        "no display 2; they are numbered from 0 to 1",
    );
    let answer = capture(&session, json!({"window_title": " "})).is(200);
    assert!(model_text(&answer).starts_with("Display 0:"));
    assert!(programs.recorded("scrot").contains("\n0,0,800,600\n"));
    assert!(programs.is_tidy());
}

#[test]
fn a_picture_that_is_too_large_is_scaled_like_any_image() {
    let programs = FakePrograms::new().program("scrot", SCROT).program(
        "magick",
        "[ \"$1\" = -version ] && { echo 'Version: ImageMagick 7'; exit; }\n\
         say \"$@\"; cp in.png \"$SAID/in\"; cp \"$SAID/small\" out.jpeg",
    );
    fs::write(programs.record_folder().join("picture"), png(1600, 1200)).unwrap();
    fs::write(programs.record_folder().join("small"), jpeg(1024, 768)).unwrap();
    let server = x11(&programs);
    let session = server.session([Extension::builtin("developer")]);
    let answer = capture(&session, json!({})).is(200);
    assert_eq!(image(&answer), (jpeg(1024, 768), "image/jpeg".to_owned()));
    assert_eq!(
        programs.recorded("scrot"),
        "screen.png\n",
        "nobody knows of others"
    );
    assert_eq!(
        fs::read(programs.record_folder().join("in")).unwrap(),
        png(1600, 1200)
    );
    assert!(programs.is_tidy());
}

#[test]
fn windows_are_listed_and_captured_by_title() {
    let programs = FakePrograms::new()
        .program("wmctrl", WMCTRL)
        .magick(&png(200, 100));
    let server = x11(&programs);
    let session = server.session([Extension::builtin("developer")]);
    let answer = windows(&session).is(200);
    assert_eq!(model_text(&answer), "Mail – Inbox (3)\nEditor\n");
    assert_eq!(model_text(&answer), user_text(&answer));
    assert_eq!(programs.recorded("wmctrl"), "-l\n-u\n");
    for title in ["Mail – Inbox (3)", "inbox"] {
        let _ = fs::remove_file(programs.record_folder().join("magick"));
        let answer = capture(&session, json!({"window_title": title})).is(200);
        assert_eq!(image(&answer).0, png(200, 100));
        assert!(model_text(&answer).starts_with("Window \"Mail – Inbox (3)\":"));
        let args = "import\n-silent\n-window\n0x0240000a\npng:screen.png\n";
        assert_eq!(programs.recorded("magick"), args);
    }
    for title in ["-Browser", "$(touch x)", "Editor\n0x1"] {
        let answer = capture(&session, json!({"window_title": title}));
        fails(answer, "only \"Mail – Inbox (3)\", \"Editor\"");
    }
    let answer = capture(&session, json!({"window_title": "i"}));
    fails(answer, "Several windows");
}

#[test]
fn where_wmctrl_knows_nothing_xdotool_is_asked() {
    let programs = FakePrograms::new()
        .program("wmctrl", "echo 'no client list' >&2; exit 1")
        .program(
            "xdotool",
            "say \"$*\"\ncase $1 in\n\
             search) echo 41; echo 42; echo 43;;\n\
             getwindowname) [ $2 = 42 ] && exit 1; echo \"Title $2\";;\n\
             *) printf 'WINDOW=%s\\nX=-10\\nY=20\\nWIDTH=300\\nHEIGHT=200\\n' $3;; esac",
        )
        .program("scrot", SCROT);
    fs::write(programs.record_folder().join("picture"), png(290, 200)).unwrap();
    let server = x11(&programs);
    let session = server.session([Extension::builtin("developer")]);
    assert_eq!(
        model_text(&windows(&session).is(200)),
        "Title 41\nTitle 43\n"
    );
    let answer = capture(&session, json!({"window_title": "Title 43"})).is(200);
    assert_eq!(image(&answer).0, png(290, 200));
    let calls = programs.recorded("xdotool");
    assert!(calls.ends_with("getwindowgeometry --shell 43\n"), "{calls}");
    assert_eq!(programs.recorded("scrot"), "-a\n0,20,290,200\nscreen.png\n");
}

#[test]
fn under_wayland_the_compositor_says_where_things_are() {
    let tree = r#"{"rect":{"x":0,"y":0,"width":9,"height":9},"nodes":[
        {"name":"Term","pid":7,"visible":true,"rect":{"x":5,"y":6,"width":70,"height":80}}]}"#;
    let programs = FakePrograms::new().program("grim", SCROT).program(
        "swaymsg",
        &format!(
            "say \"$*\"\ncase $3 in get_tree) echo '{tree}';; *) echo '[{{\"name\":\"eDP-1\"}},{{\"name\":\"HDMI-A-1\",\"active\":true}}]';; esac"
        ),
    );
    fs::write(programs.record_folder().join("picture"), png(70, 80)).unwrap();
    let server = programs.server();
    let server = server
        .env("WAYLAND_DISPLAY", "wayland-1")
        .env("DISPLAY", ":0");
    let server = server.env("SWAYSOCK", "/run/sway").start();
    let session = server.session([Extension::builtin("developer")]);
    assert_eq!(model_text(&windows(&session).is(200)), "Term\n");
    capture(&session, json!({"display": 1})).is(200);
    capture(&session, json!({"window_title": "term"})).is(200);
    let calls = "-o\nHDMI-A-1\nscreen.png\n-g\n5,6 70x80\nscreen.png\n";
    assert_eq!(programs.recorded("grim"), calls);
    fails(capture(&session, json!({"display": 2})), "no display 2");
}

#[test]
fn a_program_that_fails_or_makes_nothing_says_why() {
    for (script, why) in [
        ("echo 'screen is locked' >&2; exit 1", "screen is locked"),
        ("exit 0", "The picture cannot be read"),
        ("echo text >screen.png", "is not an image"),
        (
            "mkfifo screen.png; exit 1",
            "scrot did not take the picture",
        ),
    ] {
        let programs = FakePrograms::new().program("scrot", script);
        let server = x11(&programs);
        let session = server.session([Extension::builtin("developer")]);
        fails(capture(&session, json!({})), why);
        assert!(programs.is_tidy());
    }
}
