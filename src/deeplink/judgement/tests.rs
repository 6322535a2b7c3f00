//! Which commands a link may run, what a launcher among them runs, and which servers are reached.

use super::Judgement;
use crate::tests::{ALLOWED, BLOCKED, CONFIRM, INVALID, judge, with};
use percent_encoding::NON_ALPHANUMERIC;

#[test]
fn only_known_commands_run_and_only_as_packages() {
    for (parameters, expected) in [
        ("cmd=npx&arg=-y&arg=@scope/server", ALLOWED),
        ("cmd=npx.cmd&arg=-y&arg=server", ALLOWED),
        ("cmd=uvx&arg=mcp-server-time@1.0.0", ALLOWED),
        ("cmd=uvx&arg=--with&arg=mcp%3E%3D1,%3C2&arg=server", ALLOWED),
        ("cmd=jbang&arg=x@y", ALLOWED),
        ("cmd=i-ching-mcp-server", ALLOWED),
        ("cmd=gosling&arg=mcp&arg=memory", ALLOWED),
        ("cmd=goosed&arg=mcp&arg=developer", CONFIRM),
        ("cmd=gosling&arg=agent", BLOCKED),
        ("cmd=goosed", BLOCKED),
        ("cmd=NPX", BLOCKED),
        ("cmd=npx.exe", BLOCKED),
        ("cmd=npx.CMD", BLOCKED),
        ("cmd=npx.cmd.exe", BLOCKED),
        ("cmd=/tmp/npx", BLOCKED),
        ("cmd=./npx", BLOCKED),
        ("cmd=npx%20-c", BLOCKED),
        ("cmd=npx+", BLOCKED),
        ("cmd=%256epx", BLOCKED),
        ("cmd=bash&arg=-c&arg=id", BLOCKED),
        ("cmd=cmd.exe", BLOCKED),
        ("cmd=python3", BLOCKED),
        ("cmd=n%D1%80x", BLOCKED),
        ("cmd=npx;id", BLOCKED),
        ("cmd=npx&arg=-c&arg=id", BLOCKED),
        ("cmd=npx&arg=-y&arg=server&arg=-c&arg=id", BLOCKED),
        ("cmd=npx&arg=-c%3Did", BLOCKED),
        ("cmd=npx&arg=--call&arg=id", BLOCKED),
        ("cmd=npx&arg=--call%3Did", BLOCKED),
        ("cmd=npx&arg=--cal%3Did", BLOCKED),
        ("cmd=npx&arg=--ca&arg=id", BLOCKED),
        ("cmd=npx&arg=-call&arg=id", BLOCKED),
        ("cmd=npx&arg=---call&arg=id", BLOCKED),
        ("cmd=npx&arg=--CALL&arg=id", BLOCKED),
        ("cmd=npx&arg=-yc&arg=id", BLOCKED),
        ("cmd=npx.cmd&arg=-c&arg=id", BLOCKED),
        ("cmd=npx&arg=--node-options%3D--require%3D/x", BLOCKED),
        ("cmd=npx&arg=--script-shell%3D/x&arg=p", BLOCKED),
        ("cmd=npx&arg=p&arg=--config&arg=a.json", ALLOWED),
        ("cmd=npx&arg=p&arg=--cache-dir%3Da", ALLOWED),
        ("cmd=npx&arg=tsx&arg=-e&arg=1", BLOCKED),
        ("cmd=uvx&arg=python&arg=-c&arg=1", BLOCKED),
        ("cmd=uvx&arg=--from&arg=x&arg=python", BLOCKED),
        ("cmd=npx&arg=p&arg=%3Bid", BLOCKED),
        ("cmd=npx&arg=p&arg=%26%26id", BLOCKED),
        ("cmd=npx&arg=p&arg=%7Cid", BLOCKED),
        ("cmd=npx&arg=p&arg=%60id%60", BLOCKED),
        ("cmd=npx&arg=p&arg=%24(id)", BLOCKED),
        ("cmd=npx&arg=p&arg=a%0Aid", INVALID),
        ("cmd=npx.cmd&arg=p&arg=%25PATH%25", BLOCKED),
        ("cmd=npx.cmd&arg=p&arg=%5E", BLOCKED),
        ("cmd=npx&arg=--registry&arg=http://evil&arg=p", CONFIRM),
        ("cmd=npx&arg=github:user/repo", CONFIRM),
        ("cmd=npx&arg=https://evil/x.tgz", CONFIRM),
        ("cmd=npx&arg=../x", CONFIRM),
        ("cmd=uvx&arg=--from&arg=git%2Bhttps://h/r&arg=x", CONFIRM),
        ("cmd=uvx&arg=--index-url%3Dhttp://evil&arg=x", CONFIRM),
    ] {
        assert_eq!(with(parameters), expected, "{parameters}");
    }
}

