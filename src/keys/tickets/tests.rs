use super::{LIFETIME, Tickets};

const NOW: i64 = 1_800_000_000;

/// The client of a ticket, while `grafana` has the key `abc`.
fn read(tickets: &Tickets, ticket: &str, path: &str, now: i64) -> Option<String> {
    let hash_of = |name: &str| (name == "graf.ana").then(|| "abc".to_owned());
    let found = tickets.read(ticket, path, now, hash_of);
    found.map(|(name, _)| name.to_owned())
}

#[test]
fn a_ticket_is_valid_for_its_path_its_time_and_its_key() {
    let tickets = Tickets::new();
    let until = NOW + LIFETIME;
    let ticket = tickets.give("graf.ana", "abc", "/acp", until).unwrap();
    assert_eq!(
        read(&tickets, &ticket, "/acp", NOW).as_deref(),
        Some("graf.ana")
    );
    assert_eq!(
        read(&tickets, &ticket, "/acp", until - 1).as_deref(),
        Some("graf.ana")
    );
    assert_eq!(read(&tickets, &ticket, "/acp", until), None);
    // The clock was set back.
    assert_eq!(read(&tickets, &ticket, "/acp", NOW - 1), None);
    for other in ["/", "/acp/", "/ACP", "/%61cp", "/sessions"] {
        assert_eq!(read(&tickets, &ticket, other, NOW), None, "{other}");
    }
    assert_eq!(read(&Tickets::new(), &ticket, "/acp", NOW), None);
    let of_other_key = tickets.give("graf.ana", "abd", "/acp", until).unwrap();
    assert_eq!(read(&tickets, &of_other_key, "/acp", NOW), None);
    let of_unknown = tickets.give("grafana", "abc", "/acp", until).unwrap();
    assert_eq!(read(&tickets, &of_unknown, "/acp", NOW), None);
}

#[test]
fn no_character_of_a_ticket_can_be_changed() {
    let tickets = Tickets::new();
    let ticket = tickets.give("graf.ana", "abc", "/acp", NOW + 30).unwrap();
    for at in 0..ticket.len() {
        let with = if &ticket[at..=at] == "A" { "B" } else { "A" };
        let changed = format!("{}{with}{}", &ticket[..at], &ticket[at + 1..]);
        assert_eq!(read(&tickets, &changed, "/acp", NOW), None, "{changed}");
        assert_eq!(read(&tickets, &ticket[..at], "/acp", NOW), None);
    }
    for wrong in [
        "",
        "gosling_ticket_",
        "gosling_ticket_1",
        "gosling_ticket_..",
        "gosling_ticket_9.é.é",
    ] {
        assert_eq!(read(&tickets, wrong, "/acp", NOW), None);
    }
}
