//! Versions of npm and of Python, read as `npm` and `uv` read them. The order is that of the registry.

/// The largest number in a version of npm, and the longest version, in bytes. npm takes others for tags.
const MAX_NPM: (u64, usize) = ((1 << 53) - 1, 250);

/// A version of npm (Semantic Versioning 2.0.0 §11, read loosely), without its build. The fields are in the order of
/// comparison.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NpmVersion {
    release: [u64; 3],
    /// Whether nothing follows the numbers.
    is_final: bool,
    pre: Vec<Identifier>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl NpmVersion {
    /// Reads a version, which may have fewer than three numbers.
    pub fn read(text: &str) -> Option<Self> {
        let (numbers, rest) = split_numbers(Self::bare(text));
        if text.len() > MAX_NPM.1 {
            return None;
        }
        let mut release = [0; 3];
        for (at, number) in numbers.split('.').enumerate() {
            let number = number.parse().ok().filter(|it| *it <= MAX_NPM.0);
            *release.get_mut(at)? = number?;
        }
        let (pre, build) = match rest.split_once('+') {
            Some((pre, build)) => (pre, Some(build)),
            None => (rest, None),
        };
        let is_identifier =
            |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let pre_parts = (!pre.is_empty()).then(|| pre.strip_prefix('-').unwrap_or(pre).split('.'));
        let pre_parts = pre_parts.into_iter().flatten();
        let mut parts = pre_parts
            .clone()
            .chain(build.into_iter().flat_map(|it| it.split('.')));
        parts.all(is_identifier).then(|| NpmVersion {
            release,
            is_final: pre.is_empty(),
            pre: pre_parts.map(Identifier::read).collect(),
        })
    }

    /// The text without what npm ignores before a version.
    pub fn bare(text: &str) -> &str {
        text.trim()
            .trim_start_matches(|c: char| matches!(c, 'v' | '=') || c.is_whitespace())
    }

    /// Whether the text is one version. npm takes fewer than three numbers for a range.
    pub fn is_one(text: &str) -> bool {
        let (numbers, _) = split_numbers(Self::bare(text));
        numbers.split('.').count() == 3 && Self::read(text).is_some()
    }
}

impl Identifier {
    fn read(text: &str) -> Self {
        let number = text.parse().map(Identifier::Number);
        number.unwrap_or_else(|_| Identifier::Text(text.to_owned()))
    }
}

/// Digits and dots, and what follows them.
fn split_numbers(text: &str) -> (&str, &str) {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    text.split_at(text.find(|c| !is_number(c)).unwrap_or(text.len()))
}

/// A version of Python packages (PEP 440), without its local part. The fields are in the order of comparison.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonVersion {
    epoch: u64,
    /// Without zeros at the end.
    release: Vec<u64>,
    /// The phase, and its number: 0 for a development release only, 1 to 3 for `a`, `b`, `rc`, 4 for none.
    pre: (u8, u64),
    /// 0 for none.
    post: u64,
    /// The maximum for none.
    dev: u64,
}

const SEPARATORS: [char; 3] = ['.', '-', '_'];

/// The names of the phases before a release, longer ones first.
const PRE: [(&str, u8); 8] = [
    ("alpha", 1),
    ("a", 1),
    ("beta", 2),
    ("b", 2),
    ("preview", 3),
    ("pre", 3),
    ("rc", 3),
    ("c", 3),
];

const POST: [(&str, u8); 3] = [("post", 0), ("rev", 0), ("r", 0)];

impl PythonVersion {
    /// Reads a version to its last character, with the white space and the separators that `uv` passes over.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim_ascii().to_ascii_lowercase();
        let text = text.strip_prefix('v').unwrap_or(&text);
        let (text, local) = text.split_once('+').unwrap_or((text, "0"));
        let is_part = |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphanumeric());
        if !local.split(SEPARATORS).all(is_part) {
            return None;
        }
        let (epoch, text) = text.split_once('!').unwrap_or(("0", text));
        let (numbers, _) = split_numbers(text);
        // The last dot can belong to what follows.
        let numbers = numbers.strip_suffix('.').unwrap_or(numbers);
        let rest = &text[numbers.len()..];
        let release = numbers.split('.').map(python_number);
        let mut release: Vec<u64> = release.collect::<Option<_>>()?;
        while release.last() == Some(&0) {
            release.pop();
        }
        let (pre, rest) = suffix(rest, &PRE)?;
        let (post, rest) = match rest.strip_prefix('-') {
            Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => {
                let (number, rest) = leading_number(number)?;
                (Some((0, number)), rest)
            }
            _ => suffix(rest, &POST)?,
        };
        let (dev, rest) = suffix(rest, &[("dev", 0)])?;
        let only_dev = pre.is_none() && post.is_none() && dev.is_some();
        let version = PythonVersion {
            epoch: Some(epoch)
                .filter(|it| is_part(it))
                .and_then(python_number)?,
            release,
            pre: pre.unwrap_or((if only_dev { 0 } else { 4 }, 0)),
            post: post.map_or(0, |(_, number)| number + 1),
            dev: dev.map_or(u64::MAX, |(_, number)| number),
        };
        rest.is_empty().then_some(version)
    }
}

type Suffix = Option<(u8, u64)>;

/// A part such as `rc1`, `.post2` or `.dev4`, if the text begins with one of these names, and what follows; `None` if
/// its number is too large.
fn suffix<'a>(text: &'a str, names: &[(&str, u8)]) -> Option<(Suffix, &'a str)> {
    let bare = text.strip_prefix(SEPARATORS).unwrap_or(text);
    let mut names = names.iter();
    let found = names.find_map(|(name, kind)| Some((*kind, bare.strip_prefix(name)?)));
    let Some((kind, rest)) = found else {
        return Some((None, text));
    };
    let rest = rest.strip_prefix(SEPARATORS).unwrap_or(rest);
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return Some((Some((kind, 0)), rest));
    }
    let (number, rest) = leading_number(rest)?;
    Some((Some((kind, number)), rest))
}

/// The number at the beginning, and what follows; `None` if it is too large.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((python_number(&text[..end])?, &text[end..]))
}

/// `uv` has no use for the largest number, which stands for none.
fn python_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| *number < u64::MAX)
}

#[cfg(test)]
mod tests;
