//! Compares a failure's message with the messages in a passage, word by word and in order.

use std::collections::HashMap;

use crate::passages::sentences::sentences;
use callwright_common::text::beginning_bytes;

/// Number of words of a message that one placeholder of a documented message replaces.
const WORDS_PER_PLACEHOLDER: usize = 3;

/// Minimum number of words of a message that is recognised within a longer sentence or as a pattern.
pub(crate) const LEAST_WORDS: usize = 3;

/// Words of a message, prepared for comparisons.
#[derive(Debug)]
pub(crate) struct MessageWords {
    /// Positions of each word, as bits.
    positions: HashMap<String, u64>,
    count: usize,
}

impl MessageWords {
    /// Prepares a message; `None` if it has no words.
    pub(crate) fn new(message: &str) -> Option<Self> {
        let mut positions: HashMap<String, u64> = HashMap::new();
        let mut count = 0;
        for word in words(message).take(u64::BITS as usize) {
            *positions.entry(word).or_default() |= 1 << count;
            count += 1;
        }
        (count > 0).then_some(Self { positions, count })
    }

    /// Returns how much of the message a passage repeats, 0 to 1: 1 if a line or sentence of it equals the message.
    /// Values in the place of a placeholder (`%s`, `{0}`, `<name>`) count as equal.
    pub(crate) fn likeness(&self, passage: &str) -> f32 {
        let mut best: f32 = 0.0;
        for (at, line) in passage.lines().enumerate() {
            best = best.max(self.likeness_without_remark(line));
            // The first line of an entry has the code before the message, other lines may have a label.
            for (_, behind) in [line.split_once(": ")].into_iter().flatten() {
                best = best.max(self.likeness_without_remark(behind));
                if let Some((_, behind)) = behind.split_once(": ").filter(|_| at == 0) {
                    best = best.max(self.likeness_without_remark(behind));
                }
            }
            for sentence in sentences(line) {
                best = best.max(self.likeness_without_remark(sentence));
                if let Some((_, behind)) = sentence.split_once(": ") {
                    best = best.max(self.likeness_without_remark(behind));
                }
            }
        }
        best
    }

    /// Returns the likeness to a text, with and without the remark in brackets at its end.
    fn likeness_without_remark(&self, text: &str) -> f32 {
        let whole = self.likeness_to(text);
        match text.split_once(" (") {
            Some((before, remark)) if remark.trim_end_matches('.').ends_with(')') => {
                whole.max(self.likeness_to(before))
            }
            _ => whole,
        }
    }

    fn likeness_to(&self, text: &str) -> f32 {
        let (text, placeholders) = without_placeholders(text);
        let mut length = 0;
        let common = self.common(words(&text).inspect(|_| length += 1));
        if length == 0 {
            return 0.0;
        }
        let free = placeholders * WORDS_PER_PLACEHOLDER;
        let required = self.count.saturating_sub(free).max(common).max(1);
        let equal = 2.0 * common as f32 / (required + length) as f32;
        let within = if self.count >= LEAST_WORDS { common as f32 / required as f32 } else { 0.0 };
        // A message within a longer sentence is weaker evidence, because its words may be scattered there.
        equal.max(within * (0.5 + 0.5 * (common as f32 / length as f32)).min(0.9))
    }

    /// Returns the length of the longest common subsequence of words (bit-parallel; Crochemore et al. 2001).
    fn common(&self, text: impl Iterator<Item = String>) -> usize {
        let mut open = u64::MAX;
        for word in text {
            let matches = open & self.positions.get(&word).copied().unwrap_or_default();
            open = open.wrapping_add(matches) | (open & !matches);
        }
        let used = if self.count >= 64 { u64::MAX } else { (1 << self.count) - 1 };
        (!open & used).count_ones() as usize
    }
}

/// Returns the words of a text in lower case.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    callwright_common::text::words(text).map(str::to_lowercase)
}

/// Removes placeholders and returns their number.
fn without_placeholders(text: &str) -> (String, usize) {
    let mut kept = String::with_capacity(text.len());
    let mut count = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['%', '{', '<', '[', '$']) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let taken = placeholder(from);
        count += usize::from(taken > 1);
        let first = from.chars().next().map_or(1, char::len_utf8);
        rest = from.get(taken.max(first)..).unwrap_or_default();
        if taken == 0 {
            kept.push_str(&from[..first]);
        }
        kept.push(' ');
    }
    kept.push_str(rest);
    (kept, count)
}

/// Maximum length in bytes of a placeholder.
const MAX_PLACEHOLDER_BYTES: usize = 60;

/// Returns the length up to the closing mark; 0 if it is missing or too far away.
fn closed(text: &str, close: char) -> usize {
    beginning_bytes(text, MAX_PLACEHOLDER_BYTES).find(close).map_or(0, |at| at + 1)
}

/// Returns the length of the placeholder at the start of a text, or 0.
fn placeholder(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(b'%') => {
            let kind =
                text.as_bytes().get(1).is_some_and(|kind| matches!(kind, b's' | b'd' | b'i' | b'f' | b'v' | b'u'));
            if kind { 2 } else { usize::from(text.as_bytes().get(1) == Some(&b'@')) * 2 }
        }
        Some(b'{') => closed(text, '}'),
        Some(b'<') => closed(text, '>'),
        Some(b'[') => closed(text, ']'),
        Some(b'$') => text.strip_prefix("${").map_or(0, |_| closed(text, '}')),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(message: &str, passage: &str) -> f32 {
        MessageWords::new(message).map_or(0.0, |words| words.likeness(passage))
    }

    #[test]
    fn a_message_is_recognised_with_values_for_placeholders() {
        let passage = "7101: The door of locker %s is jammed.\nSend a technician.";
        assert!(likeness("The door of locker L-12 is jammed", passage) > 0.85);
        assert!(likeness("Door 'X' has {0} bolts", "Door <name> has {n} bolts") > 0.75);
        assert!((likeness("Depot closed", "7102: Depot closed\nCome back.") - 1.0).abs() < 1e-6);
    }

    #[test]
    fn other_messages_with_the_same_words_are_not() {
        let passage = "7101: The door of the locker is jammed.\nSend a technician.";
        assert!(likeness("The locker is full", passage) < 0.75);
        assert!(likeness("Jammed", passage) < 0.5);
        assert!(likeness("", passage) < 0.1);
    }

    #[test]
    fn long_texts_and_open_placeholders_are_bounded() {
        let text = "{<[%$".repeat(50_000);
        assert!(likeness(&text, &text) < 0.1);
        assert!(likeness(&"a b ".repeat(50_000), &"b a ".repeat(50_000)) > 0.5);
    }
}
