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

/// All languages.
pub(super) const ALL: [Language; 11] = [
    Rust, Python, JavaScript, TypeScript, Go, Java, Kotlin, Swift, Ruby, C, Cpp,
];

const RUST_KEYWORDS: &str = "as async await break crate dyn else fn for if impl in let loop match mod \
    move mut pub ref return self static struct super trait type unsafe use where while";
const PYTHON_KEYWORDS: &str = "and as assert async await class def del elif else except for from global \
    if import in is lambda nonlocal not or raise return while with yield";
const SCRIPT_KEYWORDS: &str = "await case catch class delete do else export extends for function if \
    import in instanceof new of return super switch this throw typeof void while with yield";
const GO_KEYWORDS: &str = "case chan defer else for func go if import interface map range return select \
    struct switch type var";
const JAVA_KEYWORDS: &str = "assert case catch do else for if instanceof new return super switch \
    synchronized this throw throws try while yield";
const KOTLIN_KEYWORDS: &str = "as by catch class constructor do else finally for fun get if in init is \
    object return set super this throw try val var when while";
const SWIFT_KEYWORDS: &str = "as case catch defer do else for func guard if in init is repeat return \
    self super switch throw throws try where while";
const RUBY_KEYWORDS: &str = "BEGIN END alias and begin break case class def defined? do else elsif end \
    ensure false for if in module next nil not or redo rescue retry return self super then true undef \
    unless until when while yield";
const C_KEYWORDS: &str = "_Alignas _Alignof _Generic _Static_assert __attribute__ __declspec alignas \
    alignof asm case catch co_await co_return co_yield const decltype defined delete do else explicit for \
    if int new noexcept operator return sizeof static_assert switch throw try typeid typeof unsigned void \
    while char bool requires";

/// The words that a value follows.
const RUBY_VALUES: &str =
    "and begin case do else elsif if in not or return then unless until when while yield";
const SCRIPT_VALUES: &str =
    "await case delete do else in instanceof new of return throw typeof void yield";

/// What begins a line in C++, and not in C.
const CPP_SIGNS: &str =
    "namespace |template<|template <|class |using |public:|private:|protected:|constexpr ";

/// Whether the word is one of `words`, which blanks separate.
pub(super) fn is_one_of(word: &[u8], words: &str) -> bool {
    words.split(' ').any(|one| one.as_bytes() == word)
}

impl Language {
    /// Its name, the extensions of its files, and its keywords before `(`.
    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Rust => ("Rust", "rs", RUST_KEYWORDS),
            Python => ("Python", "py pyi pyw", PYTHON_KEYWORDS),
            JavaScript => ("JavaScript", "js jsx mjs cjs", SCRIPT_KEYWORDS),
            TypeScript => ("TypeScript", "ts tsx mts cts", SCRIPT_KEYWORDS),
            Go => ("Go", "go", GO_KEYWORDS),
            Java => ("Java", "java", JAVA_KEYWORDS),
            Kotlin => ("Kotlin", "kt kts", KOTLIN_KEYWORDS),
            Swift => ("Swift", "swift", SWIFT_KEYWORDS),
            Ruby => ("Ruby", "rb rake gemspec ru", RUBY_KEYWORDS),
            C => ("C", "c h", C_KEYWORDS),
            Cpp => ("C++", "cc cpp cxx c++ hpp hh hxx h++ ipp inl", C_KEYWORDS),
        }
    }

    /// The language by the file name. A `.h` file counts as C; [`Language::of`] looks at its text, too.
    pub(super) fn by_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_ascii_lowercase();
        let has = |language: &Self| is_one_of(extension.as_encoded_bytes(), language.row().1);
        ALL.into_iter().find(has)
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
        self.row().0
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
        is_one_of(word, self.row().2)
    }

    /// Whether a value follows the word, so that a `/` begins a regular expression.
    pub(super) fn expects_value(self, word: &[u8]) -> bool {
        let words = match self {
            Ruby => RUBY_VALUES,
            _ => SCRIPT_VALUES,
        };
        is_one_of(word, words)
    }
}

/// Whether a header has lines that are not C.
fn is_cpp(text: &[u8]) -> bool {
    text.split(|b| *b == b'\n').take(5_000).any(|line| {
        let line = line.trim_ascii();
        let mut signs = CPP_SIGNS.split('|');
        signs.any(|sign| line.starts_with(sign.as_bytes()))
    })
}
