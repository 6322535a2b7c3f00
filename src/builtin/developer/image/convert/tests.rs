use super::*;

fn header(format: Format, size: Option<(u32, u32)>) -> Header {
    Header {
        format,
        size,
        is_intact: true,
    }
}

#[test]
fn imagemagick_is_told_what_it_reads_and_bounded_before_it_does() {
    let args = imagemagick(&header(Format::WebP, None));
    let at = |arg: &str| args.iter().position(|one| one == arg).unwrap();
    assert_eq!(args.last().map(String::as_str), Some("jpeg:out.jpeg"));
    assert_eq!(args[at("-resize") + 1], "1024x1024>");
    assert!(at("-resize") > at("webp:in.webp[0]"));
    for (what, _) in LIMITS {
        assert_eq!(args[at(what) - 1], "-limit");
        assert!(at(what) < at("webp:in.webp[0]"));
    }
}

#[test]
fn only_what_is_large_on_both_sides_is_read_in_part() {
    let hinted = |size| {
        let args = imagemagick(&header(Format::Jpeg, size));
        args.contains(&"jpeg:size=2048x2048".to_owned())
    };
    assert!(hinted(Some((2048, 9000))));
    assert!(!hinted(Some((2047, 9000))) && !hinted(Some((9000, 20))) && !hinted(None));
}
