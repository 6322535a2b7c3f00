//! The settings of the screening, and what they decide about a command line.

use crate::advisory::Malware;
use crate::allowlist::Allowlist;
use crate::extension::environment;
use crate::extension::screening::{CommandLine, Decision, Outcome, Screener};
use crate::extension::wrappers::{Given, Line, Meaning};
use crate::launchers::Launch;
use crate::outbound::is_loopback_url;
use crate::packages::{Ecosystem, Package, Version};
use crate::store::settings::{self, Setting};
use crate::store::{Config, Paths};
use crate::sys::cancel::Cancel;
use crate::text::printable;
use crate::versions::{self, Affects};
use crate::{look_alikes, osv_server, sources};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The longest reason why advisories or a list cannot be read, in characters.
const MAX_FAULT: usize = 300;

/// How long the questions to an OSV server about one command line may take.
const ASKING: Duration = Duration::from_secs(10);

/// The settings of the screening.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `GOOSE_ADVISORIES`: a file or a folder of OSV files, or an index.
    pub advisories: Option<PathBuf>,
    /// The index that is used without that setting, if it exists.
    pub index: Option<PathBuf>,
    /// `OSV_ENDPOINT`: a server that is asked, too.
    pub endpoint: Option<String>,
    /// `GOOSE_SCREENING=strict`: refuse what cannot be checked.
    pub strict: bool,
    /// `GOOSE_ALLOWLIST`: the file or the address of the list of allowed extensions.
    pub allowlist: Option<String>,
    /// `GOOSE_ALLOWLIST_WARNING`: warn of what is not on the list.
    pub allowlist_warns: bool,
    /// Make no connection that leaves this machine.
    pub offline: bool,
    /// Why one of these settings cannot be used; nothing may start then.
    pub fault: Option<String>,
}

/// Variables by which launchers install something else than their command line says, in the form of
/// [`environment::REFUSED`].
const CHOOSE_PACKAGES: &[(&str, &str)] = &[(
    "NPM_CONFIG_* PNPM_* YARN_* BUN_* COREPACK_* UV_* PIP*",
    "can change what is installed, whatever the command line says",
)];

/// The same, but other programs have such variables for other reasons; so these count for launchers only.
const CHOOSE_REGISTRIES: &[(&str, &str)] = &[
    (
        "HOME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA XDG_* PREFIX DESTDIR",
        "decides which configuration a launcher reads, and so from where it installs",
    ),
    (
        "HTTP_PROXY HTTPS_PROXY ALL_PROXY PROXY SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
        NODE_TLS_REJECT_UNAUTHORIZED REQUESTS_CA_BUNDLE CURL_CA_BUNDLE DOCKER_* CONTAINER_* CONTAINERS_*",
        "decides which servers a launcher connects to and trusts",
    ),
];

/// A package of a registry that a command line installs.
type Published<'a> = (Ecosystem, &'a str, &'a Version);

impl Settings {
    /// Whether the user wants more than warnings about look-alikes.
    pub fn is_configured(&self) -> bool {
        let Settings {
            advisories,
            endpoint,
            strict,
            allowlist,
            fault,
            ..
        } = self;
        let is_set = advisories.is_some() || endpoint.is_some() || allowlist.is_some();
        is_set || *strict || fault.is_some()
    }

    /// The settings of the user.
    pub fn read(config: &Config, paths: &Paths, offline: bool) -> Self {
        let mut fault = None;
        let mut text = |setting: &Setting<'_>| setting.text_or_fault(config, &mut fault);
        Settings {
            advisories: text(&settings::ADVISORIES).map(PathBuf::from),
            index: Some(paths.data.join(sources::INDEX)),
            // Without a network the server is no source, unless it is on this machine.
            endpoint: text(&settings::OSV_ENDPOINT).filter(|url| !offline || is_loopback_url(url)),
            strict: settings::SCREENING.word(config) == "strict",
            allowlist: text(&settings::ALLOWLIST),
            allowlist_warns: settings::ALLOWLIST_WARNING.is_on(config),
            offline,
            fault,
        }
    }