/// A link to a command line, its words separated by spaces.
fn line(words: &str) -> String {
    let escaped =
        |word: &str| percent_encoding::utf8_percent_encode(word, NON_ALPHANUMERIC).to_string();
    let (cmd, args) = words.split_once(' ').unwrap_or((words, ""));
    let args = args.split(' ').filter(|arg| !arg.is_empty());
    let args: String = args.map(|arg| format!("&arg={}", escaped(arg))).collect();
    with(&format!("cmd={}{args}", escaped(cmd)))
}

#[test]
fn what_a_launcher_runs_is_judged() {
    for (words, expected) in [
        ("uvx mcp-server-time", ALLOWED),
        ("uvx mcp-server-time --local-timezone=Europe/Paris", ALLOWED),
        (
            "uvx -q --python 3.12 --refresh mcp-server-time@1.0",
            ALLOWED,
        ),
        ("uvx -p3.12 mcp-server-time", ALLOWED),
        (
            "uvx --from mcp-server-time[cli]==1.0 mcp-server-time",
            ALLOWED,
        ),
        ("uvx --from=Mcp_Server.Time mcp-server-time", ALLOWED),
        ("npx -y @modelcontextprotocol/server-memory", ALLOWED),
        ("npx --yes -- @modelcontextprotocol/server-memory", ALLOWED),
        ("npx -y --package=@scope/server@1.0.0 server", ALLOWED),
        (
            "npx --yes=true --loglevel silent --prefer-offline server",
            ALLOWED,
        ),
        // Programs that the packages need not contain.
        ("uvx --from six touch FILE", CONFIRM),
        ("uvx --from=six touch FILE", CONFIRM),
        ("uvx --from a --with touch touch FILE", CONFIRM),
        ("npx -p is-odd touch FILE", CONFIRM),
        ("npx -p is-odd ./touch FILE", CONFIRM),
        ("npx -y touch FILE", CONFIRM),
        ("npx -p touch touch FILE", CONFIRM),
        ("npx -p is-odd is-odd/../../x", CONFIRM),
        // Programs of this machine, which run where the package brings none of that name.
        ("uvx --from touch touch FILE", CONFIRM),
        ("uvx --from touch TOUCH FILE", CONFIRM),
        ("uvx --from top Top", CONFIRM),
        ("uvx --with touch --from touch@1.0 touch", CONFIRM),
        ("uvx touch FILE", CONFIRM),
        ("uvx touch@latest FILE", CONFIRM),
        ("uvx touch[extra]==1.0 FILE", CONFIRM),
        ("npx -y touch@1.0.0 FILE", CONFIRM),
        ("npx -y x@npm:touch FILE", CONFIRM),
        ("uvx mcp-touch FILE", ALLOWED),
        // Programs that run code from their arguments.
        ("uvx --from six sh -c id", BLOCKED),
        ("uvx --from six /bin/sh -c id", BLOCKED),
        ("uvx --from six env sh -c id", BLOCKED),
        ("uvx --from six busybox sh", BLOCKED),
        ("uvx --from six xargs touch", BLOCKED),
        ("uvx --from six BASH.EXE -c id", BLOCKED),
        ("uvx --from bash bash -c id", BLOCKED),
        ("uvx --with six python -c 1", BLOCKED),
        ("uvx python3.11 -c 1", BLOCKED),
        ("uvx python@3.11 -c 1", BLOCKED),
        ("uvx cpython@3.11 -c 1", BLOCKED),
        ("uvx pypy3 -c 1", BLOCKED),
        ("uvx pypy310 -c 1", BLOCKED),
        ("uvx cpython-3.12.1-linux-x86_64-gnu -c 1", BLOCKED),
        ("uvx --from python@3.11 python -c 1", BLOCKED),
        ("uvx pythonw -c 1", BLOCKED),
        ("uvx graalpy@24 -c 1", BLOCKED),
        ("uvx uv run x.py", BLOCKED),
        ("uvx IPython -c 1", BLOCKED),
        ("npx -p is-odd node -e 1", BLOCKED),
        ("npx -p x bash FILE", BLOCKED),
        ("npx node@20 -e 1", BLOCKED),
        ("npx node22 -e 1", BLOCKED),
        ("npx @scope/server --port 80", ALLOWED),
        ("npx concurrent-mcp sh", CONFIRM),
        ("uvx mcp-proxy npx server", CONFIRM),
        ("npx npm exec x", BLOCKED),
        ("npx bun@latest -e 1", BLOCKED),
        ("npx x@npm:node -e 1", BLOCKED),
        // What is not understood to its last word.
        ("npx --unknown node -e 1", BLOCKED),
        ("uvx --unknown -- python -c 1", BLOCKED),
        ("npx --unknown --node-options=--require=/x server", BLOCKED),
        ("npx --unknown server", CONFIRM),
        ("npx --@scope:registry=http://evil server", CONFIRM),
        ("npx --yes=evil server", CONFIRM),
        ("npx -yq server", CONFIRM),
        ("npx --no-yes evil server", CONFIRM),
        ("npx --- server", CONFIRM),
        ("npx - server", CONFIRM),
        ("npx -p", CONFIRM),
        ("npx --package= server", CONFIRM),
        ("npx -p -y server", CONFIRM),
        ("uvx --unknown server", CONFIRM),
        ("uvx -x server", CONFIRM),
        ("uvx --quiet=1 server", CONFIRM),
        ("uvx --fro six server", CONFIRM),
        ("uvx - server", CONFIRM),
        ("uvx --from", CONFIRM),
        // Another source, a file or a folder of this machine.
        ("uvx -ihttp://evil pkg", CONFIRM),
        ("uvx -qi http://evil pkg", CONFIRM),
        ("uvx -i=http://evil pkg", CONFIRM),
        ("uvx -fhttp://evil pkg", CONFIRM),
        ("uvx --python=/tmp/x pkg", CONFIRM),
        ("uvx -p/tmp/x pkg", CONFIRM),
        ("uvx -p 3.12/../../tmp/x pkg", CONFIRM),
        ("uvx --python . pkg", CONFIRM),
        ("uvx -p 3 pkg", ALLOWED),
        ("uvx -p 3.12.10 pkg", ALLOWED),
        ("uvx -p 3. pkg", CONFIRM),
        ("uvx -p 3..12 pkg", CONFIRM),
        ("uvx -p 3.12.1.1 pkg", CONFIRM),
        ("uvx -p 3.256 pkg", CONFIRM),
        ("uvx -p 3.12t pkg", CONFIRM),
        ("uvx -p 3.+12 pkg", CONFIRM),
        ("uvx -p python3.12 pkg", CONFIRM),
        ("uvx -p cpython@3.12 pkg", CONFIRM),
        ("uvx -p >=3.12 pkg", CONFIRM),
        // A file or a folder of the working directory that is taken for a version.
        ("uvx six@sub", CONFIRM),
        ("uvx six@1.", CONFIRM),
        ("uvx --from six@sub six", CONFIRM),
        ("uvx --from six@1.0,<x six", CONFIRM),
        ("uvx --with six@sub pkg", CONFIRM),
        ("uvx --with six@1.0 pkg", CONFIRM),
        ("uvx x.tgz", CONFIRM),
        ("npx -y y.tgz", CONFIRM),
        ("npx -y x@y.TGZ", CONFIRM),
        ("npx -p x@y.tar x", CONFIRM),
        ("npx -p x@y,=.tgz x", CONFIRM),
        ("npx -p x@1,@s/b x", CONFIRM),
        ("npx -y x@@sub/dir", CONFIRM),
        ("npx -y git@ho_st.x:repo", CONFIRM),
        ("npx -y x@~1.2.3", ALLOWED),
        ("uvx --env-file 3 pkg", CONFIRM),
        ("uvx --env-file .env pkg", CONFIRM),
        ("uvx --directory /tmp pkg", CONFIRM),
        ("uvx --overrides http://evil/r.txt pkg", CONFIRM),
        ("uvx --with-editable . pkg", CONFIRM),
        ("uvx --cache-dir /tmp/x pkg", CONFIRM),
        ("npx --cache /tmp/x pkg", CONFIRM),
        // Programs that are no launchers.
        ("jbang org.example:server:1.0.0", ALLOWED),
        (
            "jbang jdbc@quarkiverse/quarkus-mcp-servers --url x",
            ALLOWED,
        ),
        ("jbang -c id", CONFIRM),
        ("jbang --code id", CONFIRM),
        ("jbang https://evil/x.java", CONFIRM),
        ("jbang x.java", CONFIRM),
        ("jbang a:b", CONFIRM),
        ("jbang a:b:-c", CONFIRM),
        ("jbang a@b/../c", CONFIRM),
        ("jbang .a@b/c", CONFIRM),
        ("jbang c:x.java", CONFIRM),
        ("jbang run x@y", CONFIRM),
        ("jbang", CONFIRM),
        ("cu stdio", ALLOWED),
        ("cu terminal", CONFIRM),
        ("cu", CONFIRM),
        ("i-ching-mcp-server --x", CONFIRM),
        ("gosling mcp memory", ALLOWED),
        ("gosling mcp developer", CONFIRM),
        ("goosed mcp computercontroller", CONFIRM),
        ("gosling mcp memory --http 80", CONFIRM),
        ("gosling mcp", CONFIRM),
    ] {
        assert_eq!(line(words), expected, "{words}");
    }
    let reasons = |link: &str| {
        judge(&format!("goose://extension?name=x&{link}"))
            .unwrap()
            .reasons
            .concat()
    };
    let both = reasons("cmd=uvx&arg=--from&arg=six&arg=touch&arg=FILE");
    assert!(both.contains("\"touch\"") && both.contains("six"), "{both}");
    let shell = reasons("cmd=gosling&arg=mcp&arg=developer");
    assert!(shell.contains("shell"), "{shell}");
}

