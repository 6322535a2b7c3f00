//! The policy: one YAML file of the administrator that no client, setting, variable or import can loosen.
//!
//! Whatever happens for a client or a user asks it first ([`activity::Policy`]): calls of tools, whoever makes them,
//! the starts of extensions, the choice of models, changes of settings, imports.
//!
//! - `policy_file` reads the text of a policy, and knows the line of each rule.
//! - `patterns` compares names and command lines with patterns, `argument_patterns` the arguments of tools.
//! - `configuration` knows the operations that change what users and schedules find later.
//! - `decisions` finds the rule that decides.
//! - `fetched_packages` knows which packages and images the command of an extension fetches.
//! - `trusted_file` reads a file that the user of the service cannot change.
//! - `live_policy` follows the changes of the file, and answers for [`activity::Policy`].
//! - `metered_provider` judges and counts each request to a model.
//! - `quotas` counts what each key does.
//! - `policy_command` checks a file, and explains what it decides.
#![forbid(unsafe_code)]

mod argument_patterns;
mod configuration;
mod decisions;
mod fetched_packages;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod live_policy;
mod metered_provider;
mod patterns;
mod policy_command;
mod policy_file;
mod quotas;
mod trusted_file;

pub use configuration::operations as configuration_operations;

use crate::live_policy::LivePolicy;
use gosling_core::part::{Part, on_reload};
use gosling_core::{
    activity, agent, command_line, conversation, extension, json, provider, store, sys, text,
};
use std::sync::Arc;

/// What the policy adds to gosling.
pub const PART: Part = Part {
    commands: &[policy_command::COMMAND],
    policy: Some(|file| {
        let policy = Arc::new(LivePolicy::open(file)?);
        let read = policy.clone();
        on_reload("policy", move || read.reload());
        Ok(policy)
    }),
    ..Part::new("policy")
};
