//! The numbers of new sessions where several servers share the sessions of their clients, each with a folder of its
//! own. No two of them give the same number, and what stands before them finds the server by it: its remainder.

use crate::store::{Error, Result};

/// The largest number of servers.
const MAX_SERVERS: u32 = 1_000;

/// One of several servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    server: u32,
    servers: u32,
}

impl Shard {
    /// The only server.
    pub const WHOLE: Shard = Shard {
        server: 0,
        servers: 1,
    };

    /// Reads `SERVER/SERVERS`, such as `0/3` for the first of three.
    ///
    /// # Errors
    /// [`Error::Setting`] for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse().ok(),
            false => None,
        };
        let read = || {
            let (server, servers) = text.trim().split_once('/')?;
            let (server, servers) = (number(server)?, number(servers)?);
            (server < servers && servers <= MAX_SERVERS).then_some(Shard { server, servers })
        };
        read().ok_or_else(|| Error::Setting {
            reason: format!(
                "GOOSE_SHARD: {text:?} names no server of several; the first of three is `0/3`, \
                 and there are at most {MAX_SERVERS}"
            ),
        })
    }

    /// The lowest number of a session here that is higher than `number`.
    pub(super) fn next(self, number: u32) -> u32 {
        let next = number + 1;
        next + (self.server + self.servers - next % self.servers) % self.servers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_numbers_of_its_own() {
        let numbers = |shard: Shard| {
            let mut number = 0;
            (0..100).map(move |_| {
                number = shard.next(number);
                number
            })
        };
        assert!(numbers(Shard::WHOLE).eq(1..=100));
        let shards = ["0/3", "1/3", "2/3"].map(|text| Shard::parse(text).unwrap());
        let mut all: Vec<_> = shards.into_iter().flat_map(numbers).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=300));
        assert_eq!(shards[1].next(1_000_000), 1_000_003);
    }

    #[test]
    fn what_names_no_server_is_refused() {
        for text in [
            "", "1", "3/3", "0/0", "-1/3", "+1/3", "1/3/5", "0/1001", "a/b", "1 /3",
        ] {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
        assert_eq!(Shard::parse(" 0/1 ").unwrap(), Shard::WHOLE);
    }
}
