//! Which packages a command line installs before it runs them: `npx`, `uvx` and others like them.
//!
//! Nothing here reads a file or asks a registry. Where a command line can be read in two ways, both readings
//! count, so that no package escapes a check.

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

    fn elsewhere(source: &str) -> Self {
        let source = source.to_owned();
        Package::Elsewhere { source }
    }
}

/// The longest specifier that is read as the name of a package, in bytes. No registry has longer names.
pub const MAX_NAME: usize = 214;

/// The name of a program without its folder and without a suffix of Windows, in lower case.
pub fn program_name(cmd: &str) -> String {
    let name = cmd.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    let suffixes = [".cmd", ".exe", ".bat", ".ps1"];
    let bare = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
    bare.map_or(name.clone(), str::to_owned)
}

/// The packages that this command line installs; none if the command is not known to install any.
pub fn packages(cmd: &str, args: &[String]) -> Vec<Package> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let program = program_name(cmd);
    match (program.as_str(), first_words(&args)) {
        ("npx" | "bunx" | "pnpx", _) => NPM.read(&args),
        ("npm", ["exec" | "x", rest @ ..])
        | ("pnpm" | "yarn", ["dlx", rest @ ..])
        | ("bun", ["x", rest @ ..]) => NPM.read(rest),
        ("uvx", _) => UVX.read(&args),
        ("uv", ["tool", "run" | "install", rest @ ..]) => UVX.read(rest),
        ("uv", ["run", rest @ ..]) => UV_RUN.read(rest),
        ("pipx", ["run" | "install", rest @ ..]) => PIPX.read(rest),
        ("docker" | "podman" | "nerdctl", _) => image(&args).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The arguments from the first that is no option.
fn first_words<'a>(args: &'a [&'a str]) -> &'a [&'a str] {
    let is_option = |arg: &&str| arg.starts_with('-');
    let options = args.iter().take_while(|arg| is_option(arg)).count();
    &args[options..]
}

/// How one launcher reads its arguments.
struct Launcher {
    /// Reads the text that names a package.
    package: fn(&str) -> Option<Package>,
    /// Options whose value is a package, or several separated by commas.
    packages: &'static [&'static str],
    /// Those of them that name the package of the program: the first word is only the program then.
    instead: &'static [&'static str],
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value. The word after an unknown option may be its value or the package.
    values: &'static [&'static str],
    /// Whether the first word names a package.
    first_word: bool,
}

const NPM: Launcher = Launcher {
    package: npm,
    packages: &["-p", "--package"],
    instead: &["-p", "--package"],
    flags: &[
        "-y",
        "--yes",
        "-q",
        "--quiet",
        "--no",
        "--no-install",
        "--ignore-existing",
        "--prefer-offline",
        "--prefer-online",
        "--offline",
        "-s",
        "--silent",
        "--bun",
    ],
    values: &[
        "-c",
        "--call",
        "--registry",
        "--cache",
        "--prefix",
        "--userconfig",
        "--loglevel",
        "-w",
        "--workspace",
    ],
    first_word: true,
};

const UVX: Launcher = Launcher {
    package: pypi,
    packages: &["--from", "--with", "-w", "--with-editable"],
    instead: &["--from"],
    flags: &[
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "--offline",
        "--isolated",
        "--refresh",
        "-n",
        "--no-cache",
        "--no-config",
        "--no-progress",
        "--native-tls",
        "--no-index",
        "-U",
        "--upgrade",
        "--reinstall",
        "--managed-python",
        "--no-managed-python",
        "--no-build",
        "--no-python-downloads",
        "--force",
    ],
    values: &[
        "-p",
        "--python",
        "-i",
        "--index-url",
        "--index",
        "--default-index",
        "--extra-index-url",
        "-f",
        "--find-links",
        "--directory",
        "--project",
        "--config-file",
        "--cache-dir",
        "-c",
        "--constraints",
        "--overrides",
        "--env-file",
    ],
    first_word: true,
};

/// The option of `uvx` that names a file with packages.
const REQUIREMENTS: &str = "--with-requirements";

const UV_RUN: Launcher = Launcher {
    first_word: false,
    instead: &[],
    packages: &["--with", "-w", "--with-editable"],
    ..UVX
};

