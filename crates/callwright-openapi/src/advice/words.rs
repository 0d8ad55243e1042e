//! Splits names and texts into words.

use heck::ToSnakeCase;

/// Returns the words of a name in lower case: `getUserById`, `get-user-by-id` and `Get user by ID` give the same
/// words.
pub(super) fn words(name: &str) -> Vec<String> {
    name.to_snake_case().split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

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
    fn names_are_split_into_the_same_words_in_every_case_style() {
        for name in ["getUserById", "get-user-by-id", "Get user by ID", "GET_USER__BY_ID_"] {
            assert_eq!(words(name), ["get", "user", "by", "id"], "{name}");
        }
        assert!(words("--").is_empty());
    }

    #[test]
    fn long_lists_end_with_the_number_of_omitted_entries() {
        assert_eq!(listed(["a", "b"].into_iter(), 2), "`a`, `b`");
        assert_eq!(listed(["a", "b", "c", "d"].into_iter(), 2), "`a`, `b` and 2 more");
    }
}
