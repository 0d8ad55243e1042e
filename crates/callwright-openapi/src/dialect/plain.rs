//! A schema without `$ref`.
//!
//! Copies multiply where schemas are shared and never end where they are recursive, so they are bounded twice: in how often a
//! definition is copied into itself, and in bytes. What is too much is opened, which the description says.

use serde_json::{Map, Value};

use super::super::schema::{Form, form, is_annotation};
use super::losses::Losses;
use super::reference::{definitions, name_of, reference, used_here};
use super::trail::Trail;
use super::words::say;
use super::{Loss, Translated};

/// How often a definition may stand within itself. Once shows what the members of a tree's children are.
const MAX_RECURSION: usize = 1;

/// Bytes of JSON that a schema may take without `$ref`. Providers that refuse `$ref` are seldom those with the largest context.
const MAX_BYTES: usize = 32 * 1024;

/// Copies within copies that are tried, most first.
const DEPTHS: [usize; 7] = [12, 8, 6, 4, 3, 2, 1];

/// Schemas within schemas that are looked at; it ends the descent into what only tests write.
const MAX_LEVELS: usize = 200;

/// What is said of an opened schema.
const OPENED: &str = "What stands inside is not described here; any content is accepted.";

pub(super) fn translate(schema: &Value) -> Translated {
    let tried = DEPTHS.into_iter().find_map(|depth| inline(schema, depth, MAX_BYTES));
    // Nothing copied at all is never larger than what came in.
    let (parameters, losses) = tried.or_else(|| inline(schema, 0, usize::MAX)).unwrap_or_default();
    Translated { parameters, strict: false, losses }
}

/// `schema` with `depth` copies within copies; `None` where that takes more than `bytes`.
fn inline(schema: &Value, depth: usize, bytes: usize) -> Option<(Value, Vec<Loss>)> {
    let nothing = Map::new();
    let mut inliner = Inliner {
        definitions: definitions(schema).unwrap_or(&nothing),
        depth,
        bytes_left: bytes,
        losses: Losses::default(),
    };
    let written = inliner.any(schema, &Trail::Root, &mut Vec::new(), 0)?;
    Some((written, inliner.losses.finish()))
}

struct Inliner<'a> {
    definitions: &'a Map<String, Value>,
    depth: usize,
    bytes_left: usize,
    losses: Losses,
}

impl<'a> Inliner<'a> {
    /// `copied` are the definitions whose copies lead here. `None`: too large.
    fn any(&mut self, schema: &'a Value, trail: &Trail<'_>, copied: &mut Vec<&'a str>, level: usize) -> Option<Value> {
        let Value::Object(members) = schema else { return Some(schema.clone()) };
        if level > MAX_LEVELS {
            return self.opened(members, trail).map(Value::Object);
        }
        let Some(written) = reference(members) else {
            return self.members(members, trail, copied, level).map(Value::Object);
        };
        // Schemas beside the `$ref` may have further ones in them.
        let beside = self.members(members, trail, copied, level)?;
        let target = name_of(written).and_then(|name| self.definitions.get_key_value(name));
        let Some((name, schema @ Value::Object(target))) = target else {
            self.losses.add(trail, format!("`$ref` `{written}` names no definition; any value is accepted"));
            return Some(Value::Object(beside));
        };
        let times = copied.iter().filter(|above| *above == name).count();
        if times > MAX_RECURSION || copied.len() >= self.depth {
            return Some(Value::Object(used_here(self.opened(target, trail)?, beside)));
        }
        copied.push(name);
        let all = Trail::Root.member("$defs");
        let copy = self.any(schema, &all.member(name), copied, level + 1);
        copied.pop();
        let Value::Object(copy) = copy? else { return None };
        Some(Value::Object(used_here(copy, beside)))
    }

    fn members(
        &mut self,
        members: &'a Map<String, Value>,
        trail: &Trail<'_>,
        copied: &mut Vec<&'a str>,
        level: usize,
    ) -> Option<Map<String, Value>> {
        let mut written = Map::new();
        for (key, value) in members.iter().filter(|(key, _)| !["$defs", "$ref"].contains(&key.as_str())) {
            let place = trail.member(key);
            self.spend(key.len())?;
            let value = match (form(key), value) {
                (Some(Form::Schema), _) => self.any(value, &place, copied, level + 1)?,
                (Some(Form::Schemas), Value::Array(schemas)) => {
                    let each = schemas.iter().enumerate();
                    let inlined: Option<Vec<Value>> =
                        each.map(|(index, schema)| self.any(schema, &place.item(index), copied, level + 1)).collect();
                    Value::Array(inlined?)
                }
                (Some(Form::SchemaMap), Value::Object(schemas)) => {
                    let mut inlined = Map::new();
                    for (name, schema) in schemas {
                        self.spend(name.len())?;
                        inlined.insert(name.clone(), self.any(schema, &place.member(name), copied, level + 1)?);
                    }
                    Value::Object(inlined)
                }
                _ => {
                    self.spend(value.to_string().len())?;
                    value.clone()
                }
            };
            written.insert(key.clone(), value);
        }
        Some(written)
    }

    /// What is left of a definition that is not copied: its type and what describes it.
    fn opened(&mut self, target: &Map<String, Value>, trail: &Trail<'_>) -> Option<Map<String, Value>> {
        let is_kept = |key: &str| key == "type" || is_annotation(key);
        let mut kept: Map<String, Value> =
            target.iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
        say(&mut kept, OPENED);
        self.losses.add(trail, "is recursive or too large to be copied; any content is accepted there");
        self.spend(kept.iter().map(|(key, value)| key.len() + value.to_string().len()).sum())?;
        Some(kept)
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.bytes_left = self.bytes_left.checked_sub(bytes)?;
        Some(())
    }
}
