//! The options of launchers, as data. An option that is not here is not understood.

use crate::extension::wrappers::{Meaning, Options, Row, Syntax, Takes, has};
use crate::packages::{Package, image, npm, pypi, uv_tool};

/// How a launcher or a part of one reads its options, and what names a package.
pub(super) struct Launcher {
    pub(super) syntax: Syntax,
    pub(super) rows: &'static [&'static [Row]],
    /// Reads the text that names a package.
    pub(super) package: fn(&str) -> Option<Package>,
    /// Reads the text that names the package of the program; `None` if no program runs on this machine.
    pub(super) program: Option<fn(&str) -> Option<Package>>,
}

impl Launcher {
    pub(super) fn options(&self) -> Options {
        Options { syntax: self.syntax, rows: self.rows }
    }
}

/// What follows.
pub(super) enum Choice {
    /// Options, and a package that runs.
    Package(&'static Launcher),
    /// Options, and a program that runs.
    Program(&'static Launcher),
    /// Options, and a command that decides what follows; the last is for commands that are not listed.
    Command(
        &'static Launcher,
        &'static [(&'static str, Choice)],
        &'static Choice,
    ),
    /// Nothing that fetches a package.
    Nothing,
    /// Something that is not understood.
    Unclear,
}

use Choice::Command;
use Meaning::{Adds, Code, Harmless, Machine, Power, Provides, Requirements, Source};
use Takes::{Nothing, Switch, Value};

/// The launchers, by the names of their programs.
pub(super) const PROGRAMS: &[(&str, Choice)] = &[
    ("npx", Choice::Package(&NPX)),
    ("npm", Command(&NPM, OF_NPM, &Choice::Unclear)),
    ("bunx pnpx", Choice::Package(&DLX)),
    ("pnpm yarn yarnpkg bun", Command(&DLX, OF_SCRIPTS, &Choice::Nothing)),
    ("corepack", Command(&NPM, &[], &Choice::Unclear)),
    ("uvx", Choice::Package(&UVX)),
    ("uv uvw", Command(&UV, OF_UV, &Choice::Unclear)),
    ("pip pip3", Command(&NO_OPTIONS, &[], &Choice::Unclear)),
    ("pipx", Command(&NO_OPTIONS, OF_PIPX, &Choice::Unclear)),
    ("docker podman nerdctl", Command(&DOCKER, OF_DOCKER, &Choice::Unclear)),
];

const OF_NPM: &[(&str, Choice)] = &[
    ("exec exe x", Choice::Package(&NPM)),
    ("run run-script start", Choice::Nothing),
];

/// The commands of runners of scripts that fetch something. All others are scripts.
const OF_SCRIPTS: &[(&str, Choice)] = &[
    ("dlx x", Choice::Package(&DLX)),
    ("a add audit c ci clean-install create i init install install-clean install-test it link ln patch", Choice::Unclear),
    ("up update upgrade upgrade-interactive global workspace workspaces recursive multi m", Choice::Unclear),
    ("approve-builds dedupe deploy env fetch import plugin pm policies rb rebuild rt runtime", Choice::Unclear),
    ("self-update set store unplug", Choice::Unclear),
];

const OF_UV: &[(&str, Choice)] = &[
    ("tool", Command(&UV, OF_UV_TOOL, &Choice::Unclear)),
    ("run", Choice::Program(&UV_RUN)),
];

const OF_UV_TOOL: &[(&str, Choice)] = &[("run uvx", Choice::Package(&UVX))];

const OF_PIPX: &[(&str, Choice)] = &[("run", Choice::Package(&PIPX))];

const OF_DOCKER: &[(&str, Choice)] = &[
    ("container", Command(&NO_OPTIONS, OF_CONTAINER, &Choice::Unclear)),
    ("run create", Choice::Package(&DOCKER_RUN)),
    ("exec start attach", Choice::Nothing),
];

const OF_CONTAINER: &[(&str, Choice)] = &[
    ("run create", Choice::Package(&DOCKER_RUN)),
    ("exec start attach", Choice::Nothing),
];

const NO_OPTIONS: Launcher = Launcher { rows: &[], ..UV };

