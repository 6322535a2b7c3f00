//! Packages that launchers fetch, as command lines name them.

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
    pub(super) fn elsewhere(source: &str) -> Self {
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
    pub(super) fn pypi_name(&self) -> Option<&str> {
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

/// The specifiers in a list. The commas within extras and between the bounds of a version do not separate them.
pub(super) fn specifiers(list: &str) -> impl Iterator<Item = &str> {
    let mut in_extras = false;
    let parts = list.split(move |c| {
        in_extras = c == '[' || (in_extras && c != ']');
        c == ',' && !in_extras
    });
    let parts = parts.map(str::trim);
    parts.filter(|part| !part.starts_with(['<', '>', '=', '!', '~']))
}

/// A package of npm: `name`, `@scope/name`, each with `@version`, `alias@npm:name@version`, or a place outside
/// of the registry.
pub(super) fn npm(specifier: &str) -> Option<Package> {
    let mut specifier = specifier.trim();
    let (name, version) = loop {
        let (name, version) = match specifier.get(1..).and_then(|rest| rest.find('@')) {
            Some(at) => (&specifier[..=at], Some(&specifier[at + 2..])),
            None => (specifier, None),
        };
        match version.and_then(|version| version.strip_prefix("npm:")) {
            Some(aliased) => specifier = aliased,
            None => break (name, version),
        }
    };
    if let Some(version) = version.filter(|version| is_elsewhere(version)) {
        return Some(Package::elsewhere(version));
    }
    let bare = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').map(|(_, bare)| bare),
        None => Some(name),
    };
    if specifier.is_empty() {
        return None;
    }
    // npm replaces `${NAME}` by a variable.
    let is_name = |bare: &str| {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
        !bare.is_empty() && bare.bytes().all(is_part)
    };
    if is_elsewhere(specifier) || name.len() > MAX_NAME || !bare.is_some_and(is_name) {
        return Some(Package::elsewhere(specifier));
    }
    // npm takes a version with fewer than three numbers for a range.
    let is_whole = |version: &&str| {
        let release = version.split(['-', '+']).next().unwrap_or_default();
        release.split('.').count() == 3
    };
    let version = version.map(|version| version.trim_start_matches(['=', 'v']));
    let version = version.filter(is_whole).map_or(Version::Open, exact);
    Some(Package::published(
        Ecosystem::Npm,
        name.to_ascii_lowercase(),
        version,
    ))
}

/// A requirement of Python (PEP 508), or `name@version` of `uvx`.
pub(super) fn pypi(specifier: &str) -> Option<Package> {
    let specifier = specifier.split(';').next().unwrap_or_default().trim();
    if specifier.is_empty() {
        return None;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let end = specifier.find(|c| !is_name(c)).unwrap_or(specifier.len());
    let (name, rest) = specifier.split_at(end);
    let is_archive = [".whl", ".tar.gz", ".zip"]
        .iter()
        .any(|end| specifier.ends_with(end));
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('[').map(|extras| extras.split_once(']')) {
        Some(Some((_, rest))) => rest.trim_start(),
        Some(None) => return Some(Package::elsewhere(specifier)),
        None => rest,
    };
    if name.is_empty() || name.starts_with('.') || name.len() > MAX_NAME || is_archive {
        return Some(Package::elsewhere(specifier));
    }
    let version = match rest.strip_prefix('@').map(str::trim_start) {
        Some(source) if is_elsewhere(source) => return Some(Package::elsewhere(source)),
        Some(version) => exact(version),
        None => match rest.trim_matches(['(', ')']).strip_prefix("==") {
            Some(version) => exact(version.trim_start_matches('=').trim()),
            None if rest.is_empty() || rest.starts_with(['<', '>', '!', '~', '=', '(']) => {
                Version::Open
            }
            None => return Some(Package::elsewhere(specifier)),
        },
    };
    Some(Package::published(
        Ecosystem::PyPi,
        normalized_pypi(name),
        version,
    ))
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

/// A version, if the text is one; a range, a wildcard or a tag such as `latest` leaves it open.
fn exact(version: &str) -> Version {
    let is_version = version.starts_with(|c: char| c.is_ascii_digit())
        && (version.chars()).all(|c| c.is_ascii_alphanumeric() || ".-+!_".contains(c))
        && version.contains('.')
        && !version
            .split(['.', '-'])
            .any(|part| matches!(part, "x" | "X"));
    if is_version {
        Version::Exact(version.to_owned())
    } else {
        Version::Open
    }
}

/// Whether a specifier names a repository, an archive at a URL, or a path.
fn is_elsewhere(specifier: &str) -> bool {
    let scheme = specifier.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && (scheme.chars()).all(|c| c.is_ascii_alphanumeric() || "+-.@".contains(c))
    };
    scheme.is_some_and(|scheme| is_scheme(scheme) && scheme != "npm")
        || specifier.starts_with(['/', '.', '~', '\\'])
        || (!specifier.starts_with('@') && specifier.contains('/'))
}

/// An image of containers: `name`, `registry/name:tag`, `name@sha256:…`.
pub(super) fn image(source: &str) -> Option<Package> {
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
        (None, Some(tag)) => exact(tag),
        (None, None) => Version::Open,
    };
    Some(Package::published(
        Ecosystem::Docker,
        name.to_ascii_lowercase(),
        version,
    ))
}
