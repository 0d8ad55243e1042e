//! Index of the features that the tools of a segment have in common with arguments.

use std::collections::HashMap;
use std::hash::Hash;

use super::profile::Profile;
use super::tool::{InputFeatures, PositionMap, ToolFeatures, position_map};
use callwright_search::retrieval::Term;
use callwright_types::OutputLink;

/// Maximum number of tools per word. More frequent words do not discriminate.
const COMMON: usize = 512;

/// Inverted indexes of the producers of a segment.
#[derive(Debug, Clone, Default)]
pub(super) struct FeatureIndex {
    /// Tools with a word in the name of a field.
    by_field_word: HashMap<Term, Vec<u32>>,
    /// Tools with a field of this name.
    by_whole: HashMap<Term, Vec<u32>>,
    /// Tools with an identifying field, by the things that they or the field denote; also tools without documented
    /// outputs.
    by_thing: HashMap<Term, Vec<u32>>,
    by_path: HashMap<Box<str>, Vec<u32>>,
    /// Tools with a word in their name.
    by_subject: HashMap<Term, Vec<u32>>,
    /// Tools that an OpenAPI link connects to an argument, by consuming tool and argument.
    by_link: HashMap<(String, String), Vec<u32>>,
}

impl FeatureIndex {
    /// Indexes tools, with their `links` by name.
    pub(super) fn new(tools: &[ToolFeatures], links: &HashMap<Box<str>, Box<[OutputLink]>>) -> Self {
        let mut index = Self::default();
        for (at, tool) in (0_u32..).zip(tools) {
            let answer = &tool.answer;
            tool.subject.iter().for_each(|(term, _)| push(&mut index.by_subject, *term, at));
            // If the outputs are not documented, the name indicates the subject.
            if answer.outputs.is_empty() || answer.identifies {
                tool.things.iter().for_each(|thing| push(&mut index.by_thing, *thing, at));
            }
            if answer.outputs.is_empty() {
                continue;
            }
            answer.words.iter().for_each(|term| push(&mut index.by_field_word, *term, at));
            answer.names.iter().for_each(|name| push(&mut index.by_whole, *name, at));
            answer.things.iter().for_each(|thing| push(&mut index.by_thing, *thing, at));
            if let Some(path) = &tool.path {
                push(&mut index.by_path, path.clone(), at);
            }
            for link in links.get(&tool.name).into_iter().flatten() {
                index.by_link.entry((link.tool.clone(), link.argument.clone())).or_default().push(at);
            }
        }
        index
    }

    /// Returns the tools with features in common with an argument and a rough score, as a preselection.
    pub(super) fn in_common(&self, tool: &ToolFeatures, input: &InputFeatures, profile: &Profile) -> PositionMap<f32> {
        let mut found = position_map();
        let mut add = |tools: Option<&Vec<u32>>, weight: f32| {
            for at in tools.into_iter().flatten() {
                *found.entry(*at).or_default() += weight;
            }
        };
        add(self.by_whole.get(&profile.whole), if profile.is_bare() { 0.1 } else { 2.0 });
        for (term, rarity) in &profile.words {
            add(self.by_field_word.get(term), rarity / 4.0);
        }
        input.things.iter().for_each(|thing| add(self.by_thing.get(thing), 1.0));
        for (term, rarity) in &profile.description_words {
            add(self.by_subject.get(term), rarity / 8.0);
        }
        add(input.collection.as_ref().and_then(|path| self.by_path.get(path)), 4.0);
        if !self.by_link.is_empty() {
            add(self.by_link.get(&(tool.name.to_string(), input.name.to_string())), 8.0);
        }
        found
    }
}

/// Adds a tool to a list of at most [`COMMON`] tools. Tools arrive in order, so a duplicate can only be the last entry.
fn push<K: Hash + Eq>(lists: &mut HashMap<K, Vec<u32>>, key: K, at: u32) {
    let list = lists.entry(key).or_default();
    if list.len() < COMMON && list.last() != Some(&at) {
        list.push(at);
    }
}
