//! Templates of recipes: a subset of Jinja with bounded time and memory, and without access to files.
//!
//! minijinja bounds how many instructions run, but not the time and memory of one, which may work on values that
//! were doubled repeatedly. So the tokens of a template are checked before it runs: it may use only `if`, `for`
//! and `set x = …`, it may not multiply, and the largest value that it can build, computed from how often values
//! are combined, is bounded by [`MAX_SIZE`]. Fuel bounds the time; the larger the values, the less fuel.

use super::Error;
use super::library::MAX_FILE;
use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value as TemplateValue, ValueKind};
use minijinja::{Environment, ErrorKind, UndefinedBehavior, filters, tests};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The variable with the folder at which relative paths start.
pub(super) const RECIPE_DIR: &str = "recipe_dir";

/// The largest text of a rendered recipe, in bytes.
const MAX_OUTPUT: usize = 4 << 20;

/// The largest value that a template may be able to build, in bytes.
const MAX_SIZE: usize = 4 << 20;

/// How many tokens one pair of braces holds. The parser and the compiler recurse for each operator.
const MAX_TOKENS: usize = 400;

/// How many blocks are open at once; each `elif` counts as one.
const MAX_DEPTH: usize = 50;

/// The work of all templates of a recipe: instructions times the size of the largest value.
const MAX_WORK: usize = 300_000_000;

/// The smallest size that a value counts as, in bytes.
pub(super) const MIN_SIZE: usize = 4 << 10;

/// How many times longer a text can become by escaping: `\u{1}` for one byte.
const ESCAPED: usize = 6;

/// How many times more memory a text counts for as a list of its parts.
const LISTED: usize = 4;

/// How many numbers a range has.
const MAX_RANGE: usize = 1_000;

/// The field whose texts are not templates: the description of a parameter may show one.
pub(super) const NOT_RENDERED: &str = "parameters";

/// The variables that the templates of `recipe` use and do not define.
///
/// # Errors
/// [`Error::Template`] for a template that is invalid or could exceed a limit, [`Error::TooLarge`].
pub(super) fn variables(recipe: &Map<String, Value>) -> Result<BTreeSet<String>, Error> {
    let environment = environment(MIN_SIZE);
    let mut names = BTreeSet::new();
    for_each_text(recipe, &mut |text| {
        names.extend(variables_of(&environment, text)?);
        Ok(())
    })?;
    Ok(names)
}

/// The variables that one text uses and does not define.
///
/// # Errors
/// [`Error::Template`].
pub(super) fn variables_of(
    environment: &Environment<'_>,
    text: &str,
) -> Result<BTreeSet<String>, Error> {
    if is_plain(text) {
        return Ok(BTreeSet::new());
    }
    let text = mark_foreign_braces(environment, text);
    size_of_largest(&text, 0, Tags::OfRecipes)?;
    let template = environment.template_from_str(&text).map_err(refused)?;
    let mut names: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
    names.remove("range");
    Ok(names)
}

/// The recipe with every text rendered, except those under `parameters`.
///
/// # Errors
/// As [`variables`], and for a template that uses a variable that is not in `texts`.
pub(super) fn fill_in(
    recipe: &Map<String, Value>,
    texts: &BTreeMap<String, String>,
) -> Result<Map<String, Value>, Error> {
    // Checks the sizes before rendering.
    for_each_text(recipe, &mut |_| Ok(()))?;
    let size = texts.values().map(String::len).sum();
    let mut filler = Filler {
        environment: environment(largest_made(size)),
        texts,
        size,
        output: MAX_OUTPUT,
        work: MAX_WORK,
    };
    map_texts(recipe, &mut |text| filler.text(text))
}

/// The recipe with `change` made to each text outside of the parameters.
pub(super) fn map_texts(
    recipe: &Map<String, Value>,
    change: &mut impl FnMut(&str) -> Result<String, Error>,
) -> Result<Map<String, Value>, Error> {
    fn changed(
        value: &Value,
        change: &mut impl FnMut(&str) -> Result<String, Error>,
    ) -> Result<Value, Error> {
        Ok(match value {
            Value::String(text) => Value::String(change(text)?),
            Value::Array(items) => {
                let items = items.iter().map(|item| changed(item, change));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(key, value)| Ok((key.clone(), changed(value, change)?)));
                Value::Object(fields.collect::<Result<_, Error>>()?)
            }
            other => other.clone(),
        })
    }
    let fields = recipe.iter().map(|(key, value)| {
        let value = match key.as_str() {
            NOT_RENDERED => value.clone(),
            _ => changed(value, change)?,
        };
        Ok((key.clone(), value))
    });
    fields.collect()
}

