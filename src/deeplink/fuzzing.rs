//! Fuzz targets for links and for the packages of command lines, see [`crate::fuzzing`].

use super::{Judged, Judgement, KnownSecret, Link, classify};
use crate::extension::packages::{Package, packages};
use crate::fuzzing::texts;

/// The input is a link. What may be installed has a configuration that is read back as it was written, and what
/// may not has a class.
pub(crate) fn link(input: &[u8]) {
    let [link] = texts(input);
    let parsed = Link::parse(&link);
    assert_eq!(parsed, Link::parse(&link));
    let judged: Judged = match parsed {
        Ok(Link::Extension(link)) => classify(&link, &|name| KnownSecret {
            is_set: name.len() % 2 == 0,
            owner: name.starts_with('A').then(|| "another".to_owned()),
        }),
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

/// The input is a command line, one argument in a line.
pub(crate) fn command_line(input: &[u8]) {
    let [line] = texts(input);
    let mut words = line.lines().map(str::to_owned);
    let cmd = words.next().unwrap_or_default();
    let args: Vec<String> = words.collect();
    for package in packages(&cmd, &args) {
        if let Package::Published { name, .. } = package {
            assert!(!name.is_empty() && !name.contains(|c: char| c.is_ascii_uppercase()));
        }
    }
}
