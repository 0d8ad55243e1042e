//! A failed outcome → what is looked for in the documentation.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::body_words::{is_absent, is_code_name};
use super::codes::{looks_like_code, normal_form, words};
use crate::domain::Outcome;
use crate::domain::json::scalar_text;
use crate::retrieval::is_stop_word;

/// Characters of a body's text that are searched with; an error that says more says nothing more.
const MAX_TEXT_CHARS: usize = 2_000;

/// Members and elements of a body that are looked at.
const MAX_VALUES: usize = 2_000;

/// Levels of a body that are looked at.
const MAX_DEPTH: usize = 12;

/// What a failed outcome gives to search with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// Codes of the body, in normal form: what stands where codes stand.
    pub(super) codes: Vec<String>,
    /// Words of the body's messages that look like codes, in normal form. Names of things look so too (`OAuth2`).
    pub(super) identifiers: Vec<String>,
    /// Parameters that the body names, in normal form.
    pub(super) names: Vec<String>,
    /// Words of the body's messages.
    pub(super) words: String,
    /// The HTTP status, where it says that the request failed.
    pub(super) status: Option<u16>,
}

/// Makes the query. The values of the arguments are the model's own: where the body repeats them, they explain nothing.
pub(super) fn query(outcome: &Outcome, arguments: &Map<String, Value>) -> Query {
    let Outcome::Answered(answer) = outcome else { return Query::default() };
    let mut reading = Reading::new(answer.status, arguments);
    reading.body(&answer.body);
    reading.finish()
}

/// Makes the query for what a `tool` message says, whose status nobody knows.
pub(super) fn query_of_message(message: &str, arguments: &Map<String, Value>) -> Query {
    let mut reading = Reading::new(UNTOLD_STATUS, arguments);
    reading.body(message.as_bytes());
    reading.finish()
}

/// A status that says nothing of a failure.
const UNTOLD_STATUS: u16 = 200;

struct Reading<'a> {
    query: Query,
    status: u16,
    parameters: Vec<(&'a str, String)>,
    echoes: HashSet<String>,
    values_left: usize,
}

impl<'a> Reading<'a> {
    fn new(status: u16, arguments: &'a Map<String, Value>) -> Self {
        let parameters = arguments.keys().filter_map(|name| Some((name.as_str(), normal_form(name)?))).collect();
        let echoes = arguments.values().filter_map(scalar_text).filter_map(|value| normal_form(&value)).collect();
        let query = Query { status: (status >= 400).then_some(status), ..Query::default() };
        Self { query, status, parameters, echoes, values_left: MAX_VALUES }
    }

    fn body(&mut self, body: &[u8]) {
        match serde_json::from_slice::<Value>(body) {
            Ok(body) => self.read("", &body, 0),
            // A character has four bytes at most.
            Err(_) => self.text(&String::from_utf8_lossy(body.get(..4 * MAX_TEXT_CHARS).unwrap_or(body))),
        }
    }

    fn read(&mut self, name: &str, value: &Value, depth: usize) {
        if depth > MAX_DEPTH || self.values_left == 0 {
            return;
        }
        self.values_left -= 1;
        self.name(name);
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| self.read(name, value, depth + 1)),
            Value::Array(elements) => elements.iter().for_each(|value| self.read(name, value, depth + 1)),
            Value::String(text) => self.string(name, text),
            Value::Number(number) if is_code_name(name) || is_code_like_name(name) => self.code(&number.to_string()),
            _ => {}
        }
    }

    fn string(&mut self, name: &str, text: &str) {
        let whole = is_code_name(name) || is_code_like_name(name);
        if whole || !text.contains(char::is_whitespace) && looks_like_code(text) {
            self.code(text);
        }
        if is_parameter_member(name) {
            self.parameter(text);
        }
        self.text(text);
    }

    /// A message, or a code in the place of one.
    fn text(&mut self, text: &str) {
        let room = MAX_TEXT_CHARS.saturating_sub(self.query.words.len());
        let text: String = text.chars().take(room).collect();
        let mut before = "";
        for word in words(&text) {
            self.name(word);
            let numeric = word.bytes().all(|byte| byte.is_ascii_digit());
            if numeric && announces_code(before) {
                self.code(word);
            } else if !numeric && looks_like_code(word) {
                self.identifier(word);
            }
            if !is_stop_word(&word.to_lowercase()) && !self.is_echo(word) {
                self.query.words.push_str(word);
                self.query.words.push(' ');
            }
            before = word;
        }
    }

    fn code(&mut self, text: &str) {
        if let Some(code) = self.telling_code(text).filter(|code| !self.query.codes.contains(code)) {
            self.query.codes.push(code);
        }
    }

    fn identifier(&mut self, text: &str) {
        if let Some(code) = self.telling_code(text).filter(|code| !self.query.identifiers.contains(code)) {
            self.query.identifiers.push(code);
        }
    }

    /// A code in normal form, unless it only says that there is none (zero, the status said again) or repeats an argument.
    fn telling_code(&self, text: &str) -> Option<String> {
        let code = normal_form(text)?;
        let says_nothing = is_absent(&code) || code == self.status.to_string() || self.echoes.contains(&code);
        (!says_nothing).then_some(code)
    }

    /// Notes a parameter of the call that the body names.
    fn name(&mut self, word: &str) {
        let Some(word) = normal_form(word) else { return };
        let last = word.rsplit(['.', '/']).next().unwrap_or_default();
        if self.parameters.iter().any(|(_, parameter)| parameter == &word || parameter == last) {
            self.push_name(last.to_owned());
        }
    }

    /// Notes what the body itself calls a parameter: `body.start_date`, `/items/0/price`.
    fn parameter(&mut self, text: &str) {
        let last = text.rsplit(['.', '/']).find(|part| part.chars().any(char::is_alphabetic));
        if let Some(name) = last.and_then(normal_form) {
            self.push_name(name);
        }
    }

    fn push_name(&mut self, name: String) {
        if !self.query.names.contains(&name) {
            self.query.names.push(name);
        }
    }

    fn is_echo(&self, word: &str) -> bool {
        normal_form(word).is_some_and(|word| self.echoes.contains(&word))
    }

    fn finish(mut self) -> Query {
        if self.query.words.is_empty() {
            let reason = http::StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
            self.query.words = self.query.status.and(reason).unwrap_or_default().to_owned();
        }
        self.query
    }
}

