//! The shell that runs commands, and how it takes them.

use crate::sys;
use crate::sys::process::Command;
use gosling_core::store::settings::SHELL;
use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Programs that are set as the shell of users who must not log in.
const NOT_SHELLS: [&str; 3] = ["nologin", "false", "true"];

/// How a shell takes a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Posix,
    PowerShell,
    /// The one of Windows, which takes one line.
    Cmd,
}

impl Dialect {
    /// That of the user's shell, which on Unix is as shells there are.
    fn of_user(shell: &Path) -> Self {
        if cfg!(windows) {
            Self::of(shell)
        } else {
            Dialect::Posix
        }
    }

    /// That of the shell with this path.
    fn of(shell: &Path) -> Self {
        let name = shell.file_stem().and_then(OsStr::to_str);
        match name.unwrap_or_default().to_ascii_lowercase().as_str() {
            "powershell" | "pwsh" => Dialect::PowerShell,
            "cmd" => Dialect::Cmd,
            _ => Dialect::Posix,
        }
    }

    /// What stands before a command.
    fn options(self) -> &'static [&'static str] {
        match self {
            Dialect::Posix => &["-c"],
            Dialect::PowerShell => &["-NoProfile", "-NonInteractive", "-Command"],
            // Without what the registry runs before each command. What follows is passed as it is.
            Dialect::Cmd => &["/d", "/s", "/c"],
        }
    }

    /// A command with the quotes and escapes of Unix. What only their reader finds, as the value of a variable, is left
    /// as it is.
    fn as_on_unix(self, text: &str) -> Cow<'_, str> {
        let escape = match self {
            Dialect::Posix => return Cow::Borrowed(text),
            Dialect::PowerShell => '`',
            Dialect::Cmd => '^',
        };
        let is_cmd = self == Dialect::Cmd;
        // The quote that is open.
        let mut open = None;
        let mut made = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                // Within quotes, `^` is a letter for cmd; PowerShell escapes within double quotes, too.
                c if c == escape && (open.is_none() || !is_cmd && open == Some('"')) => {
                    let escaped = chars.next().map(|c| if c == '\\' { '/' } else { c });
                    made.extend(escaped.iter().flat_map(|c| ['\\', *c]));
                }
                '\\' => made.push('/'),
                '"' | '\'' if !(is_cmd && c == '\'') => {
                    open = match open {
                        None => Some(c),
                        Some(quote) => (quote != c).then_some(quote),
                    };
                    made.push(c);
                }
                '\'' | '`' | '$' | '#' if is_cmd => made.extend(['\\', c]),
                // They separate words for cmd.
                ',' | ';' | '=' if is_cmd && open.is_none() => made.push(' '),
                c => made.push(c),
            }
        }
        Cow::Owned(made)
    }

    /// Whether it runs only the first line of this command.
    fn cuts(self, text: &str) -> bool {
        self == Dialect::Cmd && text.trim().contains(['\n', '\r'])
    }
}

/// The user's shell. On Unix that of `SHELL`, or else the first of the usual shells that exists. On Windows that of
/// `GOOSE_SHELL`, or else `cmd`.
pub(super) fn shell() -> PathBuf {
    if !cfg!(windows) {
        return unix_shell();
    }
    let named = env::var_os(SHELL.name).filter(|name| !name.is_empty());
    named.unwrap_or_else(|| "cmd".into()).into()
}

fn unix_shell() -> PathBuf {
    let own = env::var_os("SHELL").map(PathBuf::from);
    let is_one = |shell: &Path| {
        let name = shell.file_name().and_then(|name| name.to_str());
        !name.is_some_and(|name| NOT_SHELLS.contains(&name))
    };
    let own = own.filter(|shell| shell.is_absolute() && is_one(shell) && sys::is_executable(shell));
    own.unwrap_or_else(|| {
        let known = ["/bin/bash", "/usr/bin/bash", "/bin/zsh", "/bin/sh"].map(PathBuf::from);
        let found = known.into_iter().find(|shell| sys::is_executable(shell));
        found.unwrap_or_else(|| PathBuf::from("sh"))
    })
}

