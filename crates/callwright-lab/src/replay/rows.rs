//! Counts by name, for a bounded number of names.

use std::collections::HashMap;

use serde::Serialize;

use super::fates::{Fate, Fates};
use callwright_common::limits::{NAME_LENGTH, REMEMBERED};
use callwright_common::text::excerpt;

/// Counts by name.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    rows: HashMap<String, Fates>,
    other: Fates,
}

/// Counts of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Name; `other` for all names without a separate row.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Numbers of calls by outcome.
    #[serde(flatten)]
    pub fates: Fates,
}

impl Row {
    fn new(name: &str, fates: &Fates) -> Self {
        Self { name: name.to_owned(), calls: fates.all(), fates: *fates }
    }
}

impl Rows {
    /// Returns the rows by descending number of affected calls, then of calls, then by name; `other` is last.
    pub fn sorted(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.iter().map(|(name, fates)| Row::new(name, fates)).collect();
        rows.sort_by(|one, other| {
            let order = (other.fates.touched(), other.calls).cmp(&(one.fates.touched(), one.calls));
            order.then_with(|| one.name.cmp(&other.name))
        });
        rows.extend((self.other.all() > 0).then(|| Row::new("other", &self.other)));
        rows
    }

    pub(super) fn count(&mut self, name: &str, fate: Fate) {
        self.row(&excerpt(name, NAME_LENGTH)).count(fate);
    }

    fn row(&mut self, name: &str) -> &mut Fates {
        if !self.rows.contains_key(name) && self.rows.len() >= REMEMBERED {
            return &mut self.other;
        }
        self.rows.entry(name.to_owned()).or_default()
    }
}

impl Serialize for Rows {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.sorted().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_bound_are_counted_as_other() {
        let mut rows = Rows::default();
        for number in 0..REMEMBERED + 5 {
            rows.count(&format!("tool {number}"), Fate::Clean);
        }
        for number in 0..REMEMBERED + 5 {
            rows.count(&format!("made up {number}"), Fate::SentBack);
        }
        let sorted = rows.sorted();
        assert_eq!(sorted.len(), REMEMBERED + 1);
        let other = sorted.last().unwrap();
        assert_eq!((other.name.as_str(), other.calls, other.fates.sent_back), ("other", 1010, 1005));
    }

    #[test]
    fn those_with_most_to_do_about_come_first() {
        let mut rows = Rows::default();
        for (name, fate) in
            [("often", Fate::Clean), ("often", Fate::Clean), ("b", Fate::Repaired), ("a", Fate::HandedOver)]
        {
            rows.count(name, fate);
        }
        let names: Vec<String> = rows.sorted().into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["a", "b", "often"]);
    }
}
