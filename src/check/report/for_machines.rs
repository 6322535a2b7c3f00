//! The report for machines. The manual's page `check` describes its fields.

use super::checklist::{Tick, checklist};
use super::{Asked, CheckReport};
use crate::catalogue::UNCHECKED;
use crate::declaration::Profile;
use serde_json::{Map, Value, json};

/// The report as one JSON object. Later versions may add fields.
pub fn write(report: &CheckReport, asked: Asked) -> Value {
    let profiles: Map<String, Value> = Profile::ALL
        .into_iter()
        .map(|profile| (profile.name().to_owned(), report.holds(profile).into()))
        .collect();
    let [passed, failed, not_applicable, not_checked] = report.counts();
    let ticks = checklist(&report.checks).map(|(number, text, tick)| {
        let held = match tick {
            Tick::Held => Value::Bool(true),
            Tick::Broken => Value::Bool(false),
            Tick::Open => Value::Null,
        };
        json!({"number": number, "text": text, "held": held})
    });
    let ticks: Vec<Value> = ticks.collect();
    json!({
        "passed": report.passes(asked),
        "complete": report.is_complete(),
        "asked": asked.map_or("declared", Profile::name),
        "server": report.server,
        "protocol": report.protocol,
        "transport": report.transport,
        "capabilities": report.capabilities,
        "profiles": profiles,
        "counts": {
            "passed": passed,
            "failed": failed,
            "not_applicable": not_applicable,
            "not_checked": not_checked,
        },
        "checks": report.checks,
        "checklist": ticks,
        "not_covered": UNCHECKED,
        "installation": report.installation,
        "seconds": report.seconds,
    })
}