    /// Decides whether this command line may start with variables of these names; `None` if there is no list of
    /// allowed ones, and it installs nothing.
    pub fn screen<'v>(
        &self,
        cmd: &str,
        args: &[String],
        variables: impl IntoIterator<Item = &'v str>,
        cancel: &Cancel,
    ) -> Option<Decision> {
        let line = Line::read(cmd, args);
        let launch = Launch::of(&line);
        let mut packages: Vec<&Package> = Vec::new();
        for package in &launch.packages {
            if !packages.contains(&package) {
                packages.push(package);
            }
        }
        let mut decision = Decision {
            packages: packages.iter().map(|package| shown(package)).collect(),
            ..Decision::default()
        };
        if let Some(fault) = &self.fault {
            decision.refuse(fault);
        }
        // `npx --call` runs a command line, which can install anything.
        let is_code = |option: &Given<'_>| option.meaning == Meaning::Code;
        let is_unclear = launch.unclear.is_some() || launch.options.iter().any(is_code);
        let installs = !packages.is_empty() || is_unclear;
        self.check_variables(variables.into_iter(), installs, &mut decision);
        let on_the_way = line.variables.iter().map(String::as_str);
        self.check_variables(on_the_way, installs, &mut decision);
        if !installs && self.allowlist.is_none() && decision.reasons.is_empty() {
            return None;
        }
        self.check_allowlist(cmd, args, cancel, &mut decision);
        if installs {
            self.check_advisories(&packages, &launch, cancel, &mut decision);
        }
        for package in &packages {
            check_name(package, &mut decision);
        }
        Some(decision)
    }

    /// Variables by which launchers install something else than their command line says.
    fn check_variables<'v>(
        &self,
        names: impl Iterator<Item = &'v str>,
        installs: bool,
        decision: &mut Decision,
    ) {
        if !self.is_configured() {
            return;
        }
        let refuses = self.strict || (self.allowlist.is_some() && !self.allowlist_warns);
        let of_launchers = |name: &str| {
            let table = CHOOSE_REGISTRIES.iter().filter(|_| installs);
            environment::reason_for(table, name)
        };
        for name in names {
            let reason = environment::reason_for(CHOOSE_PACKAGES, name);
            let Some(reason) = reason.or_else(|| of_launchers(name)) else {
                continue;
            };
            let name = printable(name, 100);
            let reason = format!(
                "the variable {name} {reason}; remove it, or set it where gosling itself starts"
            );
            decision.warn_or_refuse(refuses, reason);
        }
    }

    fn check_allowlist(
        &self,
        cmd: &str,
        args: &[String],
        cancel: &Cancel,
        decision: &mut Decision,
    ) {
        let Some(source) = &self.allowlist else {
            return;
        };
        let reason = match Allowlist::load(source, self.offline, cancel) {
            Ok(list) if list.allows(cmd, args) => return,
            Ok(_) => "its command line is not on the list of allowed extensions (GOOSE_ALLOWLIST)"
                .to_owned(),
            Err(fault) => format!(
                "the list of allowed extensions (GOOSE_ALLOWLIST) cannot be read: {}",
                printable(&fault, MAX_FAULT)
            ),
        };
        decision.warn_or_refuse(!self.allowlist_warns, reason);
    }

    fn check_advisories(
        &self,
        packages: &[&Package],
        launch: &Launch<'_>,
        cancel: &Cancel,
        decision: &mut Decision,
    ) {
        // An index that cannot be seen may be there.
        let is_there = |index: &PathBuf| index.try_exists().unwrap_or(true);
        let default = || self.index.clone().filter(is_there);
        let path = self.advisories.clone().or_else(default);
        if path.is_none() && self.endpoint.is_none() {
            if self.strict {
                decision.refuse(
                    "GOOSE_SCREENING is strict, but there are no advisories to check its packages: import some \
                     with `gosling advisories import`, or name them with GOOSE_ADVISORIES",
                );
            }
            return;
        }
        let published: Vec<_> = packages.iter().filter_map(|it| published(it)).collect();
        let mut faults = Vec::new();
        if let Some(path) = &path {
            let candidates = launch.candidates.iter().filter_map(self::published);
            let named: Vec<_> = published.iter().copied().chain(candidates).collect();
            let names: Vec<_> = named.iter().map(|it| (it.0, it.1)).collect();
            let found = sources::find(path, &names, cancel);
            faults.extend(found.fault);
            for package in &named {
                self.check_malware(*package, &found.malware, decision);
            }
        }
        let is_image = |package: &Published<'_>| package.0 == Ecosystem::Docker;
        if let Some(endpoint) = &self.endpoint
            && decision.decision != Outcome::Refused
        {
            let packages = published.iter().filter(|package| !is_image(package));
            faults.extend(self.ask(endpoint, packages, cancel, decision));
        }
        for fault in faults {
            let fault = printable(&fault, MAX_FAULT);
            let reason = format!("the advisories cannot be read: {fault}");
            decision.warn_or_refuse(self.strict, reason);
        }
        for reason in unchecked(packages, launch) {
            decision.warn_or_refuse(self.strict, reason);
        }
        if self.strict && path.is_none() && published.iter().any(is_image) {
            decision.refuse("there are no advisories about images of containers");
        }
    }

    /// Asks the OSV server about the packages; returns why not all is known of them.
    fn ask<'a>(
        &self,
        endpoint: &str,
        packages: impl Iterator<Item = &'a Published<'a>>,
        cancel: &Cancel,
        decision: &mut Decision,
    ) -> Option<String> {
        let end = Instant::now() + ASKING;
        for package in packages {
            let found = osv_server::ask(endpoint, *package, end, cancel);
            self.check_malware(*package, &found.malware, decision);
            if found.fault.is_some() {
                return found.fault;
            }
        }
        None
    }

    /// Decides about a package by the advisories that name it.
    fn check_malware(
        &self,
        (ecosystem, name, version): Published<'_>,
        malware: &[Malware],
        decision: &mut Decision,
    ) {
        let is_it = |it: &&Malware| it.ecosystem == ecosystem.name() && it.name == name;
        let affects = |it: &Malware| versions::affects(ecosystem, &it.versions, version);
        let named = malware.iter().filter(is_it);
        let Some((affects, id)) = named.map(|it| (affects(it), &it.id)).max() else {
            return;
        };
        let of = ecosystem.name();
        let name = printable(name, 100);
        match affects {
            Affects::All => decision.refuse(format!("the package {name:?} of {of} is malware: {id}; do not install it")),
            Affects::Some => decision.refuse(format!(
                "versions of the package {name:?} of {of} are malware: {id}; name a version that is not"
            )),
            Affects::None => {}
        }
    }
}

