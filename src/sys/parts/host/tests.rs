use super::*;

#[test]
fn this_system_tells_what_it_is() {
    let host = host();
    assert!(host.memory.is_some() && host.memory_limit <= host.memory);
    assert!(host.machine.is_some_and(|machine| !machine.is_empty()));
    assert!(!host.missing.contains(&"proc"));
}
