use super::*;

#[test]
fn wmctrl_names_windows_by_line() {
    let text = "0x02400006  0 host A title – with spaces\n\
                0x02400007 -1  host  \n\
                0x02400008  1 N/A Other\n\
                Cannot do this and that\n\n0x1\n\
                0x2;x 0 host Odd\n0x 0 host Odd\n";
    let windows = listed(text);
    let pairs: Vec<_> = windows
        .iter()
        .map(|window| (window.handle.as_str(), window.title.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("0x02400006", "A title – with spaces"),
            ("0x02400008", "Other")
        ]
    );
}

#[test]
fn only_numbers_are_ids() {
    let text = "12\nError: no\n\n-3\n 44 \n";
    assert_eq!(ids(text).collect::<Vec<_>>(), ["12", "44"]);
}

#[test]
fn monitors_are_where_xrandr_says() {
    let text = "Monitors: 2\n 0: +*eDP-1 1920/344x1080/194+0+120  eDP-1\n \
                1: +HDMI-1 2560/597x1440/336+1920+0  HDMI-1\n 2: odd\n 3: +x 1/x2\n";
    let all: Vec<_> = monitors(text).into_iter().map(Area::geometry).collect();
    assert_eq!(all, ["1920x1080+0+120", "2560x1440+1920+0"]);
}

#[test]
fn a_window_that_sticks_out_is_where_it_can_be_seen() {
    let text = |x: &str| format!("WINDOW=7\nX={x}\nY=20\nWIDTH=484\nHEIGHT=316\nSCREEN=0\n");
    assert_eq!(place(&text("100")).unwrap().geometry(), "484x316+100+20");
    assert_eq!(place(&text("-84")).unwrap().geometry(), "400x316+0+20");
    for nowhere in ["-484", "x", "99999999999999999999", "9223372036854775807"] {
        assert_eq!(place(&text(nowhere)), None, "{nowhere}");
    }
    assert_eq!(place(""), None);
}

#[test]
fn both_programs_capture_all_or_a_part() {
    let area = Area {
        x: 1,
        y: 2,
        width: 30,
        height: 40,
    };
    assert_eq!(scrot_args(None, "a.png"), ["a.png"]);
    assert_eq!(
        scrot_args(Some(area), "a.png"),
        ["-a", "1,2,30,40", "a.png"]
    );
    assert_eq!(
        import_args("root", Some(area), "a.png").join(" "),
        "-silent -window root -crop 30x40+1+2 +repage png:a.png"
    );
    assert_eq!(
        import_args("0x7", None, "a.png").join(" "),
        "-silent -window 0x7 png:a.png"
    );
}
