use super::*;
use crate::packages::Version;

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
    let launch = Launch::read(&words[0], &words[1..]).unwrap_or_default();
    let packages = launch.packages.into_iter().chain(launch.candidates);
    packages.map(shown).collect()
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
        ("npm exec a -y --unknown b", &["npm a", "npm b"]),
        ("npm exec a --package b", &["npm b"]),
        ("npm exe -- a", &["npm a"]),
        ("npm --prefix D exec -- a", &["npm a"]),
        ("npx ---package=a x", &["npm a"]),
        ("uvx -qwa --from b c", &["PyPI a", "PyPI b"]),
        ("uvx --from a --from b c", &["PyPI a", "PyPI b", "PyPI c"]),
        ("uvx --with pypy python3.11", &["PyPI pypy"]),
        ("uv --directory D tool -q uvx a", &["PyPI a"]),
        ("pipx run --spe=a b", &["PyPI a"]),
        ("docker --debug container run -itv /a:/b i", &["Docker i"]),
        ("npx good@npm:evil@1.0.0", &["npm evil 1.0.0"]),
        ("npx npm:evil@1.0.0", &["npm evil 1.0.0"]),
        ("npx x@NPM:evil@1.0.0", &["npm evil 1.0.0"]),
        ("npx evil@=1.0.0beta", &["npm evil 1.0.0beta"]),
        ("npx evil@1.0.0+build", &["npm evil 1.0.0+build"]),
        ("npx evil@9007199254740993.0.0", &["npm evil"]),
        ("npx evil@1.0.0_1", &["npm evil"]),
        ("npx evil@lat!est", &["npm evil"]),
        ("npx evil@~1.0.0||2.x", &["npm evil"]),
        ("npx y.tgz", &["y.tgz"]),
        ("npx x@y.Tar.Gz", &["y.Tar.Gz"]),
        ("npx x@@sub/dir", &["@sub/dir"]),
        ("npx x@c:dir", &["c:dir"]),
        ("npx x@.", &["."]),
        ("npx -p x@1,@s/b x", &["1,@s/b"]),
        ("npx @s/x.tgz", &["npm @s/x.tgz"]),
        ("npx user/repo", &["user/repo"]),
        ("npx x@git+https://h/r", &["git+https://h/r"]),
        ("npx github:user/repo", &["github:user/repo"]),
        ("npm exec -y -- pkg", &["npm pkg"]),
        ("npm x pkg", &["npm pkg"]),
        ("npm install pkg@1.0.0", &["npm pkg 1.0.0"]),
        ("npm create a", &["npm create-a", "npm a"]),
        ("npm init @s", &["npm @s/create"]),
        ("npm init @s@1 -y", &["npm @s/create"]),
        (
            "npm innit @s/a@1.0.0",
            &["npm @s/create-a 1.0.0", "npm @s/a 1.0.0"],
        ),
        ("pnpm create a", &["npm create-a", "npm a"]),
        ("bun create a", &["npm create-a", "npm a"]),
        ("bun install a", &["npm a"]),
        ("bun a b", &["npm b"]),
        ("yarn global add a", &["npm add", "npm a"]),
        ("yarn workspace w add a", &["npm w", "npm add", "npm a"]),
        (
            "yarn workspaces foreach add a",
            &["npm foreach", "npm add", "npm a"],
        ),
        ("pnpm recursive add a", &["npm add", "npm a"]),
        ("pnpm -r add a", &["npm add", "npm a"]),
        ("pip install a", &["PyPI a"]),
        ("uv pip install a", &["PyPI install", "PyPI a"]),
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
        ("uvx x.tar.bz2", &["x.tar.bz2"]),
        ("uvx x.tgz[a]", &["x.tgz[a]"]),
        ("uvx x.tgz@1.0", &["PyPI x-tgz 1.0"]),
        ("uvx pkg@latest", &["PyPI pkg"]),
        ("uvx pkg[a,b]@1", &["PyPI pkg 1"]),
        ("uvx pkg@V1.0-1", &["PyPI pkg V1.0-1"]),
        ("uvx pkg@sub", &["sub"]),
        ("uvx pkg@LATEST", &["LATEST"]),
        ("uvx pkg@1.", &["1."]),
        ("uvx --from pkg@1.0,<x pkg", &["1.0,<x"]),
        ("uvx --with pkg@1.0 c", &["1.0", "PyPI c"]),
        ("uvx python@sub", &["sub"]),
        ("pipx run pkg@sub", &["sub"]),
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
    gosling_testing::property_testing::check(|u| {
        let programs = [
            "npx", "uvx", "docker", "pipx", "npm", "uv", "env", "sh", "cmd", "corepack", "nice",
        ];
        let program = u.choose(&programs)?;
        let words = [
            "run", "x", "exec", "tool", "-p", "--from", "--", "@", "-é", "-S", "/c",
        ];
        let mut args = Vec::new();
        for _ in 0..u.int_in_range(0..=6)? {
            let arg = if u.ratio(1, 2)? {
                (*u.choose(&words)?).to_owned()
            } else {
                u.arbitrary::<String>()?
            };
            args.push(arg);
        }
        let line = Line::read(program, &args);
        let launch = Launch::of(&line);
        for package in launch.packages.iter().chain(&launch.candidates) {
            if let Package::Published { name, .. } = package {
                let is_lower = !name.contains(|c: char| c.is_ascii_uppercase());
                assert!(!name.is_empty() && is_lower, "{program} {args:?}");
            }
        }
        Ok(())
    });
}
