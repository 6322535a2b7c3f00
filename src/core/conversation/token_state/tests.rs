use super::*;

#[test]
fn sums_grow_by_what_was_spent_here() {
    let before = TokenState {
        accumulated_input_tokens: 100,
        accumulated_output_tokens: 10,
        accumulated_total_tokens: 110,
        ..TokenState::default()
    };
    let mut tokens = before;
    tokens.add(50, 5, 55);
    tokens.spend(1, 2, 3);
    tokens.pay(0.25);
    tokens.pay(0.5);
    // Another process has stored 1,000 more.
    let mut session = Session {
        accumulated_input_tokens: Some(1_100),
        accumulated_cost: Some(2.0),
        ..Session::default()
    };
    tokens.store(&before, &mut session);
    assert_eq!(session.accumulated_input_tokens, Some(1_151));
    assert_eq!(session.accumulated_output_tokens, Some(7));
    assert_eq!(session.accumulated_cost, Some(2.75));
    assert_eq!(session.accumulated_total_tokens, Some(58));
    assert_eq!(
        (session.input_tokens, session.total_tokens),
        (Some(50), Some(55))
    );
}

#[test]
fn a_summary_is_all_that_the_context_holds() {
    let mut tokens = TokenState::default();
    tokens.add(1_000, 100, 1_100);
    tokens.summarize(1_200, 50, 1_250);
    assert_eq!((tokens.input_tokens, tokens.output_tokens), (50, 0));
    assert_eq!(tokens.total_tokens, 50);
    assert_eq!(tokens.accumulated_total_tokens, 2_350);
    tokens.clear();
    assert_eq!(tokens.total_tokens, 0);
    assert_eq!(tokens.accumulated_total_tokens, 2_350);
}
