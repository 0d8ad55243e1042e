//! The `$defs` of one argument schema: which schemas of the document they stand for, and which are still to be written.

use std::collections::{HashMap, HashSet, VecDeque};

use super::super::document::Located;
use super::super::files::PlaceId;
use super::translator::Part;

/// Names for referenced schemas, and the queue of those to be written.
#[derive(Debug, Default)]
pub(super) struct Definitions<'d> {
    by_place: HashMap<(PlaceId, Part), String>,
    names: HashSet<String>,
    queue: VecDeque<Pending<'d>>,
}

/// A definition that was referred to and is to be written.
#[derive(Debug)]
pub(super) struct Pending<'d> {
    /// Its name under `$defs`.
    pub(super) name: String,
    /// The schema it stands for.
    pub(super) schema: Located<'d>,
    /// The part of the request that it is for.
    pub(super) part: Part,
    /// How deep its first use stands.
    pub(super) level: usize,
}

impl<'d> Definitions<'d> {
    /// The name of the definition that stands for `schema`; the first use, at `level`, queues it.
    pub(super) fn name_of(&mut self, schema: &Located<'d>, part: Part, level: usize) -> String {
        let key = (schema.at.id(), part);
        if let Some(name) = self.by_place.get(&key) {
            return name.clone();
        }
        let name = self.free_name(&schema.at.pointer().last().unwrap_or_default());
        self.by_place.insert(key, name.clone());
        self.queue.push_back(Pending { name: name.clone(), schema: schema.clone(), part, level });
        name
    }

    /// Has the schema been referred to before?
    pub(super) fn knows(&self, schema: &Located<'d>, part: Part) -> bool {
        self.by_place.contains_key(&(schema.at.id(), part))
    }

    /// The next definition to write, first referred to first.
    pub(super) fn next(&mut self) -> Option<Pending<'d>> {
        self.queue.pop_front()
    }

    fn free_name(&mut self, wish: &str) -> String {
        let kept = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
        let base: String = wish.chars().map(kept).collect();
        let mut name = if base.is_empty() { "schema".to_owned() } else { base.clone() };
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }
}
