use super::*;
use crate::unix::table::has_ended;

const NAME: &str = "ffeeddccbbaa99887766554433221100";

fn server() -> ProcessMark {
    ProcessMark::of_server(NAME)
}

#[test]
fn a_server_knows_its_children_and_a_child_only_itself() {
    let three = server().of_child(3);
    let four = server().of_child(4);
    let stranger = ProcessMark::of_server("00eeddccbbaa99887766554433221100").of_child(3);
    for child in [&three, &four] {
        let variable = format!("A=1\0{MARK}={}\0", child.variable(None));
        assert!(server().is_in(variable.as_bytes()));
        assert_eq!(three.is_in(variable.as_bytes()), *child == three);
        assert!(!stranger.is_in(variable.as_bytes()));
    }
    assert!(!three.is_in(format!("{MARK}={NAME}.33.\0").as_bytes()));
    assert!(!three.is_in(format!("X{MARK}={NAME}.3.\0").as_bytes()));
    assert!(!three.is_in(b""));
}

#[cfg(target_os = "linux")]
#[test]
fn limits_tell_the_same() {
    let three = server().of_child(3);
    let four = server().of_child(4);
    let stranger = ProcessMark::of_server("00eeddccbbaa99887766554433221100");
    let limit = three.limit().unwrap();
    assert!(limit > 1 << 62 && i64::try_from(limit).is_ok());
    assert_eq!(server().classify_limit(limit), LimitMatch::Marked);
    assert_eq!(three.classify_limit(limit), LimitMatch::Marked);
    assert_eq!(four.classify_limit(limit), LimitMatch::Other);
    assert_eq!(stranger.classify_limit(limit), LimitMatch::Nothing);
    assert_eq!(
        stranger.of_child(3).classify_limit(limit),
        LimitMatch::Nothing
    );
    for nothing in [0, 1024, i64::MAX.unsigned_abs(), u64::MAX] {
        assert_eq!(server().classify_limit(nothing), LimitMatch::Nothing);
    }
    // When the numbers are used up, none is used twice.
    let last = server().of_child(CHILD_NUMBER_BITS);
    assert_eq!(
        server().classify_limit(last.limit().unwrap()),
        LimitMatch::Marked
    );
    assert_eq!(server().of_child(CHILD_NUMBER_BITS + 1).limit(), None);
    assert_eq!(
        server()
            .of_child(CHILD_NUMBER_BITS + 1 + 3)
            .classify_limit(limit),
        LimitMatch::Other
    );
}

#[test]
fn what_is_no_mark_of_ours_sets_no_limit() {
    for name in [
        "",
        "x",
        "short",
        "käse käse käse käse",
        "zzzzzzzzzzzzzzzzzz",
    ] {
        let mark = ProcessMark::of_server(name).of_child(1);
        assert_eq!(mark.limit(), None);
        assert_eq!(mark.classify_limit(u64::MAX), LimitMatch::Nothing);
    }
}

#[test]
fn a_server_inside_another_hands_the_others_mark_on() {
    let inner = ProcessMark::of_server("00112233445566778899aabbccddeeff").of_child(1);
    let outer = server().of_child(2);
    let variable = inner.variable(Some(&outer.variable(None)));
    let environment = format!("{MARK}={variable}\0");
    assert!(inner.is_in(environment.as_bytes()));
    assert!(outer.is_in(environment.as_bytes()));
    assert!(!server().of_child(1).is_in(environment.as_bytes()));
    let long = "x".repeat(MAX_INHERITED + 1);
    assert_eq!(inner.variable(Some(&long)), inner.variable(None));
}

#[test]
fn limits_are_read() {
    let text = |soft: &str| {
        format!(
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max address space         unlimited            unlimited            bytes     \n\
             Max file locks            {soft:<20} unlimited            locks     \n\
             Max pending signals       96365                96365                signals   \n"
        )
    };
    let wanted = 4_611_686_018_427_387_905;
    assert_eq!(limit_in(&text("4611686018427387905")), Some(wanted));
    assert_eq!(limit_in(&text("unlimited")), None);
    assert_eq!(limit_in(&text("-1")), None);
    assert_eq!(limit_in(""), None);
}

#[test]
fn the_dead_are_told_from_the_living() {
    let stat = |state: &str, threads: &str| {
        format!("7 (a) b) {state} 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 {threads} 0 100 0 0 0")
    };
    assert!(has_ended(&stat("Z", "1")));
    assert!(has_ended(&stat("X", "0")));
    assert!(!has_ended(&stat("Z", "2")));
    assert!(!has_ended(&stat("S", "1")));
    assert!(!has_ended(&stat("T", "1")));
    assert!(has_ended(""));
}