/// Members whose value, if it is one word, names the kind of the error.
fn is_code_like_name(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "error" | "type" | "reason" | "error_type" | "errortype" | "kind" | "info"
    )
}

/// Members whose value names a parameter.
fn is_parameter_member(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "param"
            | "parameter"
            | "field"
            | "property"
            | "loc"
            | "location"
            | "path"
            | "pointer"
            | "argument"
            | "attribute"
            | "source"
    )
}

/// Words behind which a number is a code: "error 20000", "code: 17".
fn announces_code(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "code" | "error" | "errno" | "err" | "errorcode" | "error_code" | "no")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::outcome::ApiAnswer;

    fn query_of(status: u16, body: &str, arguments: Value) -> Query {
        let answer = ApiAnswer {
            status,
            headers: Vec::new(),
            body: body.to_owned().into(),
            truncated: false,
            paging: Default::default(),
        };
        query(&Outcome::Answered(answer), arguments.as_object().unwrap())
    }

    #[test]
    fn codes_are_taken_from_code_members_and_from_messages() {
        let body =
            r#"{"info_code":"20000","error":{"type":"invalid_request","message":"See E_FIELDS, error 4711 at 30 km"}}"#;
        let found = query_of(200, body, json!({}));
        assert_eq!(found.codes, ["20000", "invalid_request", "4711"]);
        assert_eq!(found.identifiers, ["invalid_request", "e_fields"]);
    }

    #[test]
    fn zero_and_the_status_repeated_in_the_body_are_no_codes() {
        let found = query_of(404, r#"{"code":404,"message":"gone"}"#, json!({}));
        assert_eq!((found.codes.len(), found.status), (0, Some(404)));
        assert!(query_of(404, r#"{"code":0,"error":"none"}"#, json!({})).codes.is_empty());
    }

    #[test]
    fn parameters_are_found_by_name_in_members_messages_and_paths() {
        let arguments = json!({"origin": "1,2", "mode": "fly", "start_date": "x", "q": 1});
        let body =
            r#"{"errors":[{"loc":["query","origin"],"msg":"bad"}],"detail":"start_date is late","path":"/body/price"}"#;
        assert_eq!(query_of(422, body, arguments).names, ["query", "origin", "start_date", "price"]);
    }

    #[test]
    fn repeated_argument_values_and_stop_words_are_not_searched_for() {
        let found = query_of(400, r#"{"message":"The city AB_12 is not known to Atlantis"}"#, json!({"city": "AB_12"}));
        assert_eq!((found.words.as_str(), found.codes.len()), ("city known Atlantis ", 0));
    }

    #[test]
    fn text_that_is_no_json_is_read_as_text() {
        let found = query_of(500, "Upstream said ECONNRESET", json!({}));
        assert_eq!(found.identifiers, ["econnreset"]);
    }

    #[test]
    fn an_empty_body_is_searched_for_by_what_the_status_says() {
        assert_eq!(query_of(409, "", json!({})).words, "Conflict");
        assert_eq!(query_of(204, "", json!({})), Query::default());
    }

    #[test]
    fn deep_and_wide_bodies_are_bounded() {
        let wide = format!("[{}]", vec![r#"{"code":"A_1","message":"x y z"}"#; 10_000].join(","));
        assert!(query_of(400, &wide, json!({})).words.len() <= MAX_TEXT_CHARS + 10);
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert!(query_of(400, &deep, json!({})).codes.is_empty());
    }
}