/// What a model must know of the user's shell if it is not like those of Unix, for the instructions.
pub(super) fn about() -> &'static str {
    match Dialect::of_user(&shell()) {
        Dialect::Posix => "",
        Dialect::PowerShell => "The shell is PowerShell. ",
        Dialect::Cmd => "The shell is cmd of Windows, and runs one line. ",
    }
}

/// A command as a shell of Unix would have it, with the paths of Unix, to look for those that it names.
pub(super) fn as_on_unix(text: &str) -> Cow<'_, str> {
    Dialect::of_user(&shell()).as_on_unix(text)
}

/// The user's shell with this command.
pub(super) fn with_command(shell: &Path, text: &str) -> Command {
    let mut command = Command::new(shell);
    command.args(Dialect::of_user(shell).options()).arg(text);
    command
}

/// Why the shell would run only a part of this command.
pub(super) fn refusal(text: &str) -> Option<&'static str> {
    let is_cut = |shell: &Path| Dialect::of_user(shell).cuts(text);
    is_cut(&shell()).then_some(
        "`command` has several lines, of which cmd runs only the first: join them with `&`, or set GOOSE_SHELL to \
         powershell",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::developer::shell_words::words_of;

    #[test]
    fn each_shell_takes_a_command_in_its_way() {
        let power_shell = "-NoProfile -NonInteractive -Command";
        for (shell, options) in [
            ("/bin/bash", "-c"),
            ("C:/Git/bin/bash.exe", "-c"),
            ("cmd", "/d /s /c"),
            ("CMD.EXE", "/d /s /c"),
            ("pwsh", power_shell),
            ("/opt/PowerShell.exe", power_shell),
        ] {
            let dialect = Dialect::of(Path::new(shell));
            assert_eq!(dialect.options().join(" "), options, "{shell}");
        }
    }

    #[test]
    fn a_command_is_read_with_the_escapes_of_its_shell() {
        for (dialect, text, meant) in [
            (
                Dialect::Cmd,
                r"type pri^vate.txt",
                &["type", "private.txt"][..],
            ),
            (Dialect::Cmd, r"type ^.^e^n^v", &["type", ".env"]),
            (Dialect::Cmd, r"type a\^b", &["type", "a/b"]),
            (Dialect::Cmd, r"type a^\b^", &["type", "a/b"]),
            (Dialect::Cmd, r#"type "a^b c""#, &["type", "a^b c"]),
            (
                Dialect::Cmd,
                r"type a^&b&type c",
                &["type", "a&b", "type", "c"],
            ),
            (
                Dialect::Cmd,
                r"echo it's&type .env",
                &["echo", "it's", "type", ".env"],
            ),
            (Dialect::Cmd, r"type x,.env", &["type", "x", ".env"]),
            (Dialect::Cmd, r"type #x $HOME", &["type", "#x", "$HOME"]),
            (
                Dialect::Cmd,
                r"C:\a.exe /f=.env",
                &["C:/a.exe", "/f", ".env"],
            ),
            (
                Dialect::PowerShell,
                r"cat pri`vate.txt",
                &["cat", "private.txt"],
            ),
            (
                Dialect::PowerShell,
                r#"cat "pri`vate.txt""#,
                &["cat", "private.txt"],
            ),
            (
                Dialect::PowerShell,
                r"cat 'a`b' c\d",
                &["cat", "a`b", "c/d"],
            ),
            (Dialect::Posix, r"cat a\ b", &["cat", "a b"]),
        ] {
            let words = words_of(&dialect.as_on_unix(text), &|_| None).unwrap();
            let words: Vec<_> = words.into_iter().map(|word| word.text).collect();
            assert_eq!(words, meant, "{dialect:?} {text}");
        }
    }

    #[test]
    fn a_command_that_would_be_cut_is_refused() {
        for (dialect, text, cut) in [
            (Dialect::Cmd, "one\ntwo", true),
            (Dialect::Cmd, "one\rtwo", true),
            (Dialect::Cmd, "one\r\n", false),
            (Dialect::PowerShell, "one\ntwo", false),
            (Dialect::Posix, "one\ntwo", false),
        ] {
            assert_eq!(dialect.cuts(text), cut, "{dialect:?} {text:?}");
        }
    }
}
