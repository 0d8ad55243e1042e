//! Names the definitions of tools as components of one document.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use crate::schema::DEFINITIONS;

/// Components of the document by content. Definitions of several tools are one component if they and all that they
/// refer to are equal.
#[derive(Default)]
pub(super) struct ComponentNames {
    by_content: HashMap<(String, String), String>,
    taken: HashSet<String>,
}

impl ComponentNames {
    /// Returns the component names of a tool's definitions, by name, and the names of those that are new.
    pub(super) fn add(&mut self, definitions: &Map<String, Value>) -> (BTreeMap<String, String>, Vec<String>) {
        let texts: BTreeMap<&str, String> =
            definitions.iter().map(|(name, schema)| (name.as_str(), schema.to_string())).collect();
        let targets: BTreeMap<&str, BTreeSet<&str>> =
            definitions.iter().map(|(name, schema)| (name.as_str(), references(schema))).collect();
        let mut names = BTreeMap::new();
        let mut new = Vec::new();
        for name in definitions.keys() {
            let mut content = String::new();
            for reached in reachable(name, &targets) {
                content.push_str(reached);
                content.extend(texts.get(reached).map(String::as_str));
            }
            let key = (name.clone(), content);
            if let Some(existing) = self.by_content.get(&key) {
                names.insert(name.clone(), existing.clone());
                continue;
            }
            let free = self.free_name(name);
            self.by_content.insert(key, free.clone());
            new.push(name.clone());
            names.insert(name.clone(), free);
        }
        (names, new)
    }

    fn free_name(&mut self, preferred: &str) -> String {
        let mut name = preferred.to_owned();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{preferred}_{number}");
            number += 1;
        }
        name
    }
}

/// Returns the names of the definitions that can be reached from `start`, including itself.
fn reachable<'a>(start: &'a str, targets: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::from([start]);
    let mut pending = vec![start];
    while let Some(name) = pending.pop() {
        for target in targets.get(name).into_iter().flatten() {
            if reached.insert(target) {
                pending.push(target);
            }
        }
    }
    reached
}

/// Returns the names of the definitions to which a schema refers.
fn references(schema: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(members) => {
                let reference = members.get("$ref").and_then(Value::as_str);
                found.extend(reference.and_then(|reference| reference.strip_prefix(DEFINITIONS)));
                pending.extend(members.values());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    found
}
