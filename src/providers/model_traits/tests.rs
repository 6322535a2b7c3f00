use super::*;

#[test]
fn a_claude_has_its_version_in_its_name() {
    for (model, version) in [
        ("claude-opus-4-7-20260401", (4, 7)),
        ("claude-sonnet-5", (5, 0)),
        ("claude-opus-5-20260901", (5, 0)),
        ("claude-fable-5.2", (5, 2)),
        ("claude-3-5-haiku@20241022", (3, 5)),
        ("claude-latest", (0, 0)),
    ] {
        assert_eq!(claude_version(model), version, "{model}");
    }
    let traits = ModelTraits::of("anthropic/claude-fable-5-1");
    assert!(traits.binds_thinking && traits.can_drop_thinking);
    assert!(!ModelTraits::of("deepseek-v4").binds_thinking);
}

#[test]
fn openai_models_are_known_by_their_family() {
    for (model, reasons, needs_responses) in [
        ("gpt-4o", false, false),
        ("gpt-4.1-mini", false, false),
        ("o3", true, false),
        ("o3-pro", true, true),
        ("gpt-5", true, false),
        ("openai/gpt-5.1", true, false),
        ("gpt-5-codex", true, true),
        ("gpt-5.5", true, true),
        ("gpt-5.6-luna", true, true),
        ("gpt-6-astra", true, true),
        ("gpt-10", true, true),
        ("o4-mini-deep-research", true, true),
        ("computer-use-preview", false, true),
        ("openai/gpt-oss-120b", false, false),
        ("olmo-3", false, false),
        ("claude-opus-5", false, false),
    ] {
        let traits = ModelTraits::of(model);
        assert_eq!(traits.reasons, reasons, "{model}");
        assert_eq!(traits.needs_responses, needs_responses, "{model}");
    }
}
