//! Which of the catalog's tools are offered where the upstream takes fewer than there are.
//!
//! The seam for a learned retrieval: it takes the place of [`Candidates::search`], and nothing else changes.

use std::collections::{HashMap, HashSet};

use super::candidates::Candidates;
use crate::openai::{ChatRequest, MessageView, ToolChoice};

/// How many of a user's messages tell what the conversation is about, the last ones.
const USER_MESSAGES: usize = 3;

/// What each message before the last one counts, as a share of the one behind it.
const FADING: f32 = 0.5;

/// Characters of a message that are searched for. More are pasted text, not a wish.
const MESSAGE_CHARS: usize = 4_000;

/// Positions of the `room` candidates to offer, in the order of the documents; `None` where all of them fit. Those of `hidden` names
/// are not offered. `called` are tools that the conversation used before, oldest first.
pub(super) fn choose(
    candidates: &Candidates,
    request: &ChatRequest,
    called: &[String],
    hidden: &HashSet<String>,
    room: usize,
) -> Option<Vec<u32>> {
    let is_free = |position: &usize| candidates.tool(*position).is_some_and(|tool| !hidden.contains(&tool.name));
    let hidden_here = hidden.iter().filter(|name| candidates.position(name).is_some()).count();
    if candidates.len().saturating_sub(hidden_here) <= room {
        return None;
    }
    let messages = request.messages();
    let wanted = named(&request.tool_choice());
    let in_messages =
        messages.iter().rev().flat_map(|message| message.calls.iter().rev().map(|call| call.name.as_str()));
    let used = called.iter().rev().map(String::as_str).chain(in_messages);
    let by_name = wanted.iter().map(String::as_str).chain(used).filter_map(|name| candidates.position(name));
    let ranked = by_name.chain(ranked(candidates, &messages)).chain(0..candidates.len());

    let mut seen = HashSet::new();
    let mut chosen: Vec<u32> = ranked
        .filter(is_free)
        .filter(|position| seen.insert(*position))
        .take(room)
        .filter_map(|position| u32::try_from(position).ok())
        .collect();
    chosen.sort_unstable();
    Some(chosen)
}

/// The tools that the request itself asks for.
fn named(choice: &ToolChoice) -> Vec<String> {
    match choice {
        ToolChoice::Named(name) => vec![name.clone()],
        ToolChoice::Allowed { names, .. } => names.clone(),
        _ => Vec::new(),
    }
}

/// Candidates that serve what the user said last, best first.
fn ranked(candidates: &Candidates, messages: &[MessageView<'_>]) -> Vec<usize> {
    let said =
        messages.iter().rev().filter(|message| message.role == "user").filter_map(|message| message.text.as_deref());
    let mut scores: HashMap<usize, f32> = HashMap::new();
    let mut weight = 1.0;
    for text in said.take(USER_MESSAGES) {
        let end = text.char_indices().nth(MESSAGE_CHARS).map_or(text.len(), |(end, _)| end);
        for (position, score) in candidates.search(text.get(..end).unwrap_or_default()) {
            *scores.entry(position).or_default() += weight * score;
        }
        weight *= FADING;
    }
    let mut ranked: Vec<(usize, f32)> = scores.into_iter().collect();
    ranked.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    ranked.into_iter().map(|(position, _)| position).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{Owner, SchemaDialect, Tool};

    const NAMES: [&str; 6] = ["listRooms", "bookRoom", "planRoute", "getWeather", "sendInvoice", "listCountries"];

    fn candidates() -> Candidates {
        let tools = NAMES.into_iter().map(|name| {
            Arc::new(Tool {
                name: name.to_owned(),
                description: String::new(),
                parameters: Arc::new(json!({"type": "object"})),
                free_text: false,
                owner: Owner::Client,
            })
        });
        Candidates::new(tools, SchemaDialect::Openai)
    }

    fn chosen(request: &Value, called: &[&str], hidden: &[&str], room: usize) -> Option<Vec<&'static str>> {
        let request = ChatRequest::parse(Bytes::from(request.to_string())).unwrap();
        let called: Vec<String> = called.iter().map(|name| (*name).to_owned()).collect();
        let hidden = hidden.iter().map(|name| (*name).to_owned()).collect();
        let positions = choose(&candidates(), &request, &called, &hidden, room)?;
        Some(positions.into_iter().map(|position| NAMES[position as usize]).collect())
    }

    fn said(texts: &[&str]) -> Value {
        let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        json!({"messages": messages})
    }

    #[test]
    fn nothing_is_chosen_where_all_fit() {
        assert_eq!(chosen(&said(&["hi"]), &[], &[], 6), None);
        assert_eq!(chosen(&said(&["hi"]), &[], &["bookRoom"], 5), None);
        assert_eq!(chosen(&said(&["hi"]), &[], &[], 0), Some(vec![]));
    }

    #[test]
    fn what_serves_the_last_messages_goes_first_and_the_rest_fills_the_room_in_order() {
        assert_eq!(chosen(&said(&["the weather?"]), &[], &[], 1), Some(vec!["getWeather"]));
        assert_eq!(chosen(&said(&["the weather?", "send an invoice"]), &[], &[], 1), Some(vec!["sendInvoice"]));
        let expected = vec!["listRooms", "getWeather", "sendInvoice"];
        assert_eq!(chosen(&said(&["the weather?", "send an invoice"]), &[], &[], 3), Some(expected));
    }

    #[test]
    fn what_was_called_or_is_asked_for_by_name_stays() {
        assert_eq!(chosen(&said(&["the weather?"]), &["planRoute"], &[], 2), Some(vec!["planRoute", "getWeather"]));
        let mut request = said(&["the weather?"]);
        request["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "listCountries", "arguments": "{}"}}]}));
        request["tools"] = json!([]);
        request["tool_choice"] = json!({"type": "function", "function": {"name": "bookRoom"}});
        assert_eq!(chosen(&request, &[], &[], 2), Some(vec!["bookRoom", "listCountries"]));
    }

    #[test]
    fn a_hidden_name_takes_no_room() {
        assert_eq!(chosen(&said(&["the weather?"]), &["getWeather"], &["getWeather"], 1), Some(vec!["listRooms"]));
    }
}
