//! How many connections fit into the number of files that the process may open.

use std::fs::File;
use std::io::Read;

/// Where Linux has the limits of a process (proc(5)). Other systems have no such file, and so no known limit.
const LIMITS: &str = "/proc/self/limits";

/// How the line about open files begins.
const OPEN_FILES: &str = "Max open files";

/// Bytes of the file that are read; Linux writes about 1,400.
const MAX_BYTES: u64 = 16 * 1024;

/// Descriptors that are kept for everything but clients and their upstreams: the store, documents, the operator side, sockets that are refused.
/// Where fewer than twice as many may be open, half of them.
const RESERVED: usize = 256;

/// Client connections at most where the configuration does not give a number. Each idle one takes some ten kilobytes.
const MOST_BY_DEFAULT: usize = 10_000;

/// Descriptors of a client connection: its own, and that of the upstream's connection.
const PER_CONNECTION: usize = 2;

/// Number of files that this process may open; `None` where the system reports none.
pub(in crate::http) fn limit() -> Option<usize> {
    let mut text = String::new();
    File::open(LIMITS).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    soft_limit(&text)
}

/// Client connections that fit at most into a limit.
pub(in crate::http) fn most_connections(limit: Option<usize>) -> usize {
    limit.map_or(usize::MAX, |limit| limit - RESERVED.min(limit / 2))
}

/// Client connections where the configuration does not give a number.
pub(in crate::http) fn default_connections(limit: Option<usize>) -> usize {
    (most_connections(limit) / PER_CONNECTION).clamp(1, MOST_BY_DEFAULT)
}

fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix(OPEN_FILES))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_read_and_leaves_a_reserve() {
        let text =
            |soft: &str| format!("Limit  Soft Limit  Hard Limit\nMax open files            {soft}   524288   files\n");
        assert_eq!(soft_limit(&text("1024")), Some(1_024));
        assert_eq!(soft_limit(&text("unlimited")), None);
        assert_eq!(soft_limit(""), None);
        assert_eq!((most_connections(Some(1_024)), default_connections(Some(1_024))), (768, 384));
        assert_eq!((most_connections(Some(64)), default_connections(Some(64))), (32, 16));
        assert_eq!(default_connections(Some(0)), 1);
        assert_eq!(default_connections(Some(1_048_576)), MOST_BY_DEFAULT);
        assert_eq!((most_connections(None), default_connections(None)), (usize::MAX, MOST_BY_DEFAULT));
    }
}
