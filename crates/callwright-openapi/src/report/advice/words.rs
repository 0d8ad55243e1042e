//! Lists names in messages.

/// Formats at most `limit` of `names` as a comma-separated list, each in backquotes, followed by the number of the
/// others.
pub(super) fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>, limit: usize) -> String {
    let more = names.len().saturating_sub(limit);
    let list: Vec<String> = names.take(limit).map(|name| format!("`{name}`")).collect();
    let list = list.join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_end_with_the_number_of_omitted_entries() {
        assert_eq!(listed(["a", "b"].into_iter(), 2), "`a`, `b`");
        assert_eq!(listed(["a", "b", "c", "d"].into_iter(), 2), "`a`, `b` and 2 more");
    }
}
