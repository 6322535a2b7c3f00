//! What the command of an extension fetches and runs: packages, or the image of a container. A command that is not
//! understood to its last word is an error, which denies the start.

use crate::extension::wrappers::{Line, Meaning, has, program_name};
use crate::patterns::Patterns;
use gosling_shared::launchers::Launch;
use gosling_shared::packages::{Ecosystem, Package, Version};
use serde_json::Value;

/// The launchers of containers.
const CONTAINERS: &str = "docker podman nerdctl";

/// What a command fetches.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// `npm:NAME`, `pypi:NAME`, each with `@VERSION` if it accepts one alone.
    packages: Vec<String>,
    /// As the command line names it.
    image: Option<String>,
}

/// What kind of thing a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Package,
    Image,
}

impl Fetched {
    /// Whether these patterns fit: all that is fetched, or with `any` something of it.
    pub(crate) fn fits(&self, kind: Kind, patterns: &Patterns, any: bool) -> bool {
        let fetched = match kind {
            Kind::Package => self.packages.as_slice(),
            Kind::Image => self.image.as_slice(),
        };
        let mut each = fetched.iter().map(|name| patterns.fit(name));
        !fetched.is_empty()
            && if any {
                each.any(|it| it)
            } else {
                each.all(|it| it)
            }
    }
}

/// What an extension with this configuration fetches of this kind.
///
/// # Errors
/// Why that is not known.
pub(crate) fn read(started: &Value, kind: Kind) -> Result<Fetched, &'static str> {
    if kind == Kind::Image && !started["container"].is_null() {
        return Err("it runs in a container whose image is not known");
    }
    let Some(cmd) = started["cmd"].as_str() else {
        return Ok(Fetched::default());
    };
    let args = started["args"].as_array().into_iter().flatten();
    let args = args.map(|word| word.as_str().map(str::to_owned));
    let args: Option<Vec<String>> = args.collect();
    let args = args.ok_or("its arguments are not all texts")?;
    let line = Line::read(cmd, &args);
    let launch = Launch::of(&line);
    let program = line.words.first().map(|word| program_name(word));
    let program = program.unwrap_or_default();
    let read = line.words.split_first();
    if read.is_none_or(|(cmd, args)| Launch::read(cmd, args).is_none()) {
        return match launch.unclear {
            Some(_) => Err("it may start a launcher of packages, and is not understood"),
            None => Ok(Fetched::default()),
        };
    }
    let of_program = if has(CONTAINERS, &program) {
        Kind::Image
    } else {
        Kind::Package
    };
    if of_program != kind {
        return Ok(Fetched::default());
    }
    let is_plain = cmd == program && line.words[1..] == args && line.variables.is_empty();
    if !is_plain {
        return Err("its launcher has a path, a suffix or another program before it");
    }
    if launch.unclear.is_some() || !launch.candidates.is_empty() {
        return Err("its command is not understood to its last word");
    }
    let is_harmless = |meaning| {
        matches!(
            meaning,
            Meaning::Harmless | Meaning::Provides | Meaning::Adds
        )
    };
    if !launch.options.iter().all(|it| is_harmless(it.meaning)) {
        return Err("an option of its launcher decides more than the package");
    }
    if launch.is_foreign || launch.packages.is_empty() {
        return Err("what it runs is not the program of a package that it names");
    }
    match kind {
        Kind::Image => Ok(Fetched {
            image: launch.operands.first().map(|image| (*image).to_owned()),
            ..Fetched::default()
        }),
        Kind::Package => {
            let names: Option<Vec<String>> = launch.packages.iter().map(name).collect();
            Ok(Fetched {
                packages: names.ok_or("a package is not one of a registry")?,
                ..Fetched::default()
            })
        }
    }
}

/// The name of a package of a registry.
fn name(package: &Package) -> Option<String> {
    let Package::Published {
        ecosystem,
        name,
        version,
    } = package
    else {
        return None;
    };
    let registry = match ecosystem {
        Ecosystem::Npm => "npm",
        Ecosystem::PyPi => "pypi",
        Ecosystem::Docker => return None,
    };
    Some(match version {
        Version::Exact(version) => format!("{registry}:{name}@{version}"),
        Version::Open => format!("{registry}:{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Fetched, Kind, read};
    use serde_json::json;

    fn of(kind: Kind, line: &[&str]) -> Result<Fetched, &'static str> {
        read(&json!({"cmd": line[0], "args": line[1..]}), kind)
    }

    #[test]
    fn a_command_that_is_understood_has_packages_or_an_image() {
        for (line, expected) in [
            (
                "npx -y @example/server@1.2.0 --port 5",
                "npm:@example/server@1.2.0",
            ),
            ("npx server", "npm:server"),
            ("bunx server@1.0.0", "npm:server@1.0.0"),
            ("pnpm dlx server@1.0.0", "npm:server@1.0.0"),
            ("uvx mcp_server==2.0", "pypi:mcp-server@2.0"),
            ("uvx mcp-server@latest", "pypi:mcp-server"),
            ("pipx run mcp-server", "pypi:mcp-server"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let packages = of(Kind::Package, &words).unwrap().packages;
            assert_eq!(packages, [expected], "{line}");
            assert_eq!(of(Kind::Image, &words), Ok(Fetched::default()), "{line}");
        }
        let image = [
            "docker",
            "run",
            "--rm",
            "-i",
            "ghcr.io/example/server:1",
            "-v",
        ];
        let fetched = of(Kind::Image, &image).unwrap();
        assert_eq!(fetched.image.as_deref(), Some("ghcr.io/example/server:1"));
        assert_eq!(of(Kind::Package, &image), Ok(Fetched::default()));
        let two = of(Kind::Package, &["uvx", "--with", "other", "server"]).unwrap();
        assert_eq!(two.packages.len(), 2);
        assert_eq!(of(Kind::Package, &["my-server"]), Ok(Fetched::default()));
    }

    #[test]
    fn what_is_not_understood_to_its_last_word_is_refused() {
        for line in [
            "npx --registry https://x.example server",
            "npx --unknown server",
            "npx -c id",
            "npx -p server sh -c id",
            "npx ./server",
            "npx github:example/server",
            "npx",
            "./npx server",
            "/tmp/npx server",
            "npx.cmd server",
            "env A=b npx server",
            "sh -c npx\u{20}server",
            "npm start",
            "npm install server",
            "uvx --from git+https://x.example/s server",
            "uvx --index-url https://x.example server",
            "uvx python",
            "pip install server",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let fetched = of(Kind::Package, &words);
            assert!(fetched.is_err(), "{line} {fetched:?}");
        }
        for line in [
            "docker run -v /:/host server",
            "docker run --privileged server",
            "docker exec container server",
            "docker compose up",
            "docker -H tcp://x.example run server",
            "./docker run server",
            "docker run",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let fetched = of(Kind::Image, &words);
            assert!(fetched.is_err(), "{line} {fetched:?}");
        }
        let inside = json!({"cmd": "server", "args": [], "container": "mine"});
        assert!(read(&inside, Kind::Image).is_err());
        let numbers = json!({"cmd": "npx", "args": ["server", 5]});
        assert!(read(&numbers, Kind::Package).is_err());
    }
}
