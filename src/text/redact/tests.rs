use super::*;
use gosling_testing::property_testing::{check, one_of, vec_of};

fn owned(secrets: &[&str]) -> Vec<String> {
    secrets.iter().map(|s| (*s).to_owned()).collect()
}

#[test]
fn secrets_that_overlap_leave_nothing_of_each_other() {
    for (text, secrets, shown) in [
        (
            "key sk-12345.",
            &["sk-123", "sk-12345"][..],
            "key [secret].",
        ),
        ("xabcdx", &["abc", "bcd"], "x[secret]x"),
        ("ababa", &["aba"], "[secret]"),
        ("abab", &["ab", ""], "[secret][secret]"),
        ("ab é", &["é"], "ab [secret]"),
        ("a b", &[" ", "\n"], "a b"),
        ("a bc", &[" b"], "a[secret]c"),
        ("ab", &["\u{2005}b"], "a[secret]"),
        ("nothing", &["sk-1"], "nothing"),
    ] {
        assert_eq!(redact(text, &owned(secrets)), shown);
    }
}

#[test]
fn a_secret_of_several_lines_is_found_in_whole_and_by_lines() {
    let secrets = owned(&["-- begin --\nabcdefgh\nxy\n"]);
    for (text, shown) in [
        ("a -- begin --\nabcdefgh\nxy\n.", "a [secret]."),
        ("a -- begin --\nabcdefgh\nxy.", "a [secret]."),
        ("line abcdefgh.", "line [secret]."),
        ("xy", "xy"),
    ] {
        assert_eq!(redact(text, &secrets), shown, "{text:?}");
    }
}

#[test]
fn an_excerpt_keeps_no_piece_of_a_secret_at_a_cut() {
    let secrets = owned(&["hunter2", "schlüssel"]);
    let (both, none) = (
        Cut {
            before: true,
            behind: true,
        },
        Cut {
            before: false,
            behind: false,
        },
    );
    for (excerpt, shown) in [
        (
            &b"ter2 a hunter2 b hunt"[..],
            "[secret] a [secret] b [secret]",
        ),
        (b"r2 hu", "r2 hu"),
        (b"unter2", "[secret]"),
        ("üssel schlü".as_bytes(), "[secret] [secret]"),
        // The cuts split a character.
        (b"\xbcssel schl\xc3", "[secret] [secret]"),
        (b"unter", "[secret]"),
        (b"", ""),
    ] {
        assert_eq!(redact_excerpt(excerpt, both, &secrets), shown);
    }
    let before = Cut {
        before: true,
        behind: false,
    };
    // What ends where the text ends is not the inside of a secret.
    assert_eq!(redact_excerpt(b"unter", before, &secrets), "unter");
    assert_eq!(
        redact_excerpt(b"ter2 a hunter2 b hunt\xc3", none, &secrets),
        "ter2 a [secret] b hunt\u{fffd}"
    );
}

#[test]
fn wherever_a_text_is_cut_the_excerpt_holds_no_piece_of_a_secret() {
    check(|u| {
        let secret = vec_of(u, 6, |u| one_of(u, &["ab", "c", "é", "日"]))?.concat();
        let lead = vec_of(u, 4, |u| one_of(u, &["x", "\n", "ü"]))?.concat();
        let text = format!("{lead}{secret}{lead}");
        let bytes = text.as_bytes();
        let begin = u.choose_index(bytes.len() + 1)?;
        let end = u.int_in_range(begin..=bytes.len())?;
        let cut = Cut {
            before: begin > 0,
            behind: end < bytes.len(),
        };
        let shown = redact_excerpt(&bytes[begin..end], cut, std::slice::from_ref(&secret));
        let letters = shown.replace(REDACTED, "");
        let kept: String = letters.chars().filter(|c| secret.contains(*c)).collect();
        assert!(
            kept.len() < PIECE + 3,
            "{text:?} {begin}..{end} shows {shown:?}"
        );
        Ok(())
    });
}
