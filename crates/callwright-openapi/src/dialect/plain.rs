//! Inlines all `$ref`s of a schema.
//!
//! Copies multiply where definitions are shared and never end where they are recursive. Two bounds apply: the
//! recursion of a definition into itself, and the size in bytes. A definition beyond a bound is replaced by an open
//! schema, and its description mentions that.

use serde_json::{Map, Value};

use super::translated::{DialectTrail, Loss, Losses, TranslatedSchema, replace_schemas};
use super::words::{append_sentence, definitions, merge_siblings, name_of, reference};
use crate::schema::{KeywordForm, form, is_annotation};

/// Maximum size of the inlined schema, in bytes of JSON. Providers that reject `$ref` seldom have the largest
/// contexts.
const MAX_BYTES: usize = 32 * 1024;

/// Maximum nesting of copies, tried in descending order.
const DEPTHS: [usize; 7] = [12, 8, 6, 4, 3, 2, 1];

/// Maximum nesting of schemas; guards against artificially deep input.
const MAX_LEVELS: usize = 200;

/// Text that is added to the description of an opened schema.
const OPENED: &str = "Its content is not described here; any content is accepted.";

pub(super) fn translate(schema: &Value) -> TranslatedSchema {
    let tried = DEPTHS.into_iter().find_map(|depth| inline(schema, depth, MAX_BYTES));
    // Without any copy, the result is at most as large as the input.
    let (parameters, losses) = tried.or_else(|| inline(schema, 0, usize::MAX)).unwrap_or_default();
    TranslatedSchema { parameters, strict: false, losses }
}

/// Inlines `schema` with at most `depth` nested copies. Returns `None` if the result exceeds `bytes`.
fn inline(schema: &Value, depth: usize, bytes: usize) -> Option<(Value, Vec<Loss>)> {
    let nothing = Map::new();
    let mut inliner = Inliner {
        definitions: definitions(schema).unwrap_or(&nothing),
        depth,
        bytes_left: bytes,
        level: 0,
        losses: Losses::default(),
    };
    let written = inliner.any(schema, &DialectTrail::Root, &mut Vec::new())?;
    Some((written, inliner.losses.finish()))
}

struct Inliner<'a> {
    definitions: &'a Map<String, Value>,
    depth: usize,
    bytes_left: usize,
    /// Nesting of the schema that is read.
    level: usize,
    losses: Losses,
}

impl<'a> Inliner<'a> {
    /// Inlines one schema. `copied` lists the definitions whose copies enclose it. Returns `None` if the result is
    /// too large.
    fn any(&mut self, schema: &'a Value, trail: &DialectTrail<'_>, copied: &mut Vec<&'a str>) -> Option<Value> {
        let Value::Object(members) = schema else { return Some(schema.clone()) };
        if self.level > MAX_LEVELS {
            return self.opened(members, trail).map(Value::Object);
        }
        self.level += 1;
        let inlined = self.inlined(members, trail, copied);
        self.level -= 1;
        inlined
    }

    fn inlined(
        &mut self,
        members: &'a Map<String, Value>,
        trail: &DialectTrail<'_>,
        copied: &mut Vec<&'a str>,
    ) -> Option<Value> {
        let Some(written) = reference(members) else {
            return self.members(members, trail, copied).map(Value::Object);
        };
        // Schemas beside the `$ref` may contain further `$ref`s.
        let beside = self.members(members, trail, copied)?;
        let target = name_of(written).and_then(|name| self.definitions.get_key_value(name));
        let Some((name, schema @ Value::Object(target))) = target else {
            self.losses.add(trail, format!("`$ref` `{written}` names no definition; any value is accepted"));
            return Some(Value::Object(beside));
        };
        // One copy within a copy shows the members of a tree's children.
        let is_repeated = copied.iter().filter(|above| *above == name).count() > 1;
        if is_repeated || copied.len() >= self.depth {
            return Some(Value::Object(merge_siblings(self.opened(target, trail)?, beside)));
        }
        copied.push(name);
        let all = DialectTrail::Root.member("$defs");
        let copy = self.any(schema, &all.member(name), copied);
        copied.pop();
        let Value::Object(copy) = copy? else { return None };
        Some(Value::Object(merge_siblings(copy, beside)))
    }

    fn members(
        &mut self,
        members: &'a Map<String, Value>,
        trail: &DialectTrail<'_>,
        copied: &mut Vec<&'a str>,
    ) -> Option<Map<String, Value>> {
        let mut written = Map::new();
        for (key, value) in members.iter().filter(|(key, _)| !["$defs", "$ref"].contains(&key.as_str())) {
            let child = trail.member(key);
            self.spend(key.len())?;
            self.spend(match (form(key), value) {
                (Some(KeywordForm::Schema | KeywordForm::Schemas), _) => 0,
                (Some(KeywordForm::SchemaMap), Value::Object(schemas)) => schemas.keys().map(String::len).sum(),
                _ => value.to_string().len(),
            })?;
            let mut replace = |schema: &'a Value, trail: &DialectTrail<'_>| self.any(schema, trail, copied);
            let value = replace_schemas((key, value), &child, &mut replace)?;
            written.insert(key.clone(), value);
        }
        Some(written)
    }

    /// Returns the open replacement of a definition that is not copied: its type and annotations.
    fn opened(&mut self, target: &Map<String, Value>, trail: &DialectTrail<'_>) -> Option<Map<String, Value>> {
        let kept = target.iter().filter(|(key, _)| *key == "type" || is_annotation(key));
        let mut kept: Map<String, Value> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        append_sentence(&mut kept, OPENED);
        self.losses.add(trail, "is recursive or too large to be copied; any content is accepted there");
        self.spend(kept.iter().map(|(key, value)| key.len() + value.to_string().len()).sum())?;
        Some(kept)
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.bytes_left = self.bytes_left.checked_sub(bytes)?;
        Some(())
    }
}
