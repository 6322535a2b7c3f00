//! Shell patterns: braces and wildcards. Pure: no I/O.

/// How much text braces may produce from one word, in bytes: each alternative repeats the text around it.
const MAX_EXPANSION: usize = 4 << 20;

/// Expands the braces of a word: `a.{b,c}` becomes `a.b` and `a.c`. Stops expanding at 100 words or
/// [`MAX_EXPANSION`].
pub(super) fn expand_braces(word: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut left = vec![word.to_owned()];
    let mut room = MAX_EXPANSION;
    while let Some(word) = left.pop() {
        let parts = word.find('{').and_then(|open| {
            let close = open + word[open..].find('}')?;
            let inner = &word[open + 1..close];
            let made = alternatives(inner);
            let around = word.len() - inner.len() - 2;
            let size = made.iter().map(|part| part.len() + around).sum::<usize>();
            let more = room.checked_sub(size).filter(|_| !made.is_empty())?;
            Some((open, close, made, more))
        });
        match parts {
            Some((open, close, made, more)) if left.len() + done.len() < 100 => {
                room = more;
                for part in made {
                    left.push(format!("{}{part}{}", &word[..open], &word[close + 1..]));
                }
            }
            _ => done.push(word),
        }
    }
    done
}

/// The alternatives of braces with `inner` between them; none if they are literal.
fn alternatives(inner: &str) -> Vec<String> {
    if inner.contains(',') {
        return inner.split(',').map(str::to_owned).collect();
    }
    let Some((first, last)) = inner.split_once("..") else {
        return Vec::new();
    };
    let single = |text: &str| {
        let mut chars = text.chars();
        chars
            .next()
            .filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    if let (Some(first), Some(last)) = (single(first), single(last)) {
        return (first.min(last)..=first.max(last))
            .map(String::from)
            .collect();
    }
    match (first.parse::<u16>(), last.parse::<u16>()) {
        (Ok(first), Ok(last)) => {
            let numbers = (first.min(last)..=first.max(last)).take(100);
            numbers.map(|n| n.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a file name matches a pattern with `*`, `?` and `[…]`. A name that begins with a dot is matched only
/// by a pattern that does so, too.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let mut p = 0;
    let mut n = 0;
    // The positions to continue from if the text after the last `*` does not match.
    let mut back: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some('*') => {
                back = Some((p + 1, n));
                p += 1;
                continue;
            }
            None if n == name.len() => return true,
            Some('?') if n < name.len() => Some(1),
            Some('[') if n < name.len() => class(&pattern[p..], name[n]),
            Some(c) if name.get(n) == Some(c) => Some(1),
            _ => None,
        };
        match (step, back) {
            (Some(length), _) => (p, n) = (p + length, n + 1),
            (None, Some((after, from))) if from < name.len() => {
                back = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            (None, _) => return false,
        }
    }
}

/// The length of the character class at the beginning of `pattern`, if `c` is in it.
fn class(pattern: &[char], c: char) -> Option<usize> {
    let close = pattern
        .iter()
        .skip(2)
        .position(|c| *c == ']')
        .map(|at| at + 2)?;
    let (inner, not) = match pattern[1] {
        '!' | '^' => (&pattern[2..close], true),
        _ => (&pattern[1..close], false),
    };
    let mut within = inner.contains(&c);
    for range in inner.windows(3).filter(|range| range[1] == '-') {
        within |= (range[0]..=range[2]).contains(&c);
    }
    (within != not).then_some(close + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_make_names() {
        let mut made = expand_braces("{a,b}.{c,d}");
        made.sort();
        assert_eq!(made, ["a.c", "a.d", "b.c", "b.d"]);
        let mut made = expand_braces(".e{m..o}v{2..1}");
        made.sort();
        assert_eq!(made, [".emv1", ".emv2", ".env1", ".env2", ".eov1", ".eov2"]);
        for plain in [
            "a{b}c{",
            "{a..}",
            "{..}",
            "{ab..c}",
            "{-1..2}",
            "{1..70000}",
        ] {
            assert_eq!(expand_braces(plain), [plain]);
        }
        assert!(expand_braces("{1..9999}{1..9999}").len() <= 202);
        assert!(expand_braces(&"{a,b}".repeat(50)).len() <= 202);
    }

    #[test]
    fn patterns_fit_as_in_a_shell() {
        for (pattern, name) in [
            ("*", "a"),
            (".e*", ".env"),
            ("a*c", "abbc"),
            ("a*b*c", "aXbYbc"),
            ("?x", "ax"),
            ("[a-c]x", "bx"),
            ("[!a]x", "bx"),
            ("[]]x", "]x"),
            ("**", "ab"),
            ("", ""),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*", ".env"),
            ("?env", ".env"),
            ("a", "ab"),
            ("[a-c]x", "dx"),
            ("[!b]x", "bx"),
            ("[a", "a"),
            ("a*c", "ab"),
            ("?", ""),
            ("[", ""),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        let hard = "a*".repeat(50) + "b";
        assert!(!matches(&hard, &"a".repeat(5_000)));
    }
}
