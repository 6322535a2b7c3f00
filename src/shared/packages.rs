//! Packages that launchers fetch, as command lines name them.

use crate::version_order::{NpmVersion, PythonVersion};

/// Where a package is published, by its name in advisories (OSV).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ecosystem {
    /// The registry of npm.
    Npm,
    /// The Python Package Index.
    PyPi,
    /// A registry of container images.
    Docker,
}

impl Ecosystem {
    /// The name in advisories.
    pub fn name(self) -> &'static str {
        match self {
            Ecosystem::Npm => "npm",
            Ecosystem::PyPi => "PyPI",
            Ecosystem::Docker => "Docker",
        }
    }

    /// The one of this name in advisories.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Ecosystem::Npm, Ecosystem::PyPi, Ecosystem::Docker];
        all.into_iter().find(|ecosystem| ecosystem.name() == name)
    }
}

/// Which versions of a package a command line accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// This one alone.
    Exact(String),
    /// Any that the registry offers and a range or tag allows.
    Open,
}

/// A package that a command line installs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Package {
    /// A package of a registry.
    Published {
        /// The registry.
        ecosystem: Ecosystem,
        /// The name, as the registry compares names.
        name: String,
        /// The accepted versions.
        version: Version,
    },
    /// A repository, an archive at a URL, or a path.
    Elsewhere {
        /// As the command line names it.
        source: String,
    },
}

impl Package {
    fn published(ecosystem: Ecosystem, name: impl Into<String>, version: Version) -> Self {
        let name = name.into();
        Package::Published {
            ecosystem,
            name,
            version,
        }
    }

    /// What is not in a registry.
    pub fn elsewhere(source: &str) -> Self {
        let source = source.to_owned();
        Package::Elsewhere { source }
    }

    /// The name, or the source.
    pub fn name(&self) -> &str {
        match self {
            Package::Published { name, .. } => name,
            Package::Elsewhere { source } => source,
        }
    }

    /// Its name in the Python Package Index, if it is published there.
    pub fn pypi_name(&self) -> Option<&str> {
        match self {
            Package::Published {
                ecosystem: Ecosystem::PyPi,
                name,
                ..
            } => Some(name),
            _ => None,
        }
    }
}

/// The longest specifier that is read as the name of a package, in bytes. No registry has longer names.
pub const MAX_NAME: usize = 214;

/// The requirements in a list. The commas within extras and between the bounds of a version do not separate them.
pub fn requirements(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(list);
    let parts = std::iter::from_fn(move || {
        let text = rest?;
        let mut in_extras = false;
        let mut commas = text.char_indices().filter(move |(_, c)| {
            in_extras = *c == '[' || (in_extras && *c != ']');
            *c == ',' && !in_extras
        });
        let is_end = |at: usize| !text[at + 1..].trim_start().starts_with(BOUNDS);
        let end = commas.find_map(|(at, _)| is_end(at).then_some(at));
        rest = end.map(|at| &text[at + 1..]);
        Some(text[..end.unwrap_or(text.len())].trim())
    });
    parts.filter(|part| !part.is_empty())
}

/// How the bound of a version begins.
const BOUNDS: [char; 5] = ['<', '>', '!', '~', '='];

/// A package of npm: `name`, `@scope/name`, each with `@version`, `alias@npm:name@version`, or a place outside
/// of the registry.
pub fn npm(specifier: &str) -> Option<Package> {
    let is_alias = |text: &str| {
        let scheme = text.get(..4);
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("npm:"))
    };
    let mut specifier = specifier.trim();
    let (name, version) = loop {
        if is_alias(specifier) {
            specifier = &specifier[4..];
        }
        let (name, version) = match specifier.get(1..).and_then(|rest| rest.find('@')) {
            Some(at) => (&specifier[..=at], Some(&specifier[at + 2..])),
            None => (specifier, None),
        };
        match version.filter(|version| is_alias(version)) {
            Some(aliased) => specifier = aliased,
            None => break (name, version),
        }
    };
    if specifier.is_empty() {
        return None;
    }
    if let Some(place) = version.filter(|version| !is_npm_range(version)) {
        return Some(Package::elsewhere(place));
    }
    let bare = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').map(|(_, bare)| bare),
        None => Some(name).filter(|name| !is_npm_archive(name) && !name.starts_with(['.', '~'])),
    };
    // npm replaces `${NAME}` by a variable.
    let is_name = |bare: &str| {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
        !bare.is_empty() && bare.bytes().all(is_part)
    };
    if name.len() > MAX_NAME || !bare.is_some_and(is_name) {
        return Some(Package::elsewhere(specifier));
    }
    let version = version.filter(|version| NpmVersion::is_one(version));
    let exact = version.map(|version| Version::Exact(NpmVersion::bare(version).to_owned()));
    Some(Package::published(
        Ecosystem::Npm,
        name.to_ascii_lowercase(),
        exact.unwrap_or(Version::Open),
    ))
}

