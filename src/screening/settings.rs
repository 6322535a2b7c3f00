//! The settings of the screening, and what they decide about a command line.

use crate::advisory::Malware;
use crate::allowlist::Allowlist;
use crate::extension::environment;
use crate::extension::screening_check::{Decision, Outcome, Screener};
use crate::extension::wrappers::{Given, Line, Meaning};
use crate::launchers::Launch;
use crate::packages::{Ecosystem, Package, Version};
use crate::store::settings::{self, Setting};
use crate::store::{Config, Paths};
use crate::sys::cancel::Cancel;
use crate::text::printable;
use crate::versions::{self, Affects};
use crate::{look_alikes, osv_server, sources};
use gosling_core::part::Fact;
use gosling_outbound::is_loopback_url;
use log::Level;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The longest reason why advisories or a list cannot be read, in characters.
const MAX_FAULT: usize = 300;

/// How long the questions to an OSV server about one command line may take.
const OSV_TIMEOUT: Duration = Duration::from_secs(10);

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
        let sources = [&self.endpoint, &self.allowlist, &self.fault];
        self.strict || self.advisories.is_some() || sources.iter().any(|it| it.is_some())
    }

    /// How it stands, for `gosling info`. The list and the server that is asked may have a password in their address.
    pub(crate) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let index = self.index.as_ref().filter(|path| path.exists());
        let advisories = self.advisories.as_ref().or(index);
        let advisories = advisories.map(|path| path.display().to_string());
        let mode = if self.strict { "strict" } else { "warn" };
        let mut facts = vec![
            ("mode", Fact::Value(mode.into())),
            ("advisories", Fact::Value(advisories.into())),
            ("asks_a_server", Fact::Value(self.endpoint.is_some().into())),
            (
                "has_allowlist",
                Fact::Value(self.allowlist.is_some().into()),
            ),
        ];
        let fault = self.fault.as_ref();
        facts.extend(fault.map(|why| ("settings", Fact::Fault(why.clone()))));
        facts
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
            warn_or_refuse(decision, refuses, reason);
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
        warn_or_refuse(decision, !self.allowlist_warns, reason);
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
                refuse(
                    decision,
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
            warn_or_refuse(decision, self.strict, reason);
        }
        for reason in unchecked(packages, launch) {
            warn_or_refuse(decision, self.strict, reason);
        }
        if self.strict && path.is_none() && published.iter().any(is_image) {
            refuse(
                decision,
                "there are no advisories about images of containers",
            );
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
        let end = Instant::now() + OSV_TIMEOUT;
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
            Affects::All => refuse(
                decision,
                format!("the package {name:?} of {of} is malware: {id}; do not install it"),
            ),
            Affects::Some => refuse(
                decision,
                format!(
                    "versions of the package {name:?} of {of} are malware: {id}; name a version that is not"
                ),
            ),
            Affects::None => {}
        }
    }
}

impl Screener for Settings {
    /// `None` if there is no list of allowed command lines, and this one installs nothing.
    fn screen(
        &self,
        cmd: &str,
        args: &[String],
        variables: &[&str],
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
            refuse(&mut decision, fault);
        }
        // `npx --call` runs a command line, which can install anything.
        let is_code = |option: &Given<'_>| option.meaning == Meaning::Code;
        let is_unclear = launch.unclear.is_some() || launch.options.iter().any(is_code);
        let installs = !packages.is_empty() || is_unclear;
        let on_the_way = line.variables.iter().map(String::as_str);
        let names = variables.iter().copied().chain(on_the_way);
        self.check_variables(names, installs, &mut decision);
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

    fn log(&self, decision: &Decision, extension: &str) {
        let extension = printable(extension, 100);
        let packages = decision.packages.join(", ");
        let (level, word) = match decision.decision {
            Outcome::Allowed => (Level::Info, "allowed"),
            Outcome::Warned => (Level::Warn, "warned"),
            Outcome::Refused => (Level::Warn, "refused"),
        };
        let reason = decision.reason();
        log::log!(
            level,
            "command screened extension={extension:?} decision={word} packages={packages:?} reason={reason:?}"
        );
    }
}

/// What advisories cannot tell of a command line.
fn unchecked(packages: &[&Package], launch: &Launch<'_>) -> Vec<String> {
    let elsewhere = packages.iter().filter(|it| published(it).is_none());
    let elsewhere = elsewhere.map(|it| {
        let source = printable(it.name(), 100);
        format!("{source:?} is not a package of a registry, so advisories do not name it")
    });
    let mut reasons: Vec<String> = elsewhere.collect();
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
    let known = match published(package) {
        Some((ecosystem, name, _)) => look_alikes::resembles(ecosystem, name),
        None => look_alikes::is_homoglyph(package.name()),
    };
    if let Some(known) = known {
        let name = printable(package.name(), 100);
        let reason = format!(
            "{name:?} resembles {known:?}, a well-known package; check whether it is the right one"
        );
        warn_or_refuse(decision, false, reason);
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
    let text = match published(package) {
        Some((of, name, Version::Exact(version))) => format!("{} {name} {version}", of.name()),
        Some((of, name, Version::Open)) => format!("{} {name}", of.name()),
        None => package.name().to_owned(),
    };
    printable(&text, 200)
}

/// Refuses if `is_refused`, and else warns.
fn warn_or_refuse(decision: &mut Decision, is_refused: bool, reason: impl Into<String>) {
    let outcome = if is_refused {
        Outcome::Refused
    } else {
        Outcome::Warned
    };
    decision.decision = decision.decision.max(outcome);
    decision.reasons.push(reason.into());
}

fn refuse(decision: &mut Decision, reason: impl Into<String>) {
    warn_or_refuse(decision, true, reason);
}

#[cfg(test)]
mod tests;
