//! One of several servers that share the sessions of their clients, each with a folder of its own. No two of them give
//! the same number to a session, and what stands before them finds the server by it: its remainder.

/// The largest number of servers.
pub(crate) const MAX_SERVERS: u32 = 1_000;

/// Reads `SERVER/SERVERS`, such as `0/3` for the first of three: the remainder and the divisor of its numbers.
///
/// # Errors
/// What is wrong with any other text.
pub(crate) fn parse(text: &str) -> Result<(u32, u32), String> {
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    let read = || {
        let (server, servers) = text.trim().split_once('/')?;
        let (server, servers) = (number(server)?, number(servers)?);
        (server < servers && servers <= MAX_SERVERS).then_some((server, servers))
    };
    read().ok_or_else(|| {
        format!(
            "GOOSE_SHARD: {text:?} names no server of several; the first of three is `0/3`, and there are at \
             most {MAX_SERVERS}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_server_is_refused() {
        for text in [
            "", "1", "3/3", "0/0", "-1/3", "+1/3", "1/3/5", "0/1001", "a/b", "1 /3",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse(" 2/3 "), Ok((2, 3)));
    }
}
