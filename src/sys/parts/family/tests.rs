use super::*;
use crate::process_mark::{LimitMatch, MARK};

#[test]
fn a_family_knows_its_members_and_they_only_themselves() {
    let server = ProcessMark::of_server("ffeeddccbbaa99887766554433221100");
    let family = server.of_child(7);
    let one = mark_of_member(&family, 1);
    let two = mark_of_member(&family, 2);
    let variable = format!("{MARK}={}\0", one.variable(None));
    assert!(family.is_in(variable.as_bytes()) && one.is_in(variable.as_bytes()));
    assert!(!two.is_in(variable.as_bytes()));
    assert_eq!(one.limit(), family.limit());
    if let Some(limit) = one.limit() {
        assert_eq!(family.classify_limit(limit), LimitMatch::Marked);
        assert_eq!(
            one.classify_limit(limit),
            LimitMatch::Nothing,
            "it may be that of the other"
        );
        assert_eq!(
            mark_of_member(&server.of_child(8), 1).classify_limit(limit),
            LimitMatch::Other
        );
    }
}