const PIPX: Launcher = Launcher {
    package: pypi,
    packages: &["--spec", "--with"],
    instead: &["--spec"],
    flags: &[
        "--no-cache",
        "--pypackages",
        "--verbose",
        "-v",
        "-q",
        "--quiet",
        "--force",
        "-f",
    ],
    values: &["--python", "--index-url", "-i", "--pip-args"],
    first_word: true,
};

impl Launcher {
    fn read(&self, args: &[&str]) -> Vec<Package> {
        let mut found = Vec::new();
        let mut first_word = self.first_word;
        let mut words = args.iter().copied().peekable();
        while let Some(arg) = words.next() {
            if !arg.starts_with('-') || arg == "--" {
                let word = if arg == "--" { words.next() } else { Some(arg) };
                let named = word.filter(|_| first_word).and_then(self.package);
                found.extend(named);
                break;
            }
            let (name, value) = self.split(arg);
            if self.packages.contains(&name) {
                first_word &= !self.instead.contains(&name);
                let value = value.or_else(|| words.next()).unwrap_or_default();
                found.extend(specifiers(value).filter_map(self.package));
            } else if name == REQUIREMENTS {
                let file = value.or_else(|| words.next());
                found.extend(file.map(Package::elsewhere));
            } else if self.values.contains(&name) {
                let _ = value.or_else(|| words.next());
            } else if value.is_none() && !self.flags.contains(&name) {
                // The next word is the value of this option, or the package.
                let next = words.next_if(|next| !next.starts_with('-'));
                let named = next.filter(|_| first_word).and_then(self.package);
                found.extend(named);
            }
        }
        found
    }

    /// The name of an option and the value that stands in the same argument: `--name=value`, `-pvalue`.
    fn split<'a>(&self, arg: &'a str) -> (&'a str, Option<&'a str>) {
        if let Some((name, value)) = arg.split_once('=') {
            return (name, Some(value));
        }
        let mut short = self.packages.iter().filter(|name| name.len() == 2);
        let joined = short.find(|name| !arg.starts_with("--") && arg.starts_with(**name));
        match joined {
            Some(_) if arg.len() > 2 && arg.is_char_boundary(2) => {
                let (name, value) = arg.split_at(2);
                (name, Some(value))
            }
            _ => (arg, None),
        }
    }
}

