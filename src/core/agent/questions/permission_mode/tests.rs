use super::*;

#[test]
fn the_mode_the_user_and_the_tool_decide_in_this_order() {
    use Decision::{Ask, Deny, Run};
    use PermissionLevel::{AlwaysAllow, AskBefore, NeverAllow};
    let reads = ToolAnnotations {
        read_only_hint: Some(true),
        ..ToolAnnotations::default()
    };
    let odd = ToolAnnotations {
        destructive_hint: Some(true),
        ..reads.clone()
    };
    for (mode, level, annotations, decision) in [
        (Mode::Auto, None, None, Run),
        (Mode::Auto, Some(AskBefore), None, Run),
        (Mode::Auto, Some(NeverAllow), Some(&reads), Deny),
        (Mode::Approve, None, Some(&reads), Ask),
        (Mode::Approve, Some(AlwaysAllow), None, Run),
        (Mode::Approve, Some(NeverAllow), None, Deny),
        (Mode::SmartApprove, None, None, Ask),
        (Mode::SmartApprove, None, Some(&reads), Run),
        (Mode::SmartApprove, None, Some(&odd), Ask),
        (Mode::SmartApprove, Some(AskBefore), Some(&reads), Ask),
        (Mode::SmartApprove, Some(AlwaysAllow), None, Run),
        (Mode::Chat, Some(AlwaysAllow), Some(&reads), Deny),
    ] {
        assert_eq!(
            mode.authorize(level, annotations),
            decision,
            "{mode:?} {level:?}"
        );
    }
}

#[test]
fn an_unknown_mode_asks() {
    assert_eq!(Mode::named("Smart_Approve "), Mode::SmartApprove);
    assert_eq!(Mode::named("yolo"), Mode::Approve);
    assert_eq!(Mode::named(""), Mode::Approve);
}
