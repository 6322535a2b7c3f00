use super::*;

fn cut(length: u32, size: usize, cursor: Option<&str>) -> Result<(Vec<u32>, Option<String>), i64> {
    let all: Vec<u32> = (0..length).collect();
    Page::cut("tools", all.iter(), size, cursor)
        .map(|page| (page.items.into_iter().copied().collect(), page.next))
        .map_err(|e| e.code)
}

#[test]
fn pages_cover_the_list_once_and_end_without_a_cursor() {
    for (length, size, pages) in [
        (0, 10, 1),
        (9, 10, 1),
        (10, 10, 1),
        (11, 10, 2),
        (25, 10, 3),
        (3, 1, 3),
        (5, usize::MAX, 1),
    ] {
        let mut seen = Vec::new();
        let mut cursor = None;
        let mut count = 0;
        loop {
            let (items, next) = cut(length, size, cursor.as_deref()).unwrap();
            assert_eq!(
                cut(length, size, cursor.as_deref()),
                Ok((items.clone(), next.clone()))
            );
            seen.extend(items);
            count += 1;
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, (0..length).collect::<Vec<_>>());
        assert_eq!(count, pages, "{length} by {size}");
    }
}

#[test]
fn a_cursor_that_was_never_given_is_refused() {
    for forged in [
        String::new(),
        "10".to_owned(),
        "%%%".to_owned(),
        encode("tools", 0),
        encode("tools", 7),
        encode("tools", 30),
        encode("prompts", 10),
        format!("{}=", encode("tools", 10)),
        BASE64_URL_SAFE_NO_PAD.encode("tools:+10"),
        BASE64_URL_SAFE_NO_PAD.encode("tools:010"),
        BASE64_URL_SAFE_NO_PAD.encode("tools:-10"),
        BASE64_URL_SAFE_NO_PAD.encode("tools:99999999999999999999999"),
        BASE64_URL_SAFE_NO_PAD.encode(b"\xff\xff"),
    ] {
        assert_eq!(cut(25, 10, Some(&forged)), Err(INVALID_PARAMS), "{forged}");
    }
}
