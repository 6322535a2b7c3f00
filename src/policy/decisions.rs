//! The rule that decides. The first rule that fits does, else the default of the list.

use crate::argument_patterns::{self, Fit};
use crate::extension::config;
use crate::fetched_packages::{self, Kind};
use crate::policy_file::{Decision, ExtensionRule, Folders, List, Permission, PolicyFile, Rule};
use crate::text::{after_http_scheme, printable};
use serde_json::Value;
use std::path::Path;

/// The longest reason of a decision, in characters.
const MAX_REASON: usize = 500;

/// A call of a tool, as the policy sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'c> {
    pub(crate) key: &'c str,
    pub(crate) front: &'c str,
    pub(crate) extension: &'c str,
    pub(crate) tool: &'c str,
    /// JSON.
    pub(crate) arguments: &'c [u8],
    pub(crate) directory: Option<&'c Path>,
}

/// What was decided, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) decision: Decision,
    pub(crate) list: List,
    /// The index of the rule; `None` for the default.
    pub(crate) rule: Option<usize>,
    pub(crate) reason: Option<String>,
}

impl Decided {
    fn by_default(list: List, decision: Decision) -> Self {
        Decided {
            decision,
            list,
            rule: None,
            reason: None,
        }
    }

    /// The decision in words for the client and the model.
    pub(crate) fn in_words(&self) -> String {
        let verb = match self.decision {
            Decision::Allow => "allows it",
            Decision::Ask => "requires that the user allows it",
            Decision::Deny => "denies it",
        };
        let by = match (self.list, self.rule) {
            (_, None) => "no rule allows it".to_owned(),
            (List::Calls, Some(index)) => format!("rule {}", index + 1),
            (List::Extensions, Some(index)) => format!("rule {} of extensions", index + 1),
            (List::Models, Some(index)) => format!("rule {} of models", index + 1),
        };
        let reason = self.reason.as_deref().unwrap_or_default();
        let colon = if reason.is_empty() { "" } else { ": " };
        let reason = printable(reason, MAX_REASON);
        format!("the administrator's policy {verb} ({by}){colon}{reason}")
    }
}

/// What a policy says of the call of a tool.
pub(crate) fn call(policy: &PolicyFile, call: &Call<'_>) -> Decided {
    let mut arguments = None;
    for (index, rule) in policy.rules.iter().enumerate() {
        let (decision, reason) = match fits(rule, call, &mut arguments) {
            Ok(false) => continue,
            Ok(true) => (rule.decision, rule.reason.clone()),
            Err(why) => (
                Decision::Deny,
                Some(format!("the rule cannot be compared: {why}")),
            ),
        };
        return Decided {
            decision,
            list: List::Calls,
            rule: Some(index),
            reason,
        };
    }
    Decided::by_default(List::Calls, policy.default)
}

/// Whether a rule fits a call. `arguments` are its arguments, as soon as a rule has needed them.
///
/// # Errors
/// Why that is not known.
fn fits(
    rule: &Rule,
    call: &Call<'_>,
    arguments: &mut Option<Result<Value, &'static str>>,
) -> Result<bool, String> {
    let is_named = rule.is_about(call.key, call.front)
        && (rule.extension.as_ref()).is_none_or(|it| it.0.fit(call.extension))
        && (rule.tool.as_ref()).is_none_or(|it| it.fit(call.tool));
    if !is_named {
        return Ok(false);
    }
    if let Some(folders) = &rule.directory
        && !is_below(call.directory, folders)?
    {
        return Ok(false);
    }
    let Some(patterns) = &rule.arguments else {
        return Ok(true);
    };
    let arguments = arguments.get_or_insert_with(|| argument_patterns::read(call.arguments));
    let arguments = (arguments.as_ref()).map_err(|why| format!("the arguments: {why}"))?;
    match (patterns.fit(arguments)?, rule.decision) {
        (Fit::All, _) | (Fit::Some, Decision::Deny) => Ok(true),
        (Fit::None, _) | (Fit::Some, Decision::Allow) => Ok(false),
        (Fit::Some, Decision::Ask) => Err("it fits some values of a list and not all".to_owned()),
    }
}

