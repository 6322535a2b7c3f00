use super::*;

fn policy() -> LeadWorker {
    LeadWorker {
        lead_model: "strong".into(),
        lead_provider: None,
        lead_turns: 3,
        failure_threshold: 2,
        fallback_turns: 2,
    }
}

/// `L`ead, `F`allback to the lead or `W`orker for each turn; `!` marks the turns that fail.
fn run(policy: &LeadWorker, turns: &str) -> String {
    let mut progress = Progress::default();
    turns
        .chars()
        .map(|turn| {
            let choice = policy.choose(&progress);
            progress = policy.after(progress, turn == '!');
            match choice {
                Choice::Lead { fallback: false } => 'L',
                Choice::Lead { fallback: true } => 'F',
                Choice::Worker => 'W',
            }
        })
        .collect()
}

#[test]
fn the_lead_begins_and_the_worker_goes_on() {
    assert_eq!(run(&policy(), "......."), "LLLWWWW");
    let at_once = LeadWorker {
        lead_turns: 0,
        ..policy()
    };
    assert_eq!(run(&at_once, "..."), "WWW");
}

#[test]
fn the_lead_helps_out_after_failures_in_a_row_and_leaves_after_good_turns() {
    assert_eq!(run(&policy(), "...!!....."), "LLLWWFFWWW");
    assert_eq!(run(&policy(), "...!.!.!!.."), "LLLWWWWWWFF");
    assert_eq!(run(&policy(), "...!!!!...."), "LLLWWFFFFWW");
}

#[test]
fn failures_of_the_lead_itself_call_nobody() {
    assert_eq!(run(&policy(), "!!!..."), "LLLWWW");
}

#[test]
fn the_configuration_says_it_all() {
    let config = |pairs: &'static [(&'static str, &'static str)]| {
        let env = move |name: &str| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| (*value).to_owned())
        };
        let nowhere = std::env::temp_dir().join("no-such-folder/config.yaml");
        LeadWorker::from_config(&Config::with_env(nowhere, Box::new(env))).unwrap()
    };
    assert_eq!(config(&[("GOOSE_LEAD_TURNS", "5")]), None);
    let all = config(&[
        ("GOOSE_LEAD_MODEL", "strong"),
        ("GOOSE_LEAD_PROVIDER", "anthropic"),
        ("GOOSE_LEAD_TURNS", "5"),
        ("GOOSE_LEAD_FAILURE_THRESHOLD", "nonsense"),
    ]);
    assert_eq!(
        all,
        Some(LeadWorker {
            lead_provider: Some("anthropic".into()),
            lead_turns: 5,
            ..policy()
        })
    );
}
