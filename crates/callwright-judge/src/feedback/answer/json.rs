//! Shortening of JSON to a size limit; the result is valid JSON.
//!
//! One [`Cut`] applies to the whole value: the maximum number of array items, string characters, object members and
//! nesting levels to show. A search finds the largest cut that fits. Each attempt stops at the limit, so the total work
//! is linear in the limit.

use serde_json::Value;

/// Number of string characters per array item: about a line of text per item.
const CHARS_PER_ITEM: usize = 24;

/// Number of object members per array item. Higher, because objects are mostly read as a whole.
const MEMBERS_PER_ITEM: usize = 8;

/// Minimum number of levels to show, if they fit.
const LEVELS: usize = 2;

/// Search steps per doubling of the cut.
const STEPS_PER_DOUBLING: u32 = 4;

/// Note for a value that the proxy did not read or receive completely.
const REST_MISSING: &str = "… (the answer is longer than the proxy reads, or broke off; the rest is missing)";

/// Limits for the shown part of a value.
#[derive(Debug, Clone, Copy)]
struct Cut {
    items: usize,
    chars: usize,
    members: usize,
    levels: usize,
}

/// Returns at most `limit` characters of JSON: the whole value, or as much of it as fits.
pub(super) fn shortened(value: &Value, limit: usize) -> String {
    written(value, Cut::NONE, limit).or_else(|| widest(value, limit)).unwrap_or_else(|| narrowest(value, limit))
}

/// Shortens a value like [`shortened`], with a note at its end that the rest is missing.
pub(super) fn shortened_and_open(value: &Value, limit: usize) -> String {
    let note = Value::from(REST_MISSING).to_string();
    let mut text = shortened(value, limit.saturating_sub(note.chars().count() + "\"…\":,".len()));
    let Some(bracket) = text.pop() else { return text };
    if !text.ends_with(['[', '{']) {
        text.push(',');
    }
    if bracket == '}' {
        text.push_str("\"…\":");
    }
    text.push_str(&note);
    text.push(bracket);
    text
}

/// Completes the array or object of a truncated text. Drops the last incomplete item.
pub(super) fn completed(text: &str) -> Option<Value> {
    let mut open = Vec::new();
    let mut end = (0, 0);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                open.push(if byte == b'[' { b']' } else { b'}' });
                end = (at + 1, open.len());
            }
            b']' | b'}' => {
                open.pop();
                end = (at + 1, open.len());
            }
            b',' => end = (at, open.len()),
            _ => {}
        }
    }
    let (end, depth) = end;
    let mut text = text.get(..end)?.to_owned();
    // Brackets that were closed after `end` were also opened after it.
    text.extend(open.get(..depth)?.iter().rev().map(|bracket| char::from(*bracket)));
    serde_json::from_str(&text).ok().filter(|value: &Value| value.is_array() || value.is_object())
}

/// Returns the value under the largest cut that fits: first scales all limits together, then raises each one alone,
/// items before characters.
fn widest(value: &Value, limit: usize) -> Option<String> {
    // A text of this many characters has no more items.
    let last = limit.max(1).ilog2() * STEPS_PER_DOUBLING;
    let step = last_that(0, last as usize, |step| written(value, Cut::at(step as u32), limit).is_some())?;
    let mut cut = Cut::at(step as u32);
    let kinds: [fn(&mut Cut) -> &mut usize; 4] =
        [|cut| &mut cut.items, |cut| &mut cut.chars, |cut| &mut cut.members, |cut| &mut cut.levels];
    for kind in kinds {
        let least = *kind(&mut cut);
        let size = last_that(least, limit.max(least), |size| {
            let mut wider = cut;
            *kind(&mut wider) = size;
            written(value, wider, limit).is_some()
        });
        *kind(&mut cut) = size.unwrap_or(least);
    }
    written(value, cut, limit)
}

/// Returns the last number of the range for which `holds` is true, by binary search; `None` if it is false for the
/// first.
fn last_that(first: usize, last: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if !holds(first) {
        return None;
    }
    let (mut good, mut bad) = (first, last + 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle) { good = middle } else { bad = middle }
    }
    Some(good)
}

