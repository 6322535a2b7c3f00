use super::{AT_ONCE, FIRST_DELAY, FailedKeys, MAX_ADDRESSES, MAX_DELAY, MEMORY, delay_of};
use std::net::IpAddr;
use std::time::{Duration, Instant};

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_delay_grows_to_its_limit() {
    for count in 0..=AT_ONCE {
        assert_eq!(delay_of(count), None);
    }
    assert_eq!(delay_of(AT_ONCE + 1), Some(FIRST_DELAY));
    assert_eq!(delay_of(AT_ONCE + 2), Some(2 * FIRST_DELAY));
    let delays = (AT_ONCE + 1..100).map(|count| delay_of(count).unwrap());
    assert!(delays.is_sorted());
    assert_eq!(delay_of(u32::MAX), Some(MAX_DELAY));
}

#[test]
fn each_address_is_counted_by_itself_and_begins_anew_after_a_while() {
    let failed = FailedKeys::default();
    let now = Instant::now();
    let (one, other) = (address("192.0.2.1"), address("192.0.2.2"));
    assert_eq!(
        (failed.count(Some(one), now), failed.count(Some(one), now)),
        (1, 2)
    );
    assert_eq!(failed.count(Some(other), now), 1);
    assert_eq!(failed.count(Some(address("::ffff:192.0.2.1")), now), 3);
    let later = now + MEMORY;
    assert_eq!(failed.count(Some(one), later), 4);
    assert_eq!(
        failed.count(Some(one), later + MEMORY + Duration::from_secs(1)),
        1
    );
}

#[test]
fn sockets_without_an_address_count_as_one() {
    let failed = FailedKeys::default();
    let now = Instant::now();
    assert_eq!((failed.count(None, now), failed.count(None, now)), (1, 2));
    assert_eq!(failed.count(Some(address("192.0.2.1")), now), 1);
}

#[test]
fn one_network_of_ipv6_is_one_address() {
    let failed = FailedKeys::default();
    let now = Instant::now();
    assert_eq!(failed.count(Some(address("2001:db8::1")), now), 1);
    assert_eq!(failed.count(Some(address("2001:db8::ffff:2")), now), 2);
    assert_eq!(failed.count(Some(address("2001:db8:0:1::1")), now), 1);
}

#[test]
fn many_addresses_take_no_more_memory_and_the_last_stay_known() {
    let failed = FailedKeys::default();
    let now = Instant::now();
    let many = u32::try_from(MAX_ADDRESSES).unwrap() + 500;
    for n in 0..many {
        let at = now + Duration::from_millis(n.into());
        assert_eq!(failed.count(Some(IpAddr::from(n.to_be_bytes())), at), 1);
    }
    assert_eq!(failed.counts.lock().unwrap().len(), MAX_ADDRESSES);
    let end = now + Duration::from_millis(many.into());
    assert_eq!(
        failed.count(Some(IpAddr::from((many - 1).to_be_bytes())), end),
        2
    );
    assert_eq!(failed.count(Some(IpAddr::from(0u32.to_be_bytes())), end), 1);
}