/// The specifiers in a list. The commas within extras and between the bounds of a version do not separate them.
fn specifiers(list: &str) -> impl Iterator<Item = &str> {
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
fn npm(mut specifier: &str) -> Option<Package> {
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
    let is_name =
        |bare: &str| !bare.is_empty() && bare.is_ascii() && !bare.contains(['/', ':', '\\']);
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
fn pypi(specifier: &str) -> Option<Package> {
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

/// Options of `docker run` without a value.
const DOCKER_FLAGS: [&str; 13] = [
    "-i",
    "-t",
    "-d",
    "-P",
    "-q",
    "--rm",
    "--init",
    "--interactive",
    "--tty",
    "--detach",
    "--privileged",
    "--read-only",
    "--publish-all",
];

/// The image of `docker run`.
fn image(args: &[&str]) -> Option<Package> {
    let run = args
        .iter()
        .position(|arg| matches!(*arg, "run" | "create"))?;
    let mut words = args[run + 1..].iter().copied();
    let mut found = None;
    while let Some(arg) = words.next() {
        if !arg.starts_with('-') {
            found = Some(arg);
            break;
        }
        let is_cluster = !arg.starts_with("--") && arg[1..].chars().all(|c| "itdPq".contains(c));
        if !(is_cluster || arg.contains('=') || DOCKER_FLAGS.contains(&arg) || is_joined(arg)) {
            words.next();
        }
    }
    let source = found?;
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

/// Whether a short option and its value are one argument, as in `-eKEY`.
fn is_joined(arg: &str) -> bool {
    arg.len() > 2 && !arg.starts_with("--")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packages of a command line, as `ecosystem name version`, or what is elsewhere.
    fn named(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let shown = |package| match package {
            Package::Published {
                ecosystem,
                name,
                version: Version::Exact(version),
            } => format!("{} {name} {version}", ecosystem.name()),
            Package::Published {
                ecosystem, name, ..
            } => format!("{} {name}", ecosystem.name()),
            Package::Elsewhere { source } => source,
        };
        packages(&words[0], &words[1..])
            .into_iter()
            .map(shown)
            .collect()
    }

    #[test]
    fn the_package_of_every_launcher_is_found() {
        for (line, found) in [
            ("npx -y @Scope/Server", &["npm @scope/server"][..]),
            ("/usr/bin/npx -y pkg@1.2.3 --flag x", &["npm pkg 1.2.3"]),
            ("NPX.CMD pkg@latest", &["npm pkg"]),
            ("npx pkg@1.2", &["npm pkg"]),
            ("npx pkg@v1.2.3-rc.1+x", &["npm pkg 1.2.3-rc.1+x"]),
            ("npx -p a -p b@^1.0.0 run-it", &["npm a", "npm b"]),
            ("npx --package=@s/a@2.0.0 -y cmd", &["npm @s/a 2.0.0"]),
            ("npx -- pkg", &["npm pkg"]),
            ("npx --registry http://r pkg", &["npm pkg"]),
            ("npx --unknown a b", &["npm a", "npm b"]),
            ("npx good@npm:evil@1.0.0", &["npm evil 1.0.0"]),
            ("npx user/repo", &["user/repo"]),
            ("npx x@git+https://h/r", &["git+https://h/r"]),
            ("npx github:user/repo", &["github:user/repo"]),
            ("npm exec -y -- pkg", &["npm pkg"]),
            ("npm x pkg", &["npm pkg"]),
            ("npm install pkg", &[]),
            ("pnpm dlx pkg@1.x", &["npm pkg"]),
            ("bunx --bun pkg", &["npm pkg"]),
            ("yarn dlx pkg", &["npm pkg"]),
            ("uvx Mcp_Server.X", &["PyPI mcp-server-x"]),
            ("uvx pkg@1.2.3 arg", &["PyPI pkg 1.2.3"]),
            ("uvx --from Pkg[a,b]==1.0 cmd", &["PyPI pkg 1.0"]),
            ("uvx --with a,b>=2,<3 c", &["PyPI a", "PyPI b", "PyPI c"]),
            ("uvx --python 3.12 pkg", &["PyPI pkg"]),
            ("uvx --from git+https://h/r cmd", &["git+https://h/r"]),
            ("uvx --from pkg@git+https://h/r cmd", &["git+https://h/r"]),
            ("uvx ./dist/x.whl", &["./dist/x.whl"]),
            ("uvx --with-requirements r.txt pkg", &["r.txt", "PyPI pkg"]),
            ("uv tool run -q pkg", &["PyPI pkg"]),
            ("uv run --with mcp server.py", &["PyPI mcp"]),
            ("uv sync", &[]),
            ("pipx run --spec a==1.0.0 b", &["PyPI a 1.0.0"]),
            ("docker run -i --rm -e KEY mcp/time", &["Docker mcp/time"]),
            (
                "docker run -it --name=x ghcr.io:443/a/b:1.2.0 sh",
                &["Docker ghcr.io:443/a/b 1.2.0"],
            ),
            ("docker run -v /a:/b i@sha256:00", &["Docker i sha256:00"]),
            ("docker run @sha256:00", &["@sha256:00"]),
            ("python server.py", &[]),
            ("npx", &[]),
            ("uvx --from", &[]),
        ] {
            assert_eq!(named(line), found, "{line}");
        }
    }

    #[test]
    fn an_alias_of_many_aliases_is_read() {
        let line = format!("npx {}evil@1.0.0", "a@npm:".repeat(100_000));
        assert_eq!(named(&line), ["npm evil 1.0.0"]);
    }

    #[test]
    fn any_arguments_are_read_without_a_panic() {
        arbtest::arbtest(|u| {
            let programs = ["npx", "uvx", "docker", "pipx", "npm", "uv"];
            let program = u.choose(&programs)?;
            let words = ["run", "x", "exec", "tool", "-p", "--from", "--", "@", "-é"];
            let mut args = Vec::new();
            for _ in 0..u.int_in_range(0..=6)? {
                let arg = if u.ratio(1, 2)? {
                    (*u.choose(&words)?).to_owned()
                } else {
                    u.arbitrary::<String>()?
                };
                args.push(arg);
            }
            for package in packages(program, &args) {
                if let Package::Published { name, .. } = package {
                    let is_lower = !name.contains(|c: char| c.is_ascii_uppercase());
                    assert!(!name.is_empty() && is_lower, "{program} {args:?}");
                }
            }
            Ok(())
        });
    }
}