/// The largest text that a filter may make of texts of this size.
fn largest_made(size: usize) -> usize {
    2 * size.max(MIN_SIZE)
}

struct Filler<'a> {
    environment: Environment<'static>,
    texts: &'a BTreeMap<String, String>,
    /// The size of all texts together.
    size: usize,
    /// How much text may still be rendered, in bytes.
    output: usize,
    /// How much of [`MAX_WORK`] is left.
    work: usize,
}

impl Filler<'_> {
    fn text(&mut self, text: &str) -> Result<String, Error> {
        if is_plain(text) {
            return Ok(text.to_owned());
        }
        let text = mark_foreign_braces(&self.environment, text);
        let size = size_of_largest(&text, self.size, Tags::OfRecipes)?;
        self.environment.set_fuel(Some((self.work / size) as u64));
        let template = self.environment.template_from_str(&text).map_err(refused)?;
        let mut made = Bounded {
            content: Vec::new(),
            left: self.output,
        };
        let used = match template.render_captured_to(self.texts, &mut made) {
            Ok(captured) => captured.state().fuel_levels().map_or(0, |(used, _)| used),
            Err(_) if made.left == 0 => return Err(Error::TooLarge),
            Err(error) => return Err(refused(error)),
        };
        let used = usize::try_from(used).unwrap_or(usize::MAX);
        self.work = self.work.saturating_sub(used.saturating_mul(size));
        self.output = made.left;
        String::from_utf8(made.content).map_err(|_| Error::TooLarge)
    }
}