const NPX: Launcher = Launcher {
    syntax: Syntax::Npx,
    rows: &[
        &[
            Row(Value, Provides, "p"),
            Row(Value, Code, "n node-arg npm shell"),
            Row(Nothing, Code, "shell-auto-fallback"),
            Row(Nothing, Harmless, "no-install always-spawn ignore-existing"),
        ],
        NPM_OPTIONS,
    ],
    package: npm,
    program: Some(npm),
};

const NPM: Launcher = Launcher {
    syntax: Syntax::NpmExec,
    rows: &[&[Row(Nothing, Harmless, "p parseable no-audit no-fund no-progress")], NPM_OPTIONS],
    ..NPX
};

const NPM_OPTIONS: &[Row] = &[
    Row(Switch, Harmless, "yes audit engine-strict foreground-scripts fund ignore-scripts legacy-peer-deps offline"),
    Row(Switch, Harmless, "prefer-offline prefer-online progress strict-peer-deps timing unicode update-notifier"),
    Row(Nothing, Harmless, "y q quiet s silent verbose d dd ddd"),
    Row(Value, Harmless, "loglevel fetch-retries fetch-timeout maxsockets"),
    Row(Value, Provides, "package"),
    Row(Value, Source, "registry reg"),
    Row(Value, Machine, "cache workspace w"),
    Row(Value, Code, "call c script-shell node-options userconfig globalconfig prefix C"),
];

/// What `bunx`, `pnpm dlx` and `yarn dlx` have in common.
const DLX: Launcher = Launcher {
    syntax: Syntax::Plain,
    rows: &[&[
        Row(Nothing, Harmless, "bun silent verbose no-install q quiet s y yes"),
        Row(Value, Provides, "p package"),
        Row(Value, Machine, "C dir cwd"),
    ]],
    ..NPX
};

const UV: Launcher = Launcher {
    syntax: Syntax::Plain,
    rows: &[UV_OPTIONS],
    package: pypi,
    program: Some(pypi),
};

const UVX: Launcher = Launcher {
    rows: &[
        &[
            Row(Value, Provides, "from"),
            Row(Value, Requirements, "c constraints b build-constraints overrides"),
            Row(Nothing, Harmless, "lfs"),
        ],
        UV_RUN_OPTIONS,
        UV_OPTIONS,
    ],
    program: Some(pypi_or_python),
    ..UV
};

const UV_RUN: Launcher = Launcher {
    rows: &[
        &[
            Row(Nothing, Harmless, "m module s script gui-script active all-extras all-groups all-packages exact"),
            Row(Nothing, Harmless, "frozen locked no-default-groups no-dev no-editable no-project no-sync only-dev"),
            Row(Value, Harmless, "extra group no-extra no-group only-group package"),
        ],
        UV_RUN_OPTIONS,
        UV_OPTIONS,
    ],
    ..UV
};

/// Options of `uv run` and `uvx`.
const UV_RUN_OPTIONS: &[Row] = &[
    Row(Value, Adds, "w with"),
    Row(Value, Requirements, "with-editable with-requirements"),
    Row(Nothing, Harmless, "isolated no-env-file no-index no-build no-binary no-sources compile-bytecode refresh"),
    Row(Nothing, Harmless, "reinstall U upgrade"),
    Row(Value, Harmless, "exclude-newer fork-strategy link-mode no-binary-package no-build-package prerelease"),
    Row(Value, Harmless, "python-platform refresh-package reinstall-package resolution"),
    Row(Value, Source, "index default-index i index-url extra-index-url f find-links index-strategy torch-backend"),
    Row(Value, Machine, "p python env-file keyring-provider"),
];

/// Options of all commands of `uv`.
const UV_OPTIONS: &[Row] = &[
    Row(Nothing, Harmless, "q quiet v verbose n no-cache no-config no-progress offline system-certs native-tls"),
    Row(Nothing, Harmless, "managed-python no-managed-python no-python-downloads"),
    Row(Value, Harmless, "color"),
    Row(Value, Source, "config-file allow-insecure-host"),
    Row(Value, Machine, "directory project cache-dir"),
];

