use super::*;
use serde_json::{Value, json};

#[test]
fn any_advisories_hold_the_properties_of_the_target() {
    gosling_testing::property_testing::check(|u| {
        let versions = [
            "0",
            "1.0.0",
            "1.0",
            "2.0.0-rc.1",
            "2.0rc1",
            "",
            "*",
            "1 0",
            "1..2",
            "é",
            "x",
        ];
        let mut affected = Vec::new();
        for _ in 0..u.int_in_range(0..=4)? {
            let mut events = Vec::new();
            for _ in 0..u.int_in_range(0..=4)? {
                let kind = *u.choose(&["introduced", "fixed", "last_affected", "limit"])?;
                events.push(json!({ kind: *u.choose(&versions)? }));
            }
            let mut listed = Vec::new();
            for _ in 0..u.int_in_range(0..=3)? {
                listed.push(Value::from(*u.choose(&versions)?));
            }
            affected.push(json!({
                "package": {"ecosystem": *u.choose(&["npm", "PyPI", "Docker", "Go"])?,
                    "name": u.arbitrary::<String>()?},
                "versions": listed,
                "ranges": [{"type": *u.choose(&["SEMVER", "ECOSYSTEM", "GIT"])?, "events": events}],
            }));
        }
        let advisory = json!({"id": "MAL-1", "affected": affected});
        advisories(format!("{advisory}\x1e{}", u.choose(&versions)?).as_bytes());
        Ok(())
    });
}