/// A writer with a size limit. After a refused write, `left` is 0.
pub(super) struct Bounded {
    pub(super) content: Vec<u8>,
    pub(super) left: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.left.checked_sub(bytes.len()) {
            Some(left) if left > 0 => self.left = left,
            _ => {
                self.left = 0;
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        self.content.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn refused(error: minijinja::Error) -> Error {
    Error::Template(match error.kind() {
        ErrorKind::OutOfFuel => "it would run for too long".to_owned(),
        kind => {
            let detail = error.detail().map(|detail| format!(": {detail}"));
            let line = error.line().filter(|line| *line > 1);
            let line = line.map(|line| format!(" (line {line} of the text)"));
            let (detail, line) = (detail.unwrap_or_default(), line.unwrap_or_default());
            format!("{kind}{detail}{line}")
        }
    })
}

pub(super) fn is_plain(text: &str) -> bool {
    !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

/// Calls `visit` with every text that may be a template.
fn for_each_text(
    recipe: &Map<String, Value>,
    visit: &mut impl FnMut(&str) -> Result<(), Error>,
) -> Result<(), Error> {
    fn walk(
        value: &Value,
        left: &mut usize,
        visit: &mut impl FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match value {
            Value::String(text) => {
                *left = left.checked_sub(text.len()).ok_or(Error::TooLarge)?;
                visit(text)
            }
            Value::Array(items) => items.iter().try_for_each(|item| walk(item, left, visit)),
            Value::Object(fields) => fields
                .values()
                .try_for_each(|field| walk(field, left, visit)),
            _ => Ok(()),
        }
    }
    let mut left = MAX_FILE;
    let fields = recipe.iter().filter(|(key, _)| *key != NOT_RENDERED);
    for (_, value) in fields {
        walk(value, &mut left, visit)?;
    }
    Ok(())
}

/// Marks braces that are not valid Jinja, such as `{{some words}}`, as raw text, as Goose does.
fn mark_foreign_braces(environment: &Environment<'_>, text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let Some(length) = rest[start..].find("}}") else {
            break;
        };
        let (before, braces) = (&rest[..start], &rest[start..start + length + 2]);
        kept.push_str(before);
        let inner = braces[2..length].trim();
        let foreign = !inner.starts_with(['"', '\''])
            && !braces.contains(['\n', '%'])
            && tokens_of(braces) <= MAX_TOKENS
            && environment.template_from_str(braces).is_err();
        if foreign {
            kept.extend(["{% raw %}", braces, "{% endraw %}"])
        } else {
            kept.push_str(braces)
        }
        rest = &rest[start + length + 2..];
    }
    kept + rest
}

fn tokens_of(braces: &str) -> usize {
    let tokens = tokenize(braces, false, SyntaxConfig::default());
    tokens
        .take(MAX_TOKENS + 1)
        .take_while(Result::is_ok)
        .count()
}

/// Refuses a template that could exceed a limit. Returns the size of the largest value that it can build from
/// values of `size` bytes together.
pub(super) fn size_of_largest(text: &str, size: usize, tags: Tags) -> Result<usize, Error> {
    let mut repeats = 1usize;
    let mut most = 1usize;
    let mut blocks = Blocks(Vec::new(), tags);
    let mut tag: Vec<Token<'_>> = Vec::new();
    for token in tokenize(text, false, SyntaxConfig::default()) {
        let (token, _) = token.map_err(refused)?;
        match token {
            Token::TemplateData(_) => {}
            Token::VariableStart | Token::BlockStart => tag.clear(),
            Token::VariableEnd => {
                tags.check_names(&tag)?;
                most = most.max(values_combined(&tag));
            }
            Token::BlockEnd => {
                tags.check_names(&tag)?;
                let combined = values_combined(expression_of(&tag));
                match blocks.enter(&tag)? {
                    Names::Something => repeats = repeats.saturating_mul(combined),
                    Names::Nothing => most = most.max(combined),
                }
            }
            Token::Mul => return forbidden("templates may not multiply"),
            _ if tag.len() == MAX_TOKENS => {
                return forbidden("there is too much between one pair of braces");
            }
            token => tag.push(token),
        }
    }
    let size = largest_made(size + text.len())
        .saturating_mul(repeats)
        .saturating_mul(most);
    if size > MAX_SIZE {
        forbidden("its values are too large for how often they repeat each other")
    } else {
        Ok(size)
    }
}

fn forbidden<T>(reason: &str) -> Result<T, Error> {
    Err(Error::Template(reason.to_owned()))
}

/// Which tags a template may use.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tags {
    /// `if`, `for` and `set`.
    OfRecipes,
    /// These and `with`, which prompts of Goose use.
    OfPrompts,
}

impl Tags {
    /// Refuses filters and tests that do not exist, which minijinja notices only when it calls them. Prompts are
    /// rendered before they are stored.
    fn check_names(self, tag: &[Token<'_>]) -> Result<(), Error> {
        if self == Tags::OfPrompts {
            return Ok(());
        }
        let unknown = |kind: &str, name: &str, names: &[&str]| {
            forbidden(&format!(
                "there is no {kind} `{name}`; there are {}",
                names.join(", ")
            ))
        };
        for (at, token) in tag.iter().enumerate() {
            let is_negated = matches!(tag.get(at + 1), Some(Token::Ident("not")));
            let after = tag.get(at + 1 + usize::from(is_negated));
            match (token, after) {
                (Token::Pipe, Some(Token::Ident(name))) if !FILTERS.contains(name) => {
                    return unknown("filter", name, FILTERS);
                }
                (Token::Ident("is"), Some(Token::Ident(name))) if !TESTS.contains(name) => {
                    return unknown("test", name, TESTS);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The open blocks, each with the number of levels that it adds.
struct Blocks(Vec<usize>, Tags);

/// Whether a block names a value, which can then be used repeatedly.
enum Names {
    Something,
    Nothing,
}

impl Blocks {
    fn enter(&mut self, tag: &[Token<'_>]) -> Result<Names, Error> {
        let keyword = match tag.first() {
            Some(Token::Ident(keyword)) => *keyword,
            _ => "",
        };
        match keyword {
            "if" | "for" => self.0.push(1),
            "elif" => self
                .0
                .last_mut()
                .into_iter()
                .for_each(|levels| *levels += 1),
            "endif" | "endfor" => drop(self.0.pop()),
            "else" => {}
            "set" if tag.iter().any(|token| matches!(token, Token::Assign)) => {}
            "with" if self.1 == Tags::OfPrompts => self.0.push(1),
            "endwith" if self.1 == Tags::OfPrompts => drop(self.0.pop()),
            "include" => {
                return forbidden(
                    "`include` names one file below the folder of the recipe's file, as in \
                     {% include \"notes.md\" %}, and a recipe that is not in a file includes none",
                );
            }
            other => return forbidden(&format!("templates have no {{% {other} %}}")),
        }
        if self.0.iter().sum::<usize>() > MAX_DEPTH {
            return forbidden("too many blocks are open at once");
        }
        if tag.iter().any(|it| matches!(it, Token::Ident("recursive"))) {
            return forbidden("templates have no recursive loops");
        }
        Ok(match keyword {
            "for" | "set" | "with" => Names::Something,
            _ => Names::Nothing,
        })
    }
}

/// The expression after the names of a `for` or `set`.
fn expression_of<'a, 'b>(tag: &'a [Token<'b>]) -> &'a [Token<'b>] {
    let begin = match tag.first() {
        Some(Token::Ident("for")) => tag.iter().position(|it| matches!(it, Token::Ident("in"))),
        Some(Token::Ident("set" | "with")) => tag.iter().position(|it| matches!(it, Token::Assign)),
        _ => None,
    };
    &tag[begin.unwrap_or(0)..]
}

/// How many times larger than the largest value the value of an expression can be. With an operator or a comma
/// it can combine all names in it that are not attributes or filters; otherwise it is one of them. A `~` may
/// also turn a list into text, with escapes (filters do not, see [`environment`]), and a list of characters or
/// lines takes more memory than the text.
fn values_combined(expression: &[Token<'_>]) -> usize {
    let combines = |token: &Token<'_>| matches!(token, Token::Tilde | Token::Plus | Token::Comma);
    let combines = expression.iter().any(combines);
    let before = std::iter::once(None).chain(expression.iter().map(Some));
    let mut names = 0;
    let mut factor = 1usize;
    for (before, token) in before.zip(expression) {
        match (before, token) {
            (_, Token::Tilde) => factor = factor.saturating_mul(ESCAPED),
            (Some(Token::Pipe), Token::Ident("lines" | "list" | "split")) => {
                factor = factor.saturating_mul(LISTED);
            }
            (Some(Token::Pipe | Token::Dot), _) => {}
            (_, Token::Ident(name)) if combines && !KEYWORDS.contains(name) => names += 1,
            _ => {}
        }
    }
    factor.saturating_mul(names.max(1))
}

const KEYWORDS: [&str; 13] = [
    "in", "is", "not", "and", "or", "if", "else", "true", "false", "none", "True", "False", "None",
];

/// Adds filters or tests to an environment, and lists their names.
macro_rules! named {
    ($list:ident, $add:ident, $method:ident($largest:ident) { $($name:literal => $run:expr,)* }) => {
        const $list: &[&str] = &[$($name),*];

        fn $add(environment: &mut Environment<'_>, $largest: usize) {
            $(environment.$method($name, $run);)*
        }
    };
}

named! {
    FILTERS, add_filters, add_filter(largest) {
        "abs" => filters::abs,
        "bool" => filters::bool,
        "capitalize" => capitalize,
        "count" => filters::length,
        "d" => filters::default,
        "default" => filters::default,
        "first" => filters::first,
        "float" => filters::float,
        "indent" => indent(largest),
        "int" => filters::int,
        "join" => join(largest),
        "last" => filters::last,
        "length" => filters::length,
        "lines" => lines,
        "list" => filters::list,
        "lower" => lower,
        "replace" => replace(largest),
        "reverse" => filters::reverse,
        "round" => filters::round,
        "safe" => safe,
        "sort" => filters::sort,
        "split" => split,
        "title" => title,
        "trim" => trim,
        "unique" => filters::unique,
        "upper" => upper,
    }
}

named! {
    TESTS, add_tests, add_test(_largest) {
        "boolean" => tests::is_boolean,
        "defined" => tests::is_defined,
        "divisibleby" => tests::is_divisibleby,
        "endingwith" => tests::is_endingwith,
        "eq" => tests::is_eq,
        "equalto" => tests::is_eq,
        "even" => tests::is_even,
        "ge" => tests::is_ge,
        "gt" => tests::is_gt,
        "in" => tests::is_in,
        "integer" => tests::is_integer,
        "iterable" => tests::is_iterable,
        "le" => tests::is_le,
        "lt" => tests::is_lt,
        "mapping" => tests::is_mapping,
        "ne" => tests::is_ne,
        "none" => tests::is_none,
        "number" => tests::is_number,
        "odd" => tests::is_odd,
        "sequence" => tests::is_sequence,
        "startingwith" => tests::is_startingwith,
        "string" => tests::is_string,
        "undefined" => tests::is_undefined,
    }
}

/// The functions, filters and tests of templates. None does I/O, none makes a text larger than `largest`, and
/// none converts a list to text implicitly.
pub(super) fn environment(largest: usize) -> Environment<'static> {
    let mut it = Environment::empty();
    it.set_undefined_behavior(UndefinedBehavior::Strict);
    it.add_function("range", range);
    add_filters(&mut it, largest);
    add_tests(&mut it, largest);
    it
}

fn range(first: usize, last: Option<usize>) -> Result<Vec<usize>, minijinja::Error> {
    let (first, last) = match last {
        Some(last) => (first, last),
        None => (0, first),
    };
    if last.saturating_sub(first) > MAX_RANGE {
        Err(too_much(&format!(
            "range has more than {MAX_RANGE} numbers"
        )))
    } else {
        Ok((first..last).collect())
    }
}

fn too_much(reason: &str) -> minijinja::Error {
    minijinja::Error::new(ErrorKind::InvalidOperation, reason.to_owned())
}

/// Refuses a result that is larger than both `largest` and the given text.
fn bounded(made: usize, given: usize, largest: usize) -> Result<(), minijinja::Error> {
    if made > given.max(largest) {
        Err(too_much("a filter makes a text that is too long"))
    } else {
        Ok(())
    }
}

/// Returns the text unchanged, because templates escape nothing.
fn safe(text: &str) -> String {
    text.to_owned()
}

fn lower(text: &str) -> String {
    text.to_lowercase()
}

fn upper(text: &str) -> String {
    text.to_uppercase()
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars.as_str().to_lowercase().chars()).collect()
}

fn title(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '\'');
    words.map(capitalize).collect()
}

fn trim(text: &str, what: Option<&str>) -> String {
    match what {
        Some(what) => text.trim_matches(|c| what.contains(c)).to_owned(),
        None => text.trim().to_owned(),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn split(text: &str, at: Option<&str>) -> Vec<String> {
    match at.filter(|at| !at.is_empty()) {
        Some(at) => text.split(at).map(str::to_owned).collect(),
        None => text.split_whitespace().map(str::to_owned).collect(),
    }
}

fn replace(
    largest: usize,
) -> impl Fn(&str, &str, &str) -> Result<String, minijinja::Error> + Send + Sync + 'static {
    move |text, from, to| {
        let count = text.matches(from).count();
        let made = text.len().saturating_add(count.saturating_mul(to.len()));
        bounded(made, text.len(), largest)?;
        Ok(text.replace(from, to))
    }
}

fn indent(
    largest: usize,
) -> impl Fn(&str, usize) -> Result<String, minijinja::Error> + Send + Sync + 'static {
    move |text, width| {
        let breaks = text.matches('\n').count();
        let made = text.len().saturating_add(breaks.saturating_mul(width));
        bounded(made.max(width), text.len(), largest)?;
        Ok(text.replace('\n', &format!("\n{}", " ".repeat(width))))
    }
}

fn join(
    largest: usize,
) -> impl Fn(Vec<TemplateValue>, Option<&str>) -> Result<String, minijinja::Error> + Send + Sync + 'static
{
    move |items: Vec<TemplateValue>, between| {
        let texts = items.iter().map(|item| match item.kind() {
            ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain => {
                Err(too_much("`join` is for lists of texts"))
            }
            _ => Ok(item.to_string()),
        });
        let items = texts.collect::<Result<Vec<_>, _>>()?;
        let between = between.unwrap_or_default();
        let given: usize = items.iter().map(String::len).sum();
        let made = given.saturating_add(between.len().saturating_mul(items.len()));
        bounded(made, given, largest)?;
        Ok(items.join(between))
    }
}

#[cfg(test)]
mod unit_tests;
