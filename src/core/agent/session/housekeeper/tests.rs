use super::*;

#[test]
fn memory_is_returned_after_agents_were_made_and_put_away_again() {
    let mut memory = MemoryUse::new();
    memory.note(0, None, false);
    assert!(!memory.has_changed);
    memory.note(2, Some(Instant::now()), false);
    memory.note(0, None, false);
    assert!(memory.has_changed, "two agents came and went");
    memory.returned(0);
    memory.note(0, None, false);
    assert!(!memory.has_changed);
    memory.note(0, None, true);
    assert!(memory.has_changed, "events were freed");
    memory.returned(1);
    let before = memory.at;
    memory.note(1, Some(before), false);
    assert!(!memory.has_changed, "not used since");
    memory.note(1, Some(before + Duration::from_millis(1)), false);
    assert!(memory.has_changed, "used since");
}
