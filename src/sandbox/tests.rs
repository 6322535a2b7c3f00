use super::{Fact, Level, Mounts, Offer, Settings};
use serde_json::json;

#[test]
fn a_level_that_the_kernel_cannot_give_is_a_fault() {
    let own = ["/c", "/d", "/s"].map(Into::into);
    let level = Level::Strict;
    let settings = Settings {
        level,
        session: Level::Off,
        own,
    };
    let old = Offer {
        landlock: 3,
        seccomp: true,
        mounts: None,
    };
    let facts = settings.facts(old);
    let values: Vec<_> = facts
        .iter()
        .filter_map(|(name, fact)| match fact {
            Fact::Value(value) => Some((*name, value.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        values,
        [
            ("level", json!("strict")),
            ("landlock", json!(3)),
            ("seccomp", json!(true)),
            ("mounts", json!(null)),
            ("workspace", json!(true)),
            ("strict", json!(false)),
        ]
    );
    let fault = facts.iter().find_map(|(name, fact)| match fact {
        Fact::Fault(why) => Some((*name, why.as_str())),
        _ => None,
    });
    let (name, why) = fault.expect("a fault");
    assert_eq!(name, "level");
    assert!(why.contains("needs version 6 of Landlock"), "{why}");
    let facts = settings.facts(Offer {
        landlock: 6,
        mounts: Some(Mounts::WithUsers),
        ..old
    });
    assert!(!facts.iter().any(|(_, fact)| matches!(fact, Fact::Fault(_))));
}