impl Screener for Settings {
    fn screen(&self, line: &CommandLine<'_>, cancel: &Cancel) -> Option<Decision> {
        let CommandLine {
            cmd,
            args,
            variables,
        } = line;
        Settings::screen(self, cmd, args, variables.iter().copied(), cancel)
    }
}

/// What advisories cannot tell of a command line.
fn unchecked(packages: &[&Package], launch: &Launch<'_>) -> Vec<String> {
    let elsewhere = packages.iter().filter_map(|package| match package {
        Package::Published { .. } => None,
        Package::Elsewhere { source } => Some(printable(source, 100)),
    });
    let mut reasons: Vec<String> = elsewhere
        .map(|source| {
            format!("{source:?} is not a package of a registry, so advisories do not name it")
        })
        .collect();
    let mut options = launch.options.iter();
    let is_other = |meaning: Meaning| matches!(meaning, Meaning::Source | Meaning::Code);
    if let Some(option) = options.find(|option| is_other(option.meaning)) {
        let word = printable(option.word, 100);
        reasons.push(format!(
            "{word:?} can install from another source, of which advisories do not tell"
        ));
    }
    if let Some(word) = launch.unclear {
        let word = printable(word, 100);
        reasons.push(format!(
            "{word:?} in its command line is not understood, so it is not known what it installs"
        ));
    }
    reasons
}

/// Warns of a name that resembles a well-known one.
fn check_name(package: &Package, decision: &mut Decision) {
    let (name, known) = match package {
        Package::Published {
            ecosystem, name, ..
        } => (name, look_alikes::resembles(*ecosystem, name)),
        Package::Elsewhere { source } => (source, look_alikes::is_homoglyph(source)),
    };
    if let Some(known) = known {
        let name = printable(name, 100);
        decision.warn(format!(
            "{name:?} resembles {known:?}, a well-known package; check whether it is the right one"
        ));
    }
}

