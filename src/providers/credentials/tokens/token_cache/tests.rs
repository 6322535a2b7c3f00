use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

fn fetched(token: &str, seconds: u64) -> Result<Fetched<String>, Error> {
    Ok(Fetched {
        token: token.to_owned(),
        lifetime: Duration::from_secs(seconds),
    })
}

#[test]
fn a_token_is_fetched_anew_within_its_margin_and_when_it_is_forgotten() {
    let cache = TokenCache::new(Duration::from_secs(60));
    let cancel = Cancel::new();
    let get = |token, seconds| cache.get(&cancel, || fetched(token, seconds)).unwrap();
    assert!(!cache.forget());
    assert_eq!(get("short", 60), "short");
    assert_eq!(get("long", 3600), "long");
    assert_eq!(get("other", 3600), "long");
    assert!(cache.forget());
    assert_eq!(get("other", 3600), "other");
    // A lifetime that no clock can add is limited.
    cache.forget();
    assert_eq!(get("eternal", u64::MAX), "eternal");
}

#[test]
fn requests_at_one_time_fetch_one_token() {
    let cache = TokenCache::new(Duration::ZERO);
    let fetches = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let token = cache.get(&Cancel::new(), || {
                    fetches.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(30));
                    fetched("t", 3600)
                });
                assert_eq!(token.unwrap(), "t");
            });
        }
    });
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[test]
fn a_failed_fetch_lets_the_next_request_fetch() {
    let cache: TokenCache<String> = TokenCache::new(Duration::ZERO);
    let failed = || Err(Error::new(ErrorClass::Authentication, "no"));
    assert!(cache.get(&Cancel::new(), failed).is_err());
    let token = cache.get(&Cancel::new(), || fetched("t", 9));
    assert_eq!(token.unwrap(), "t");
}
