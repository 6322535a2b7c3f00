//! The fuzz targets of the policy.

use crate::argument_patterns::read;
use crate::decisions::{self, Call};
use crate::fetched_packages::{self, Kind};
use crate::json;
use crate::patterns::fits;
use crate::policy_file::{self, Decision, List};
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use crate::text::fuzz_input::parts;
use serde_json::Value;

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("policy", policy, 1000)];

/// The text of a policy, and the arguments of a call. What decides is a rule with a line, and arguments that cannot be
/// read are never allowed by a rule that looks at them.
fn policy(input: &[u8]) {
    let [text, arguments] = parts(input);
    let shown = String::from_utf8_lossy(arguments);
    assert!(fits("*", &shown) && fits(&shown.replace('*', ""), &shown.replace('*', "")));
    let Ok(policy) = policy_file::read(text) else {
        return;
    };
    // A start that a rule allows by its packages fetches nothing else.
    if let Ok(started) = json::from_slice::<Value>(arguments) {
        let decided = decisions::extension(&policy, ["", ""], &started);
        let rules = policy.extensions.as_ref().map(|it| &it.rules);
        let rule = decided.rule.and_then(|index| rules?.get(index));
        let by_package = rule.and_then(|rule| rule.package.as_ref());
        if let Some(patterns) = by_package.filter(|_| decided.decision == Decision::Allow) {
            let fetched = fetched_packages::read(&started, Kind::Package);
            assert!(fetched.is_ok_and(|it| it.fits(Kind::Package, patterns, false)));
        }
    }
    let call = Call {
        arguments,
        ..Call::default()
    };
    let decided = decisions::call(&policy, &call);
    let Some(index) = decided.rule else {
        return;
    };
    assert!(policy_file::line_of(text, List::Calls, index).is_some());
    let looks = policy.rules[index].arguments.is_some();
    assert!(!looks || read(arguments).is_ok() || decided.decision == Decision::Deny);
}

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
