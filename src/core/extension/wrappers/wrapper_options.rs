//! How programs read their options. An option without a row is not understood.

/// How a program reads options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// npm, behind `npx`: any number of dashes, and each option has a word of its own. The first word that is not an
    /// option ends them.
    Npx,
    /// npm: the same, but options may stand anywhere before `--`.
    NpmExec,
    /// `--name value`, `--name=value`, `-n value`, `-nvalue`, and several short options in one word.
    Plain,
    /// The same, and long options may be abbreviated.
    Argparse,
}

impl Syntax {
    /// Whether npm reads them.
    pub fn is_npm(self) -> bool {
        matches!(self, Syntax::Npx | Syntax::NpmExec)
    }
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// No value, or a boolean after `=`.
    Switch,
    /// The rest of the word, or the next word.
    Value,
}

/// What an option means for that which is fetched and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing.
    Harmless,
    /// It names the package of the program.
    Provides,
    /// It names a package that is fetched, too.
    Adds,
    /// It names a file or a folder that says what is fetched.
    Requirements,
    /// It chooses where packages come from.
    Source,
    /// It names a file or a folder of this machine, or something else that this machine decides.
    Machine,
    /// It runs other code than the package's, or names a file that can.
    Code,
    /// It gives a container power over this machine.
    Power,
}

/// Options with the same meaning: their names without dashes, separated by spaces.
#[derive(Debug)]
pub struct Row(pub Takes, pub Meaning, pub &'static str);

/// The options of a program or of a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How it reads them.
    pub syntax: Syntax,
    /// The options.
    pub rows: &'static [&'static [Row]],
}

/// An option of a command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given<'a> {
    /// Its name in the table, without dashes.
    pub name: &'static str,
    /// What it means.
    pub meaning: Meaning,
    /// Its value.
    pub value: Option<&'a str>,
    /// The word of the command line.
    pub word: &'a str,
}

/// The words of a command line that are left.
pub type Words<'a> = std::slice::Iter<'a, String>;

impl Options {
    /// Reads an option: one word with its value, or several short options and the value of the last; `None` if it
    /// is not understood. `add` gets each option, and may refuse it.
    pub fn read<'a>(
        &self,
        word: &'a str,
        words: &mut Words<'a>,
        add: &mut dyn FnMut(Given<'a>) -> Option<()>,
    ) -> Option<()> {
        let bare = word.trim_start_matches('-');
        let dashes = word.len() - bare.len();
        if self.syntax.is_npm() || dashes == 2 {
            let (name, joined) = match bare.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (bare, None),
            };
            let (row, name) = self.find(name, dashes == 2)?;
            return add(self.given((row, name, word), joined, words)?);
        }
        let mut rest = bare;
        while dashes == 1 && !rest.is_empty() {
            let length = rest.chars().next().map_or(0, char::len_utf8);
            let (short, joined) = rest.split_at(length);
            let (row, name) = self.find(short, false)?;
            if row.0 == Takes::Value {
                let joined = joined.strip_prefix('=').unwrap_or(joined);
                let joined = Some(joined).filter(|joined| !joined.is_empty());
                return add(self.given((row, name, word), joined, words)?);
            }
            add(self.given((row, name, word), None, words)?)?;
            rest = joined;
        }
        (dashes == 1 && !bare.is_empty()).then_some(())
    }

    /// The option with the value that it takes.
    fn given<'a>(
        &self,
        (row, name, word): (&'static Row, &'static str, &'a str),
        joined: Option<&'a str>,
        words: &mut Words<'a>,
    ) -> Option<Given<'a>> {
        let Row(takes, meaning, _) = *row;
        let is_npm = self.syntax.is_npm();
        let next = words.as_slice().first().map(String::as_str);
        let value = match takes {
            Takes::Value if joined.is_some() => joined.filter(|value| !value.is_empty()),
            Takes::Value => {
                let value = next.filter(|next| !next.is_empty() && !next.starts_with('-'));
                value.and_then(|_| words.next()).map(String::as_str)
            }
            // npm takes such a word for the value of the flag.
            _ if is_npm && matches!(next, Some("true" | "false" | "null")) => return None,
            // npm takes any other value for a word of its own.
            _ if is_npm && !matches!(joined, None | Some("true" | "false")) => return None,
            Takes::Nothing if joined.is_some() => return None,
            Takes::Nothing | Takes::Switch => joined,
        };
        if takes == Takes::Value && value.is_none() {
            return None;
        }
        Some(Given {
            name,
            meaning,
            value,
            word,
        })
    }

    /// The option of this name, without dashes. `is_long` says whether there were two.
    pub fn find(&self, name: &str, is_long: bool) -> Option<(&'static Row, &'static str)> {
        let rows = self.rows.iter().copied().flatten();
        let all = || {
            rows.clone()
                .flat_map(|row| row.2.split_whitespace().map(move |name| (row, name)))
        };
        let is_named = |it: &str| it == name && (self.syntax.is_npm() || (it.len() > 1) == is_long);
        let exact = all().find(|(_, it)| is_named(it));
        if exact.is_some() || self.syntax != Syntax::Argparse || !is_long {
            return exact;
        }
        let mut begun = all().filter(|(_, it)| it.len() > 1 && it.starts_with(name));
        let found = begun.next();
        found.filter(|_| begun.next().is_none())
    }
}
