//! Fuzz targets for links and for the packages of command lines, see [`crate::fuzzing`].

use super::{ExtensionLink, Judged, Judgement, KnownSecret, Link, LinkTransport, classify};
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use crate::text::fuzz_input::texts;
use gosling_screening::launchers::{Launch, is_interpreter};
use gosling_screening::packages::Package;

/// The targets.
pub const TARGETS: &[Target] = &[
    Target::new("link", link, 1000),
    Target::new("command_line", command_line, 300),
];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}

/// An option of no launcher.
const UNKNOWN: &str = "--gosling-unknown";

/// A link that is allowed has a command line that is understood, and runs what the package brings.
fn is_understood(cmd: &str, args: &[String]) {
    let launch = Launch::read(cmd, args).unwrap_or_default();
    assert!(launch.unclear.is_none() || cmd == "docker", "{args:?}");
    assert!(!launch.is_foreign || cmd == "docker", "{args:?}");
    assert!(
        !launch.program.is_some_and(|it| is_interpreter(&it)),
        "{args:?}"
    );
}

/// The input is a link. What may be installed has a configuration that is read back as it was written, and what
/// may not has a class.
pub fn link(input: &[u8]) {
    let [link] = texts(input);
    let parsed = Link::parse(&link);
    assert_eq!(parsed, Link::parse(&link));
    let judge = |link: &ExtensionLink| {
        let secret = |name: &str| KnownSecret {
            is_set: name.len().is_multiple_of(2),
            owner: name.starts_with('A').then(|| "another".to_owned()),
        };
        classify(link, &secret, &|name| name.len().is_multiple_of(2))
    };
    let judged: Judged = match parsed {
        Ok(Link::Extension(mut link)) => {
            let judged = judge(&link);
            if let LinkTransport::Stdio { cmd, args } = &mut link.transport {
                if judged.judgement == Judgement::Allowed {
                    is_understood(cmd, args);
                }
                args.insert(0, UNKNOWN.to_owned());
                assert_ne!(judge(&link).judgement, Judgement::Allowed);
            }
            judged
        }
        Ok(_) => return,
        Err(error) => error.into(),
    };
    let is_usable = matches!(
        judged.judgement,
        Judgement::Allowed | Judgement::ConfirmRequired
    );
    assert_eq!(judged.class.is_none(), is_usable);
    assert_eq!(judged.config.is_some(), is_usable);
    if let Some(config) = judged.config {
        config.check_environment().expect("no refused variable");
        let value = config.to_value();
        let again = crate::extension::ExtensionConfig::from_value(value);
        assert_eq!(again.as_ref(), Ok(&config));
    }
}

/// The input is a command line, one argument in a line. No option is passed over, and one that is not known makes
/// the line unclear.
pub fn command_line(input: &[u8]) {
    let [line] = texts(input);
    let mut words = line.lines().map(str::to_owned);
    let cmd = words.next().unwrap_or_default();
    let mut args: Vec<String> = words.collect();
    let Some(launch) = Launch::read(&cmd, &args) else {
        return;
    };
    for package in launch.packages.iter().chain(&launch.candidates) {
        if let Package::Published { name, .. } = package {
            assert!(!name.is_empty() && !name.contains(|c: char| c.is_ascii_uppercase()));
        }
    }
    if launch.unclear.is_none() && matches!(cmd.as_str(), "npx" | "uvx" | "bunx") {
        let options = launch.options.iter();
        let read = options.flat_map(|it| [Some(it.word), it.value].into_iter().flatten());
        let read: Vec<_> = read.chain(launch.operands).map(str::as_ptr).collect();
        let is_read = |arg: &&String| *arg == "--" || read.contains(&arg.as_ptr());
        assert_eq!(args.iter().find(|arg| !is_read(arg)), None, "{args:?}");
    }
    args.insert(0, UNKNOWN.to_owned());
    let launch = Launch::read(&cmd, &args).expect("it is a launcher");
    assert_eq!(launch.unclear, Some(UNKNOWN));
}
