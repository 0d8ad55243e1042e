//! Splits names and texts into words.

use heck::ToSnakeCase;

/// Returns the words of a name in lower case: `getUserById`, `get-user-by-id` and `Get user by ID` give the same
/// words.
pub(super) fn words(name: &str) -> Vec<String> {
    name.to_snake_case().split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Formats at most `shown` of `names` as a comma-separated list, each in backquotes, followed by the number of the
/// others.
pub(super) fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>, shown: usize) -> String {
    let more = names.len().saturating_sub(shown);
    let list: Vec<String> = names.take(shown).map(|name| format!("`{name}`")).collect();
    let list = list.join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_same_words_however_they_are_written() {
        for name in ["getUserById", "get-user-by-id", "Get user by ID", "GET_USER__BY_ID_"] {
            assert_eq!(words(name), ["get", "user", "by", "id"], "{name}");
        }
        assert!(words("--").is_empty());
    }

    #[test]
    fn long_lists_end_with_how_many_there_are_more() {
        assert_eq!(listed(["a", "b"].into_iter(), 2), "`a`, `b`");
        assert_eq!(listed(["a", "b", "c", "d"].into_iter(), 2), "`a`, `b` and 2 more");
    }
}