fn published(package: &Package) -> Option<Published<'_>> {
    match package {
        Package::Published {
            ecosystem,
            name,
            version,
        } => Some((*ecosystem, name, version)),
        Package::Elsewhere { .. } => None,
    }
}

/// The package for users: `npm name 1.0.0`.
fn shown(package: &Package) -> String {
    let text = match package {
        Package::Published {
            ecosystem,
            name,
            version: Version::Exact(version),
        } => format!("{} {name} {version}", ecosystem.name()),
        Package::Published {
            ecosystem, name, ..
        } => format!("{} {name}", ecosystem.name()),
        Package::Elsewhere { source } => source.clone(),
    };
    printable(&text, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words between spaces; behind a `|`, the rest up to the next one is a single word.
    fn words(line: &str) -> Vec<String> {
        let mut parts = line.split('|');
        let first = parts.next().unwrap_or_default().split(' ');
        first.chain(parts).map(str::to_owned).collect()
    }

    fn screen(settings: &Settings, line: &str) -> Option<Decision> {
        let words = words(line);
        settings.screen(&words[0], &words[1..], [], &Cancel::new())
    }

    #[test]
    fn each_package_counts_once_and_an_interpreter_not_at_all() {
        let settings = Settings::default();
        let packages = |line| screen(&settings, line).map(|decision| decision.packages);
        let line = "uvx --with mcp --with Mcp --with a==1.0 python f.py";
        let expected = ["PyPI mcp", "PyPI a 1.0"].map(str::to_owned);
        assert_eq!(packages(line), Some(expected.to_vec()));
        assert_eq!(packages("uvx python f.py"), None);
        assert_eq!(packages("python server.py"), None);
    }

    #[test]
    fn without_sources_only_the_strict_refuse() {
        let mut settings = Settings::default();
        let outcome = |settings: &Settings, line| screen(settings, line).map(|it| it.decision);
        assert_eq!(outcome(&settings, "npx a"), Some(Outcome::Allowed));
        assert_eq!(outcome(&settings, "npx user/repo"), Some(Outcome::Allowed));
        // A name in letters of another script is no name of a package, but may look like one.
        assert_eq!(outcome(&settings, "uvx rеquests"), Some(Outcome::Warned));
        settings.strict = true;
        assert_eq!(outcome(&settings, "npx a"), Some(Outcome::Refused));
        assert_eq!(outcome(&settings, "npx user/repo"), Some(Outcome::Refused));
        assert_eq!(outcome(&settings, "server"), None);
    }

    #[test]
    fn any_wish_of_the_user_but_warnings_is_a_configuration() {
        assert!(!Settings::default().is_configured());
        let warnings = Settings {
            allowlist_warns: true,
            offline: true,
            index: Some(PathBuf::from("index")),
            ..Settings::default()
        };
        assert!(!warnings.is_configured());
        let set: [fn(&mut Settings); 5] = [
            |it| it.advisories = Some(PathBuf::from("osv")),
            |it| it.endpoint = Some("http://127.0.0.1:1".to_owned()),
            |it| it.strict = true,
            |it| it.allowlist = Some("list".to_owned()),
            |it| it.fault = Some("no text".to_owned()),
        ];
        let variable = |settings: &Settings| {
            let decision = settings.screen(
                "npx",
                &["a".to_owned()],
                ["npm_config_package"],
                &Cancel::new(),
            );
            decision
                .unwrap_or_default()
                .reason()
                .contains("npm_config_package")
        };
        assert!(!variable(&Settings::default()));
        for set in set {
            let mut settings = Settings::default();
            set(&mut settings);
            assert!(settings.is_configured() && variable(&settings));
        }
    }

    #[test]
    fn without_a_network_a_server_of_this_machine_alone_is_asked() {
        let paths = Paths::under(std::path::Path::new("/nonexistent"));
        for (url, offline, is_asked) in [
            ("http://127.0.0.1:1", true, true),
            ("https://osv.example", true, false),
            ("https://osv.example", false, true),
        ] {
            let env = |name: &str| (name == "OSV_ENDPOINT").then(|| url.to_owned());
            let config = Config::with_env(paths.config.join("config.yaml"), Box::new(env));
            let settings = Settings::read(&config, &paths, offline);
            assert_eq!(settings.endpoint.is_some(), is_asked, "{url} {offline}");
        }
    }

    #[test]
    fn a_server_that_knows_no_images_does_not_check_them_for_the_strict() {
        let folder = std::env::temp_dir().join(format!("gosling-images-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let outcome = |strict, advisories| {
            let settings = Settings {
                strict,
                advisories,
                endpoint: Some("http://127.0.0.1:1".to_owned()),
                ..Settings::default()
            };
            screen(&settings, "docker run -i mcp/time")
                .unwrap()
                .decision
        };
        assert_eq!(outcome(true, None), Outcome::Refused);
        assert_eq!(outcome(true, Some(folder.clone())), Outcome::Allowed);
        assert_eq!(outcome(false, None), Outcome::Allowed);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_advisory_is_about_one_name_in_one_registry() {
        let version = Version::Open;
        for (ecosystem, name, is_named) in [
            (Ecosystem::Npm, "evil", true),
            (Ecosystem::PyPi, "evil", false),
            (Ecosystem::Npm, "good", false),
        ] {
            let malware = Malware {
                ecosystem: Ecosystem::Npm.name(),
                name: "evil".to_owned(),
                id: "MAL-1".to_owned(),
                versions: versions::ALL.to_owned(),
            };
            let mut decision = Decision::default();
            let package = (ecosystem, name, &version);
            Settings::default().check_malware(package, &[malware], &mut decision);
            assert_eq!(!decision.reasons.is_empty(), is_named, "{name}");
        }
    }

    #[test]
    fn the_launcher_is_found_behind_programs_that_start_it() {
        let npx = "node /usr/lib/node_modules/npm/bin/npx-cli.js";
        for (line, package) in [
            ("env npx -y evil", "npm evil"),
            ("env -u X A=1 B= npx -y evil", "npm evil"),
            ("/usr/bin/env -S|npx -y evil", "npm evil"),
            ("env|-vSA=1 npx -y 'evil'", "npm evil"),
            ("env -S|nice npx -y|evil", "npm evil"),
            ("nice -n 5 npx evil", "npm evil"),
            ("ionice -c3 npx evil", "npm evil"),
            ("nohup uvx evil", "PyPI evil"),
            ("timeout --signal=KILL 5 npx evil", "npm evil"),
            ("stdbuf -oL -e 0 npx evil", "npm evil"),
            ("setsid -w npx evil", "npm evil"),
            ("sh -c|exec npx -y evil", "npm evil"),
            ("bash -lc|A=1 nice uvx \"evil\"", "PyPI evil"),
            ("busybox sh -c|npx evil", "npm evil"),
            ("cmd /d /c npx -y evil", "npm evil"),
            ("CMD.EXE /C|call npx.cmd -y evil", "npm evil"),
            ("python -m uv tool run evil", "PyPI evil"),
            ("python3.12 -u -m pipx run evil", "PyPI evil"),
            ("python3 -muv -q tool run evil", "PyPI evil"),
            (&format!("{npx} -y evil"), "npm evil"),
            ("node C:\\npm\\npm-cli.js exec evil", "npm evil"),
            ("corepack yarn dlx evil", "npm evil"),
            ("corepack pnpm@9.1.0 dlx evil", "npm evil"),
            ("bunx evil", "npm evil"),
            ("python -m uv.__main__ tool run evil", "PyPI evil"),
            ("node /opt/npm/bin/npx-cli evil", "npm evil"),
            ("node /opt/npm/index.js exec evil", "npm evil"),
            ("node pnpm.mjs dlx evil", "npm evil"),
            ("node /usr/lib/node_modules/npm exec evil", "npm evil"),
        ] {
            let decision = screen(&Settings::default(), line).unwrap_or_default();
            assert_eq!(decision.packages, [package], "{line}");
        }
    }

    #[test]
    fn a_launcher_that_is_mentioned_but_not_understood_cannot_be_checked() {
        let strict = Settings {
            strict: true,
            endpoint: Some("http://127.0.0.1:1".to_owned()),
            ..Settings::default()
        };
        for line in [
            "env -i npx evil",
            "env -S|npx\\_evil",
            "xargs npx evil",
            "python -m pip.__main__ install evil",
            "sudo /opt/shims/uv tool run evil",
            "xargs /opt/node/npx evil",
            "sh -c|cd /srv && npx evil",
            "sh -c|n=npx; $n evil",
            "pwsh -Command|npx evil",
            "cmd /c npx evil&x",
            "python -m pip install evil",
            "python x.py --run|uvx evil",
            "node --inspect /opt/npm/bin/npx-cli.js evil",
            "corepack yarn@https://evil/x.js dlx a",
            "x-proxy /opt/bin/npx evil",
            "x-proxy C:\\Program|Files\\npx.cmd evil",
            "npx -y npm@11 exec evil",
            "npx -y a --stdio|npx -y evil",
            "uv run uvx evil",
            "yarn exec npx evil",
            "docker run -i node:24 npx evil",
            "docker run --entrypoint npx node:24 -y evil",
            "zsh -c|=npx evil",
            "pnpm npx evil",
            "npm run x -- npx evil",
        ] {
            let decision = screen(&strict, line).unwrap_or_default();
            assert!(decision.reason().contains("not understood"), "{line}");
        }
        for line in [
            "env A=1 x-mcp --runtime docker",
            "x-mcp /srv/docker files",
            "nice node --inspect server.js x",
            "sh -c|cd /srv && exec x-mcp",
            "python -m http.server 8",
            "node server.js",
            "yarn serve",
        ] {
            assert_eq!(screen(&strict, line), None, "{line}");
        }
    }

    #[test]
    fn variables_that_move_the_configuration_of_launchers_are_refused() {
        let strict = Settings {
            strict: true,
            ..Settings::default()
        };
        let screen = |line: &str, variable: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let decision = strict.screen(&words[0], &words[1..], [variable], &Cancel::new());
            decision.unwrap_or_default().reason()
        };
        for name in [
            "HOME",
            "USERPROFILE",
            "AppData",
            "LOCALAPPDATA",
            "XDG_CONFIG_HOME",
            "XDG_CONFIG_DIRS",
            "XDG_DATA_HOME",
            "PREFIX",
            "http_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "SSL_CERT_FILE",
            "NODE_EXTRA_CA_CERTS",
            "DOCKER_HOST",
        ] {
            let found = screen("npx a", name);
            assert!(found.contains(&format!("the variable {name} ")), "{found}");
            assert!(screen("sh -c npx", name).is_empty());
            // A program that installs nothing may have a proxy, and a folder of its own.
            assert_eq!(screen("x-mcp a", name), "");
            let found = screen(&format!("env {name}=x npx a"), "OTHER");
            assert!(found.contains(&format!("the variable {name} ")), "{found}");
        }
        assert!(!screen("npx a", "HOMES").contains("variable"));
        assert!(screen("x-mcp a", "UV_INDEX_URL").contains("UV_INDEX_URL"));
    }

    #[test]
    fn a_command_line_for_a_launcher_cannot_be_checked() {
        let strict = Settings {
            strict: true,
            endpoint: Some("http://127.0.0.1:1".to_owned()),
            ..Settings::default()
        };
        for line in ["npx -c|npx evil", "npm exec --call=x", "env npx --call|x"] {
            let decision = screen(&strict, line).unwrap_or_default();
            assert_eq!(decision.decision, Outcome::Refused, "{line}");
            assert!(
                decision.reason().contains("call") || decision.reason().contains("-c"),
                "{line}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_index_that_cannot_be_seen_is_not_an_index_that_is_absent() {
        let name = format!("gosling-index-{}", std::process::id());
        let index = std::env::temp_dir().join(name);
        let mut settings = Settings {
            index: Some(index.clone()),
            ..Settings::default()
        };
        let decide = |settings: &Settings| screen(settings, "npx a").unwrap();
        assert_eq!(decide(&settings).decision, Outcome::Allowed);
        std::os::unix::fs::symlink(&index, &index).unwrap();
        let warned = decide(&settings);
        settings.strict = true;
        let refused = decide(&settings);
        std::fs::remove_file(&index).unwrap();
        for (found, outcome) in [(warned, Outcome::Warned), (refused, Outcome::Refused)] {
            assert_eq!(found.decision, outcome);
            assert!(found.reason().contains("cannot be read"), "{found:?}");
        }
    }
}