/// Returns a minimal form of a value whose first members alone exceed the limit.
fn narrowest(value: &Value, limit: usize) -> String {
    let cuts =
        [(4, LEVELS), (1, LEVELS), (4, 1), (1, 1)].map(|(members, levels)| Cut { members, levels, ..Cut::at(0) });
    let fitting = cuts.iter().find_map(|cut| written(value, *cut, limit));
    fitting.unwrap_or_else(|| {
        let nothing = Cut { items: 0, chars: 0, members: 0, levels: 0 };
        written(value, nothing, usize::MAX).unwrap_or_default()
    })
}

impl Cut {
    const NONE: Self = Self { items: usize::MAX, chars: usize::MAX, members: usize::MAX, levels: usize::MAX };

    fn at(step: u32) -> Self {
        // Whole doublings, and quarters in between.
        let doubled = 1_usize << (step / STEPS_PER_DOUBLING);
        let size = doubled + doubled * (step % STEPS_PER_DOUBLING) as usize / STEPS_PER_DOUBLING as usize;
        Self {
            items: size,
            chars: size * CHARS_PER_ITEM,
            members: size * MEMBERS_PER_ITEM,
            levels: LEVELS + (step / STEPS_PER_DOUBLING) as usize,
        }
    }
}

/// Returns the value under a cut; `None` if it has more than `limit` characters.
fn written(value: &Value, cut: Cut, limit: usize) -> Option<String> {
    let mut writer = AnswerWriter { text: String::new(), left: limit, cut };
    writer.value(value, cut.levels)?;
    Some(writer.text)
}

struct AnswerWriter {
    text: String,
    /// Number of characters that may still be written.
    left: usize,
    cut: Cut,
}

impl AnswerWriter {
    /// Recursion is safe: the parser bounds the nesting.
    fn value(&mut self, value: &Value, levels: usize) -> Option<()> {
        match value {
            Value::Array(items) if levels == 0 && !items.is_empty() => {
                self.write_string(&format!("… (an array of {} items)", items.len()))
            }
            Value::Object(members) if levels == 0 && !members.is_empty() => {
                self.write_string(&format!("… (an object with {} members)", members.len()))
            }
            Value::Array(items) => {
                self.push("[")?;
                for (position, item) in items.iter().take(self.cut.items).enumerate() {
                    self.separate(position)?;
                    self.value(item, levels.saturating_sub(1))?;
                }
                if items.len() > self.cut.items {
                    self.separate(self.cut.items)?;
                    self.write_string(&format!("… ({} more items)", items.len() - self.cut.items))?;
                }
                self.push("]")
            }
            Value::Object(members) => {
                self.push("{")?;
                for (position, (name, member)) in members.iter().take(self.cut.members).enumerate() {
                    self.separate(position)?;
                    self.write_string(name)?;
                    self.push(":")?;
                    self.value(member, levels.saturating_sub(1))?;
                }
                if members.len() > self.cut.members {
                    self.separate(self.cut.members)?;
                    let mut name = "…".to_owned();
                    while members.contains_key(&name) {
                        name.push('…');
                    }
                    self.write_string(&name)?;
                    self.push(":")?;
                    self.write_string(&format!("{} more members", members.len() - self.cut.members))?;
                }
                self.push("}")
            }
            Value::String(text) => self.string(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => self.push(&value.to_string()),
        }
    }

    fn string(&mut self, text: &str) -> Option<()> {
        // Each character takes at least one character in the output.
        match text.char_indices().nth(self.cut.chars.min(self.left)) {
            None => self.write_string(text),
            Some(_) if self.left < self.cut.chars => None,
            Some((end, _)) => {
                let begun = text.get(..end).unwrap_or_default();
                self.write_string(&format!("{begun}… ({} more bytes)", text.len() - end))
            }
        }
    }

    fn separate(&mut self, position: usize) -> Option<()> {
        if position > 0 { self.push(",") } else { Some(()) }
    }

    fn write_string(&mut self, text: &str) -> Option<()> {
        // Too long in any case; skips the costly escaping.
        if text.len() / 4 > self.left {
            return None;
        }
        self.push(&Value::from(text).to_string())
    }

    fn push(&mut self, text: &str) -> Option<()> {
        self.left = self.left.checked_sub(text.chars().count())?;
        self.text.push_str(text);
        Some(())
    }
}