/// Whether npm takes what follows the `@` for a version, a range or a tag, and not for a file or a repository.
fn is_npm_range(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.!~*'()^<>=|+\u{feff}".contains(c);
    let text = text.trim();
    let mut parts = text.chars().filter(|c| !c.is_whitespace());
    parts.all(is_part) && !text.starts_with('.') && !is_npm_archive(text)
}

/// Whether npm takes this for the name of a file.
fn is_npm_archive(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    [".tgz", ".tar", ".tar.gz"]
        .iter()
        .any(|end| text.ends_with(end))
}

/// What `uvx` runs: `name@latest`, `name@version`, or a requirement.
pub fn uv_tool(specifier: &str) -> Option<Package> {
    let (name, rest) = split_name(specifier);
    let version = after_extras(rest).and_then(|rest| rest.strip_prefix('@'));
    let version = match version.filter(|_| is_pypi_name(name)) {
        Some("latest") => Version::Open,
        Some(text) => match python_version(text) {
            Version::Open => return pypi(specifier),
            exact => exact,
        },
        None => return pypi(specifier),
    };
    let name = normalized_pypi(name);
    Some(Package::published(Ecosystem::PyPi, name, version))
}

/// A requirement of Python (PEP 508). What follows an `@` is a URL or a path, also if it looks like a version.
pub fn pypi(specifier: &str) -> Option<Package> {
    let specifier = specifier.split(';').next().unwrap_or_default().trim();
    if specifier.is_empty() {
        return None;
    }
    let (name, rest) = split_name(specifier);
    let Some(rest) = after_extras(rest.trim_start()).map(str::trim) else {
        return Some(Package::elsewhere(specifier));
    };
    if let Some(source) = rest.strip_prefix('@') {
        return Some(Package::elsewhere(source.trim()));
    }
    let is_bounded = rest.starts_with(BOUNDS) || rest.starts_with('(');
    let is_archive = !is_bounded && is_python_archive(name);
    if !is_pypi_name(name) || is_archive || !(rest.is_empty() || is_bounded) {
        return Some(Package::elsewhere(specifier));
    }
    let version = rest.trim_matches(['(', ')']).trim().strip_prefix("==");
    let version = version.map(|version| python_version(version.trim_start_matches('=')));
    Some(Package::published(
        Ecosystem::PyPi,
        normalized_pypi(name),
        version.unwrap_or(Version::Open),
    ))
}

/// The name at the beginning of a requirement, and what follows it.
fn split_name(requirement: &str) -> (&str, &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let end = requirement.find(|c| !is_name(c));
    requirement.split_at(end.unwrap_or(requirement.len()))
}

/// What follows the extras in brackets, if there are any; `None` if they do not end.
fn after_extras(text: &str) -> Option<&str> {
    match text.strip_prefix('[') {
        Some(extras) => extras.split_once(']').map(|(_, rest)| rest),
        None => Some(text),
    }
}

fn is_pypi_name(name: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    name.starts_with(is_end) && name.ends_with(is_end) && name.len() <= MAX_NAME
}

/// Whether `uv` takes this for the name of a file.
fn is_python_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = [".whl", ".zip", ".tar", ".tgz", ".tbz", ".tlz", ".txz"];
    let is_compressed = |(before, _): (&str, &str)| before.ends_with(".tar");
    ends.iter().any(|end| name.ends_with(end)) || name.rsplit_once('.').is_some_and(is_compressed)
}

/// A version of Python packages, if the text is one; a wildcard leaves it open.
fn python_version(text: &str) -> Version {
    let text = text.trim_ascii();
    PythonVersion::read(text).map_or(Version::Open, |_| Version::Exact(text.to_owned()))
}

/// The name by which the Python Package Index compares names (PEP 503).
pub fn normalized_pypi(name: &str) -> String {
    let mut normalized = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if normalized.ends_with('-') => {}
            '-' | '_' | '.' => normalized.push('-'),
            c => normalized.push(c.to_ascii_lowercase()),
        }
    }
    normalized
}

/// A tag of an image that looks like a version; others, such as `latest` and `1`, move.
fn tag_version(tag: &str) -> Version {
    if tag.starts_with(|c: char| c.is_ascii_digit()) && tag.contains('.') {
        Version::Exact(tag.to_owned())
    } else {
        Version::Open
    }
}

/// An image of containers: `name`, `registry/name:tag`, `name@sha256:…`.
pub fn image(source: &str) -> Option<Package> {
    let (image, digest) = match source.split_once('@') {
        Some((image, digest)) => (image, Some(digest)),
        None => (source, None),
    };
    let after_slash = image.rfind('/').map_or(0, |at| at + 1);
    let (name, tag) = match image[after_slash..].split_once(':') {
        Some((name, tag)) => (&image[..after_slash + name.len()], Some(tag)),
        None => (image, None),
    };
    if name.is_empty() {
        return Some(Package::elsewhere(source));
    }
    let version = match (digest, tag) {
        (Some(digest), _) => Version::Exact(digest.to_owned()),
        (None, Some(tag)) => tag_version(tag),
        (None, None) => Version::Open,
    };
    Some(Package::published(
        Ecosystem::Docker,
        name.to_ascii_lowercase(),
        version,
    ))
}

#[cfg(test)]
mod tests;
