//! Tool lists of recent requests. Agents send the same list with every request, and it is most of the request: comparing it
//! with one that was read before is 20 times as fast as reading it again.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::scanner::{Scanned, Scanner};

/// Number of lists that a thread keeps.
const MAX_LISTS: usize = 4;

/// Size of a list from which it is kept: smaller ones are read as quickly.
const MIN_BYTES: usize = 512;

/// Maximum size of a list that is kept. All lists of a thread take at most 256 KiB.
const MAX_BYTES: usize = 64 * 1024;

thread_local! {
    static RECENT: RefCell<RecentLists> = RefCell::default();
}

/// Skips a tool list.
pub(super) fn skip(scanner: &mut Scanner<'_>) -> Scanned<()> {
    RECENT.with_borrow_mut(|recent| recent.skip(scanner))
}

/// Texts of arrays that were read to their end, the latest first.
#[derive(Debug, Default)]
struct RecentLists(VecDeque<Box<str>>);

impl RecentLists {
    fn skip(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let start = scanner.start_of_value();
        let rest = scanner.rest();
        // An array ends with its bracket, so a text that begins with one that was read before has the same array there.
        if let Some(position) = self.0.iter().position(|list| rest.starts_with(&**list)) {
            self.0.swap(0, position);
            scanner.advance(self.0.front().map_or(0, |list| list.len()));
            return Ok(());
        }
        scanner.skip()?;
        let list = scanner.between(start, scanner.position());
        if list.starts_with('[') && (MIN_BYTES..=MAX_BYTES).contains(&list.len()) {
            self.0.truncate(MAX_LISTS - 1);
            self.0.push_front(list.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::Malformed;

    /// Returns a list of at least [`MIN_BYTES`].
    fn list(name: &str) -> String {
        format!("[\"{name}\",\"{}\"]", "x".repeat(MIN_BYTES))
    }

    fn end(recent: &mut RecentLists, text: &str) -> Scanned<usize> {
        let mut scanner = Scanner::new(text);
        recent.skip(&mut scanner)?;
        Ok(scanner.position())
    }

    #[test]
    fn a_known_list_ends_where_it_ended_before() {
        let mut recent = RecentLists::default();
        let list = list("a");
        for after in ["", "}", ", \"b\": 1}", "]", "[1]"] {
            assert_eq!(end(&mut recent, &format!(" {list}{after}")), Ok(1 + list.len()), "{after}");
        }
        assert_eq!(recent.0.len(), 1);
    }

    #[test]
    fn a_list_that_only_begins_like_a_known_one_is_read() {
        let mut recent = RecentLists::default();
        let known = list("a");
        assert_eq!(end(&mut recent, &known), Ok(known.len()));
        let longer = format!("{},1]", known.trim_end_matches(']'));
        assert_eq!(end(&mut recent, &longer), Ok(longer.len()));
        assert_eq!(end(&mut recent, known.trim_end_matches(']')), Err(Malformed));
    }

    #[test]
    fn few_lists_of_a_limited_size_are_kept() {
        let mut recent = RecentLists::default();
        let others = ["[]".to_owned(), format!("\"{}\"", "x".repeat(MIN_BYTES)), list(&"x".repeat(MAX_BYTES))];
        for text in &others {
            assert_eq!(end(&mut recent, text), Ok(text.len()));
        }
        assert!(recent.0.is_empty());
        for number in 0..9 {
            let text = list(&number.to_string());
            assert_eq!(end(&mut recent, &text), Ok(text.len()));
        }
        assert_eq!(recent.0.len(), MAX_LISTS);
        assert!(recent.0.front().is_some_and(|list| list.starts_with("[\"8\"")));
        // The list in use stays.
        for number in [5, 20, 5, 21, 5, 22, 5, 23, 5] {
            end(&mut recent, &list(&number.to_string())).unwrap();
        }
        assert!(recent.0.iter().any(|list| list.starts_with("[\"5\"")));
    }
}