/// All options, since an abbreviation is one if it fits no other.
const PIPX: Launcher = Launcher {
    syntax: Syntax::Argparse,
    rows: &[&[
        Row(Nothing, Harmless, "h help q quiet v verbose no-cache no-path-check refresh skip-maintenance"),
        Row(Nothing, Machine, "e editable fetch-missing-python global path pypackages system-site-packages"),
        Row(Value, Harmless, "backend cooldown fetch-python"),
        Row(Value, Provides, "spec"),
        Row(Value, Adds, "with"),
        Row(Value, Source, "i index-url pip-args"),
        Row(Value, Machine, "python"),
        Row(Value, Code, "python-args"),
    ]],
    ..UV
};

const DOCKER: Launcher = Launcher {
    syntax: Syntax::Plain,
    rows: &[&[
        Row(Switch, Harmless, "D debug"),
        Row(Value, Harmless, "l log-level"),
        Row(Value, Source, "H host c context config"),
    ]],
    package: image,
    program: None,
};

const DOCKER_RUN: Launcher = Launcher {
    rows: &[&[
        Row(Switch, Harmless, "i interactive t tty q quiet init no-healthcheck read-only rm sig-proxy"),
        Row(Value, Harmless, "a attach cap-drop cpu-shares cpus cpuset-cpus domainname e env entrypoint expose"),
        Row(Value, Harmless, "h hostname l label m memory memory-reservation memory-swap name network-alias"),
        Row(Value, Harmless, "p publish pids-limit platform pull shm-size stop-signal stop-timeout tmpfs u user"),
        Row(Value, Harmless, "ulimit w workdir"),
        Row(Switch, Machine, "d detach disable-content-trust oom-kill-disable P publish-all"),
        Row(Value, Machine, "add-host annotation cidfile dns dns-option dns-search env-file gpus group-add health-cmd"),
        Row(Value, Machine, "ip ip6 ipc isolation label-file link log-driver log-opt mac-address mount net network"),
        Row(Value, Machine, "oom-score-adj pid restart runtime storage-opt sysctl uts v volume volume-driver"),
        Row(Switch, Power, "privileged use-api-socket"),
        Row(Value, Power, "cap-add cgroup-parent cgroupns device device-cgroup-rule security-opt userns volumes-from"),
    ]],
    ..DOCKER
};

/// Programs that run code, commands or other programs from their arguments. A version may follow.
const INTERPRETERS: &str = "python pythonw py cpython pypy graalpy pyodide ipython jython micropython xonsh \
    node nodejs deno bun tsx ts-node esno zx sh bash zsh dash ash ksh csh tcsh fish busybox toybox pwsh powershell cmd \
    perl ruby irb php lua luajit tclsh awk gawk mawk sed env xargs sudo doas su nohup nice timeout find parallel ssh \
    npx npm pnpm pnpx yarn bunx corepack uv uvx pipx pip java jshell jbang docker podman nerdctl make \
    cross-env concurrently nodemon shx dotenv";

/// The implementations of Python that `uvx` runs without a package.
const PYTHONS: &str = "python cpython pypy graalpy pyodide";

/// Whether a program runs code from its arguments: `python`, `python3.11`, `cpython-3.12-linux`, `bash`.
pub fn is_interpreter(program: &str) -> bool {
    let end = program.find(|c: char| c.is_ascii_digit()).unwrap_or(program.len());
    let (name, version) = program.split_at(end);
    let name = name.trim_end_matches(['-', '_', '.']);
    // `python3-x` is another program, and `cpython-3-x` is Python for a platform.
    let is_version = |c: char| c.is_ascii_digit() || "-_.td".contains(c);
    let is_alone = version.chars().all(is_version) || name != "python" && has(PYTHONS, name);
    is_alone && has(INTERPRETERS, name)
}

/// The package of a program of `uvx`, which runs Python itself without one.
fn pypi_or_python(specifier: &str) -> Option<Package> {
    let is_version = |c: char| c.is_ascii_digit() || c == '-';
    let is_python = |it: &Package| has(PYTHONS, it.name().trim_end_matches(is_version));
    uv_tool(specifier).filter(|package| !is_python(package))
}
