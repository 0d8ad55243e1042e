//! Number of connections that fit into the limit of open files.

/// Number of descriptors reserved for everything but clients and their upstreams: the store, documents, the operator
/// listener, refused sockets. If the limit is below twice this number, half of the limit is reserved.
const RESERVED: usize = 256;

/// Default maximum number of client connections. An idle one takes about ten kilobytes.
const MOST_BY_DEFAULT: usize = 10_000;

/// Returns the number of files that this process may open; `None` if the system reports none, as other systems than Linux
/// (proc(5)).
pub fn limit() -> Option<usize> {
    soft_limit(&std::fs::read_to_string("/proc/self/limits").ok()?)
}

/// Returns the maximum number of client connections that fit into a limit.
pub(in crate::http) fn most_connections(limit: Option<usize>) -> usize {
    limit.map_or(usize::MAX, |limit| limit - RESERVED.min(limit / 2))
}

/// Returns the default number of client connections for a limit.
pub(in crate::http) fn default_connections(limit: Option<usize>) -> usize {
    // Each has a descriptor, and a second one for its upstream connection.
    (most_connections(limit) / 2).clamp(1, MOST_BY_DEFAULT)
}

fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(usize::MAX),
        limit => limit.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_read_and_leaves_a_reserve() {
        let text =
            |soft: &str| format!("Limit  Soft Limit  Hard Limit\nMax open files            {soft}   524288   files\n");
        assert_eq!(soft_limit(&text("1024")), Some(1_024));
        assert_eq!((soft_limit(&text("unlimited")), soft_limit(&text("many"))), (Some(usize::MAX), None));
        assert_eq!(soft_limit(""), None);
        assert_eq!((most_connections(Some(1_024)), default_connections(Some(1_024))), (768, 384));
        assert_eq!((most_connections(Some(64)), default_connections(Some(64))), (32, 16));
        assert_eq!(default_connections(Some(0)), 1);
        assert_eq!(default_connections(Some(1_048_576)), MOST_BY_DEFAULT);
        assert_eq!((most_connections(None), default_connections(None)), (usize::MAX, MOST_BY_DEFAULT));
    }
}
