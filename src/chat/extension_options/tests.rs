use super::*;
use gosling_core::builtin::BuiltinServer;
use gosling_core::part::{self, Part};

fn stdio(line: &str) -> (String, String, Vec<String>, Vec<(String, String)>) {
    match command(line) {
        Ok(ExtensionConfig::Stdio(config)) => {
            let envs = config.envs.iter();
            let envs = envs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            (config.name, config.cmd, config.args, envs)
        }
        Ok(other) => panic!("{line}: {other:?}"),
        Err(Failure::Usage(reason) | Failure::Failed(reason)) => panic!("{line}: {reason}"),
        Err(_) => panic!("{line}"),
    }
}

#[test]
fn variables_come_before_the_command() {
    let (name, cmd, args, envs) = stdio("A=1 _B='two words' /bin/tool.py X=1 \"a b\"");
    assert_eq!((name.as_str(), cmd.as_str()), ("tool", "/bin/tool.py"));
    assert_eq!(args, ["X=1", "a b"]);
    let expected = [("A", "1"), ("_B", "two words")].map(|(k, v)| (k.into(), v.into()));
    assert_eq!(envs, expected);
    for bad in ["", "  ", "A=1", "'open"] {
        assert!(matches!(command(bad), Err(Failure::Usage(_))), "{bad}");
    }
}

#[test]
fn a_server_is_named_after_its_program_or_package() {
    for (line, name) in [
        (
            "npx -y @modelcontextprotocol/server-memory",
            "server-memory",
        ),
        ("uvx mcp-server-time@1.0 --x", "mcp-server-time"),
        ("npx", "npx"),
        ("1=2", "1=2"),
        ("/", "/"),
    ] {
        assert_eq!(stdio(line).0, name, "{line}");
    }
    for (url, name) in [
        ("http://localhost:8000/mcp", "localhost"),
        ("https://user:pw@mcp.example/x?y", "mcp.example"),
    ] {
        assert_eq!(
            address(url).ok().map(|c| c.name().to_owned()),
            Some(name.to_owned())
        );
    }
    for bad in ["", "localhost:80", "ftp://x/", "http:///x"] {
        assert!(matches!(address(bad), Err(Failure::Usage(_))), "{bad}");
    }
}

#[test]
fn two_of_the_same_name_are_told_apart() {
    let mut all: Vec<_> = ["/a/tool", "/b/tool", "tool2"]
        .into_iter()
        .filter_map(|line| command(line).ok())
        .collect();
    make_names_unique(&mut all);
    let names: Vec<_> = all.iter().map(ExtensionConfig::name).collect();
    assert_eq!(names, ["tool", "tool2", "tool22"]);
}

#[test]
fn only_what_is_shipped_is_builtin() {
    const fn server(name: &'static str) -> BuiltinServer {
        BuiltinServer {
            name,
            connect: |_| panic!("it is not started"),
        }
    }
    const PART: Part = Part {
        servers: &[server("demo"), server("developer")],
        ..Part::new("builtin")
    };
    part::set(&[&PART]);
    let configs = builtins(" demo ,developer").ok().unwrap_or_default();
    assert_eq!(configs.len(), 2);
    assert!(matches!(builtins("demo,nosuch"), Err(Failure::Usage(_))));
}
