//! Splitting of chunks into a part that is sent and a part that is held.

use std::borrow::Cow;

use super::Chunk;
use super::chunk::carries_something;
use super::fields::string;
use callwright_common::json::{RawObject, raw};

impl Chunk {
    /// Returns one chunk per choice, with the index of the choice.
    pub fn by_choice(&self) -> Vec<(u32, Chunk)> {
        let indices = self.choice_indices();
        if let [only] = indices.as_slice() {
            return vec![(*only, self.clone())];
        }
        let chunks = indices.into_iter().filter_map(|index| {
            let chunk = self.with_choices(true, |choice, _| index_of(choice) == index)?;
            Some((index, chunk))
        });
        chunks.collect()
    }

    /// Returns the number of distinct choices.
    pub fn choice_count(&self) -> usize {
        self.choice_indices().len()
    }

    /// Returns the text of the chunk's choices.
    pub fn text(&self) -> String {
        let text = std::cell::RefCell::new(String::new());
        self.with_choices(true, |_, delta| {
            text.borrow_mut().push_str(&text_of(delta).unwrap_or_default());
            true
        });
        text.into_inner()
    }

    /// Returns the chunk without text but with refusals; `None` if at most a role remains.
    pub fn without_text(&self) -> Option<Chunk> {
        self.with_choices(true, |choice, delta| {
            delta.remove("content");
            choice.remove("logprobs");
            carries_something(delta)
        })
    }

    /// Splits the chunk of one choice: everything up to the byte `at` of its text, and the rest of the text with the
    /// logprobs. There is no first part if it would contain at most a role, or if the text consists of parts, which
    /// cannot be split.
    pub fn cut_text(&self, at: usize) -> (Option<Chunk>, Chunk) {
        let first = self.with_choices(false, |choice, delta| {
            let Some(text) = text_of(delta) else { return false };
            match text.get(..at).filter(|text| !text.is_empty()) {
                Some(text) => delta.set("content", raw(text)),
                None => drop(delta.remove("content")),
            }
            choice.remove("logprobs");
            carries_something(delta)
        });
        if first.is_none() {
            return (None, self.clone());
        }
        let rest = self.with_choices(true, |_, delta| {
            let text = text_of(delta).unwrap_or_default();
            *delta = [("content".to_owned(), raw(text.get(at..).unwrap_or_default()))].into_iter().collect();
            true
        });
        (first, rest.unwrap_or_else(|| self.clone()))
    }

    fn choice_indices(&self) -> Vec<u32> {
        let mut indices = std::cell::RefCell::new(Vec::new());
        self.with_choices(true, |choice, _| {
            let index = index_of(choice);
            if !indices.borrow().contains(&index) {
                indices.borrow_mut().push(index);
            }
            true
        });
        std::mem::take(indices.get_mut())
    }
}

fn text_of(delta: &RawObject) -> Option<String> {
    delta.get("content").and_then(string).map(Cow::into_owned)
}

fn index_of(choice: &RawObject) -> u32 {
    choice.get_as("index").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;
    use crate::{SseEvent, StreamItem, read_item};

    fn chunk(value: &Value) -> Chunk {
        match read_item(&SseEvent { raw: Bytes::new(), data: Some(value.to_string()) }).unwrap() {
            StreamItem::Chunk(chunk) => chunk,
            other => panic!("{other:?}"),
        }
    }

    fn value(chunk: &Chunk) -> Value {
        let event = chunk.to_event();
        let text = std::str::from_utf8(&event).unwrap();
        serde_json::from_str(text.strip_prefix("data: ").unwrap()).unwrap()
    }

    #[test]
    fn a_chunk_of_several_choices_becomes_several() {
        let both = chunk(
            &json!({"id": "c", "choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]}),
        );
        let parts = both.by_choice();
        let seen: Vec<(u32, Value)> =
            parts.iter().map(|(index, chunk)| (*index, value(chunk)["choices"].clone())).collect();
        assert_eq!(seen[0], (1, json!([{"index": 1, "delta": {"content": "b"}}])));
        assert_eq!(seen[1], (0, json!([{"index": 0, "delta": {"content": "a"}}])));
        let one = chunk(&json!({"id": "c", "x": 1, "choices": [{"delta": {"content": "b"}}]}));
        assert_eq!((one.by_choice()[0].0, value(&one.by_choice()[0].1)), (0, value(&one)));
    }

    #[test]
    fn a_text_is_cut_and_what_stands_beside_it_flows() {
        let mixed = chunk(
            &json!({"id": "c", "choices": [{"index": 0, "delta": {"content": "aü[", "reasoning": "hm"}, "logprobs": {"content": []}}]}),
        );
        let cut = |at| {
            let (first, rest) = mixed.cut_text(at);
            (first.map(|chunk| value(&chunk)["choices"][0].clone()), value(&rest)["choices"][0].clone())
        };
        let logprobs = json!({"content": []});
        assert_eq!(
            cut(3),
            (
                Some(json!({"index": 0, "delta": {"content": "aü", "reasoning": "hm"}})),
                json!({"index": 0, "delta": {"content": "["}, "logprobs": logprobs})
            )
        );
        assert_eq!(cut(0).0, Some(json!({"index": 0, "delta": {"reasoning": "hm"}})));
        assert_eq!(cut(0).1["delta"], json!({"content": "aü["}));
        let whole = |delta: Value| {
            let chunk = chunk(&json!({"id": "c", "choices": [{"index": 0, "delta": delta}]}));
            let (first, rest) = chunk.cut_text(0);
            assert_eq!((first.is_none(), value(&rest)), (true, value(&chunk)));
            assert!(chunk.without_text().is_none());
        };
        whole(json!({"role": "assistant", "content": "["}));
        whole(json!({"content": [{"type": "text", "text": "ab"}]}));
    }
}