#[test]
fn a_secret_that_has_a_value_is_given_after_a_confirmation() {
    for (parameters, shown) in [
        ("url=https://h.example/mcp&env=SET", "h.example"),
        (
            "url=https://h.example/mcp&header=X-A%3D%24%7BSET%7D",
            "h.example",
        ),
        (
            "url=https://h.example/mcp&env=SET&header=X-A%3D%24SET",
            "h.example",
        ),
        ("cmd=npx&arg=server&env=SET", "npx"),
    ] {
        let judged = judge(&format!("goose://extension?name=x&{parameters}")).unwrap();
        assert_eq!(judged.judgement, Judgement::ConfirmRequired, "{parameters}");
        let reason = judged.reasons.concat();
        assert!(reason.contains("SET") && reason.contains(shown), "{reason}");
    }
}

#[test]
fn only_servers_of_the_web_are_reached() {
    for (parameters, expected) in [
        ("url=https://h.example/mcp", ALLOWED),
        ("url=https://h.example:8443/mcp?a%3D1", ALLOWED),
        ("url=http://127.0.0.1:80/mcp", ALLOWED),
        ("url=http://localhost/mcp", ALLOWED),
        ("url=http://%5B::1%5D:1/mcp", ALLOWED),
        ("url=https://h&header=Authorization%3DBearer%20x", ALLOWED),
        ("url=https://h&header=X-Key%3Da%3Db", ALLOWED),
        ("url=http://h.example/mcp", CONFIRM),
        ("url=http://127.0.0.1.evil.example/", CONFIRM),
        ("url=http://localhost.evil.example/", CONFIRM),
        ("url=javascript:alert(1)", BLOCKED),
        ("url=file:///etc/passwd", BLOCKED),
        ("url=ftp://h", BLOCKED),
        ("url=HTTPS://h", BLOCKED),
        ("url=//h", BLOCKED),
        ("url=https:h", BLOCKED),
        ("url=https://", BLOCKED),
        ("url=https:///path", BLOCKED),
        ("url=http://user:pw@h/", BLOCKED),
        ("url=https://h@evil.example/", BLOCKED),
        ("url=https://h%5C@evil.example/", BLOCKED),
        ("url=https://h%5Cevil.example/", BLOCKED),
        ("url=http:%5C%5Ch/", BLOCKED),
        ("url=https://h%20h/", BLOCKED),
        ("url=https://h/a%20b", BLOCKED),
        ("url=https://h/a%5Cb", BLOCKED),
        ("url=https://%5Bh%5D/", BLOCKED),
        ("url=https://h%0A/", INVALID),
        ("url=https://h:99999/", BLOCKED),
        ("url=https://h:0/", BLOCKED),
        ("url=https://h:/", BLOCKED),
        ("url=https://%D0%B5xample.com/", BLOCKED),
        ("url=https://%5B::1/", BLOCKED),
        ("url=https://h%2525/", BLOCKED),
        (
            "url=https://h&header=Authorization%3Dx%0D%0AX:%20y",
            INVALID,
        ),
        ("url=https://h&header=A%20B%3Dc", INVALID),
        ("url=https://h&header=%3Dc", INVALID),
        ("url=https://h&header=A%3D%24%7BTOKEN%3DN%7D", INVALID),
        ("url=https://h&header=A%3D%24%7B%7D", INVALID),
        ("url=https://h&header=A%3D%24%7BA%24%7BB%7D", INVALID),
        ("url=https://h&header=Host%3Devil", BLOCKED),
        ("url=https://h&header=transfer-encoding%3Dchunked", BLOCKED),
        ("url=https://h&header=A%3D1&header=a%3D2", BLOCKED),
        ("url=https://h&header=A%3D%24%7BOPENAI_API_KEY%7D", CONFIRM),
    ] {
        assert_eq!(with(parameters), expected, "{parameters}");
    }
}