/// Whether a session works in one of these folders, or below it. Links count as where they lead.
fn is_below(directory: Option<&Path>, folders: &Folders) -> Result<bool, String> {
    let directory = directory.ok_or("the working directory is not known")?;
    let found = directory.canonicalize();
    let found = found.map_err(|error| format!("the working directory: {error}"))?;
    Ok(folders.0.iter().any(|folder| {
        let folder = folder.canonicalize();
        folder.is_ok_and(|folder| found.starts_with(folder))
    }))
}

/// What a policy says of the start of an extension with this configuration.
pub(crate) fn extension(policy: &PolicyFile, [key, front]: [&str; 2], started: &Value) -> Decided {
    let list = List::Extensions;
    let Some(rules) = &policy.extensions else {
        return Decided::by_default(list, Decision::Allow);
    };
    for (index, rule) in rules.rules.iter().enumerate() {
        let is_it = rule.is_about(key, front).then(|| is_started(rule, started));
        let (decision, reason) = match is_it {
            None | Some(Ok(false)) => continue,
            Some(Ok(true)) => (decision_of(rule.decision), rule.reason.clone()),
            Some(Err(why)) => (Decision::Deny, Some(why.to_owned())),
        };
        return Decided {
            decision,
            list,
            rule: Some(index),
            reason,
        };
    }
    Decided::by_default(list, decision_of(rules.default))
}

/// Whether a rule is about an extension with this configuration.
///
/// # Errors
/// Why that is not known.
fn is_started(rule: &ExtensionRule, started: &Value) -> Result<bool, &'static str> {
    let text = |member: &str| started[member].as_str();
    let key = config::key(text("name").unwrap_or_default());
    let is_named = (rule.name.as_ref()).is_none_or(|it| it.0.fit(&key))
        && (rule.r#type.as_ref()).is_none_or(|it| it.fit(text("type").unwrap_or_default()));
    let has_command = rule.command.as_ref().is_none_or(|command| {
        let arguments = started["args"].as_array().into_iter().flatten();
        text("cmd").is_some_and(|cmd| {
            let words = std::iter::once(cmd).chain(arguments.filter_map(Value::as_str));
            command.fits(words)
        })
    });
    if !is_named || !has_command {
        return Ok(false);
    }
    for (kind, patterns) in [(Kind::Package, &rule.package), (Kind::Image, &rule.image)] {
        if let Some(patterns) = patterns {
            let fetched = fetched_packages::read(started, kind)?;
            if !fetched.fits(kind, patterns, rule.decision == Permission::Deny) {
                return Ok(false);
            }
        }
    }
    match &rule.host {
        None => Ok(true),
        Some(hosts) => match text("uri") {
            None => Ok(false),
            Some(uri) => Ok(hosts.fit(&host(uri).ok_or("its address has no plain host")?)),
        },
    }
}

/// The host of an address, in lower case; `None` if programs may read it differently.
fn host(uri: &str) -> Option<String> {
    let rest = after_http_scheme(uri)?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split_once(']')?.0,
        None => authority.split(':').next()?,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    let after = authority.rsplit(']').next()?;
    let is_known = !host.is_empty() && host.chars().all(is_plain) && after.chars().all(is_plain);
    is_known.then(|| host.to_ascii_lowercase())
}

/// What a policy says of a model.
pub(crate) fn model(
    policy: &PolicyFile,
    [key, front]: [&str; 2],
    [provider, model]: [&str; 2],
) -> Decided {
    let list = List::Models;
    let Some(rules) = &policy.models else {
        return Decided::by_default(list, Decision::Allow);
    };
    let mut numbered = rules.rules.iter().enumerate();
    let found = numbered.find(|(_, rule)| {
        rule.is_about(key, front)
            && (rule.provider.as_ref()).is_none_or(|it| it.fit(provider))
            && (rule.model.as_ref()).is_none_or(|it| it.fit(model))
    });
    match found {
        None => Decided::by_default(list, decision_of(rules.default)),
        Some((index, rule)) => Decided {
            decision: decision_of(rule.decision),
            list,
            rule: Some(index),
            reason: rule.reason.clone(),
        },
    }
}

fn decision_of(permission: Permission) -> Decision {
    match permission {
        Permission::Allow => Decision::Allow,
        Permission::Deny => Decision::Deny,
    }
}

#[cfg(test)]
mod tests;
