//! The supported languages, and the differences that the lexer needs to know.

use std::path::Path;

/// A supported language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Go,
    Java,
    Kotlin,
    Swift,
    Ruby,
    C,
    Cpp,
}

use Language::*;

impl Language {
    /// The language by the file name. A `.h` file counts as C; [`Language::of`] looks at its text, too.
    pub(super) fn by_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "rs" => Rust,
            "py" | "pyi" | "pyw" => Python,
            "js" | "jsx" | "mjs" | "cjs" => JavaScript,
            "ts" | "tsx" | "mts" | "cts" => TypeScript,
            "go" => Go,
            "java" => Java,
            "kt" | "kts" => Kotlin,
            "swift" => Swift,
            "rb" | "rake" | "gemspec" | "ru" => Ruby,
            "c" | "h" => C,
            "cc" | "cpp" | "cxx" | "c++" | "hpp" | "hh" | "hxx" | "h++" | "ipp" | "inl" => Cpp,
            _ => return None,
        })
    }

    /// The language by file name and text: a `.h` file may be C++.
    pub(super) fn of(path: &Path, text: &[u8]) -> Option<Self> {
        let language = Self::by_name(path)?;
        let header = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("h"));
        Some(if header && is_cpp(text) {
            Cpp
        } else {
            language
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Rust => "Rust",
            Python => "Python",
            JavaScript => "JavaScript",
            TypeScript => "TypeScript",
            Go => "Go",
            Java => "Java",
            Kotlin => "Kotlin",
            Swift => "Swift",
            Ruby => "Ruby",
            C => "C",
            Cpp => "C++",
        }
    }

    /// Whether block comments nest.
    pub(super) fn nests_comments(self) -> bool {
        matches!(self, Rust | Kotlin | Swift)
    }

    /// Whether comments begin with `#`, and not with `//`.
    pub(super) fn hash_comments(self) -> bool {
        matches!(self, Python | Ruby)
    }

    /// Whether lines that begin with `#` are preprocessor directives.
    pub(super) fn has_preprocessor(self) -> bool {
        matches!(self, C | Cpp)
    }

    /// Whether a word before `(` is a keyword, and not a call.
    pub(super) fn is_keyword(self, word: &[u8]) -> bool {
        let list: &[&str] = match self {
            Rust => &[
                "as", "async", "await", "break", "crate", "dyn", "else", "fn", "for", "if", "impl",
                "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self",
                "static", "struct", "super", "trait", "type", "unsafe", "use", "where", "while",
            ],
            Python => &[
                "and", "as", "assert", "async", "await", "class", "def", "del", "elif", "else",
                "except", "for", "from", "global", "if", "import", "in", "is", "lambda",
                "nonlocal", "not", "or", "raise", "return", "while", "with", "yield",
            ],
            JavaScript | TypeScript => &[
                "await",
                "case",
                "catch",
                "class",
                "delete",
                "do",
                "else",
                "export",
                "extends",
                "for",
                "function",
                "if",
                "import",
                "in",
                "instanceof",
                "new",
                "of",
                "return",
                "super",
                "switch",
                "this",
                "throw",
                "typeof",
                "void",
                "while",
                "with",
                "yield",
            ],
            Go => &[
                "case",
                "chan",
                "defer",
                "else",
                "for",
                "func",
                "go",
                "if",
                "import",
                "interface",
                "map",
                "range",
                "return",
                "select",
                "struct",
                "switch",
                "type",
                "var",
            ],
            Java => &[
                "assert",
                "case",
                "catch",
                "do",
                "else",
                "for",
                "if",
                "instanceof",
                "new",
                "return",
                "super",
                "switch",
                "synchronized",
                "this",
                "throw",
                "throws",
                "try",
                "while",
                "yield",
            ],
            Kotlin => &[
                "as",
                "by",
                "catch",
                "class",
                "constructor",
                "do",
                "else",
                "finally",
                "for",
                "fun",
                "get",
                "if",
                "in",
                "init",
                "is",
                "object",
                "return",
                "set",
                "super",
                "this",
                "throw",
                "try",
                "val",
                "var",
                "when",
                "while",
            ],
            Swift => &[
                "as", "case", "catch", "defer", "do", "else", "for", "func", "guard", "if", "in",
                "init", "is", "repeat", "return", "self", "super", "switch", "throw", "throws",
                "try", "where", "while",
            ],
            Ruby => &[
                "BEGIN", "END", "alias", "and", "begin", "break", "case", "class", "def",
                "defined?", "do", "else", "elsif", "end", "ensure", "false", "for", "if", "in",
                "module", "next", "nil", "not", "or", "redo", "rescue", "retry", "return", "self",
                "super", "then", "true", "undef", "unless", "until", "when", "while", "yield",
            ],
            C | Cpp => &[
                "_Alignas",
                "_Alignof",
                "_Generic",
                "_Static_assert",
                "__attribute__",
                "__declspec",
                "alignas",
                "alignof",
                "asm",
                "case",
                "catch",
                "co_await",
                "co_return",
                "co_yield",
                "const",
                "decltype",
                "defined",
                "delete",
                "do",
                "else",
                "explicit",
                "for",
                "if",
                "int",
                "new",
                "noexcept",
                "operator",
                "return",
                "sizeof",
                "static_assert",
                "switch",
                "throw",
                "try",
                "typeid",
                "typeof",
                "unsigned",
                "void",
                "while",
                "char",
                "bool",
                "requires",
            ],
        };
        list.iter().any(|keyword| keyword.as_bytes() == word)
    }

    /// Whether a value follows the word, so that a `/` begins a regular expression.
    pub(super) fn expects_value(self, word: &[u8]) -> bool {
        let list: &[&str] = match self {
            Ruby => &[
                "and", "begin", "case", "do", "else", "elsif", "if", "in", "not", "or", "return",
                "then", "unless", "until", "when", "while", "yield",
            ],
            _ => &[
                "await",
                "case",
                "delete",
                "do",
                "else",
                "in",
                "instanceof",
                "new",
                "of",
                "return",
                "throw",
                "typeof",
                "void",
                "yield",
            ],
        };
        list.iter().any(|keyword| keyword.as_bytes() == word)
    }
}

/// Whether a header has lines that are not C.
fn is_cpp(text: &[u8]) -> bool {
    text.split(|b| *b == b'\n').take(5_000).any(|line| {
        let line = line.trim_ascii();
        [
            "namespace ",
            "template<",
            "template <",
            "class ",
            "using ",
            "public:",
            "private:",
            "protected:",
        ]
        .iter()
        .any(|sign| line.starts_with(sign.as_bytes()))
            || line.starts_with(b"constexpr ")
    })
}
