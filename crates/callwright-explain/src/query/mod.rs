//! Failed outcome → query against the documentation.

pub(crate) mod envelope;
mod member_names;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::failures::body_words::{is_absent, reason_of};
use crate::index::codes::{
    LEAST_CODE_DIGITS, MAX_CODE_BYTES, derived, fragment_of_link, is_code_like, is_integer, last_of_link, normal_form,
    words,
};
use crate::word_list::WordList;
use callwright_common::json::scalar_text;
use callwright_common::limits::{EXAMINED_VALUES, SEARCHED_DEPTH};
use callwright_common::text::{beginning, letters};
use callwright_search::retrieval::is_stop_word;
use callwright_types::Outcome;
use envelope::{BodyMember, Envelope};
use member_names::{Meaning, meaning};

/// Maximum number of codes, of parameters and of learned members that are taken from a body; one with more is a list of
/// something else.
const MAX_FOUND: usize = 100;

/// Query derived from a failed outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailureQuery {
    /// Distinct codes, each with its highest rank.
    pub(crate) codes: Vec<CandidateCode>,
    /// Parameters that the body names, in normal form.
    pub(crate) names: Vec<String>,
    /// Words of the body's messages. Filler words are used only if there are no others.
    pub(crate) words: String,
    /// Each message of the body, the first ones.
    pub(crate) messages: Vec<String>,
    /// Whether the messages consist of words that occur in any failure.
    pub(crate) is_vague: bool,
    /// HTTP status, if it indicates a failure.
    pub(crate) status: Option<u16>,
    /// Whether the body is empty or only repeats the status.
    pub(crate) repeats_status: bool,
}

impl FailureQuery {
    /// Returns the text for the embedder: the unchanged messages, or else the words.
    pub(crate) fn message_text(&self) -> String {
        if self.messages.is_empty() { self.words.clone() } else { self.messages.join(" ") }
    }
}

/// Possible code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CandidateCode {
    /// Code in normal form.
    pub(crate) name: String,
    /// Evidence that it is a code.
    pub(crate) evidence: CodeEvidence,
    /// Whether the name of its member is that of a code.
    pub(crate) is_named: bool,
}

/// Evidence that a text is a code, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CodeEvidence {
    /// Number in a message.
    Number,
    /// Word in a message that resembles a code. Names are similar (`OAuth2`).
    Word,
    /// Part of a value in the place of a code (`4711` of `ERR-4711`), or the end of a link.
    Derived,
    /// Value in the place of a code.
    Member,
}

/// Builds the query. Argument values that the body repeats come from the model and explain nothing, so they are
/// ignored. Constant members of the API's envelope count only if the body has nothing else.
pub(crate) fn query(outcome: &Outcome, arguments: &Map<String, Value>, envelope: &Envelope) -> FailureQuery {
    let Outcome::Answered(answer) = outcome else { return FailureQuery::default() };
    let mut reader = FailureQueryReader::new(answer.status, arguments, Some(envelope));
    reader.body(&answer.body);
    if reader.skips_all() {
        reader = FailureQueryReader::new(answer.status, arguments, None);
        reader.body(&answer.body);
    }
    reader.finish()
}

/// Builds the query for a `tool` message, whose status is unknown.
pub(crate) fn query_of_message(message: &str, arguments: &Map<String, Value>) -> FailureQuery {
    // The status of a success adds nothing to the search.
    let mut reader = FailureQueryReader::new(200, arguments, None);
    reader.body(message.as_bytes());
    reader.finish()
}

/// Maximum number of messages that are compared with the documentation.
const MAX_MESSAGES: usize = 8;

struct FailureQueryReader<'a> {
    query: FailureQuery,
    /// Words that occur in any failure.
    filler: String,
    status: String,
    /// Names of the call's parameters, in normal form.
    parameters: HashSet<String>,
    echoes: HashSet<String>,
    values_left: usize,
    /// Constant members of the API, which are skipped.
    envelope: Option<&'a Envelope>,
    /// Path of the member that is read.
    path: String,
    skipped: bool,
    /// Remaining number of characters of text, including filler words.
    chars_left: usize,
}

impl<'a> FailureQueryReader<'a> {
    fn new(status: u16, arguments: &Map<String, Value>, envelope: Option<&'a Envelope>) -> Self {
        Self {
            query: FailureQuery { status: (status >= 400).then_some(status), ..FailureQuery::default() },
            filler: String::new(),
            status: status.to_string(),
            parameters: arguments.keys().filter_map(|name| normal_form(name)).collect(),
            echoes: arguments.values().filter_map(scalar_text).filter_map(|value| normal_form(&value)).collect(),
            values_left: EXAMINED_VALUES,
            envelope,
            path: String::new(),
            skipped: false,
            chars_left: EXAMINED_VALUES,
        }
    }

    fn body(&mut self, body: &[u8]) {
        match serde_json::from_slice::<Value>(body) {
            Ok(body) => self.read("", &body, 0),
            // A UTF-8 character has at most four bytes.
            Err(_) => self.text(&String::from_utf8_lossy(body.get(..4 * EXAMINED_VALUES).unwrap_or(body))),
        }
    }

    fn read(&mut self, name: &str, value: &Value, depth: usize) {
        if depth > SEARCHED_DEPTH || self.values_left == 0 {
            return;
        }
        self.values_left -= 1;
        self.name(name);
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let outer = self.path.len();
                    self.path.push('/');
                    self.path.push_str(name);
                    self.read(name, value, depth + 1);
                    self.path.truncate(outer);
                }
            }
            Value::Array(elements) => elements.iter().for_each(|value| self.read(name, value, depth + 1)),
            scalar if self.is_constant(scalar) => self.skipped = true,
            Value::String(text) => self.string(name, text, depth),
            Value::Number(number) => self.number(name, number),
            _ => {}
        }
    }

    fn is_constant(&self, value: &Value) -> bool {
        let Some(envelope) = self.envelope else { return false };
        scalar_text(value).is_some_and(|value| envelope.is_constant(&BodyMember { path: self.path.clone(), value }))
    }

    /// Whether constant members are all that the body has.
    fn skips_all(&self) -> bool {
        self.skipped && self.query.codes.is_empty() && self.query.messages.is_empty() && self.query.names.is_empty()
    }

    fn number(&mut self, name: &str, number: &serde_json::Number) {
        match meaning(name) {
            Meaning::Code => self.code(&number.to_string(), CodeEvidence::Member, true),
            Meaning::Kind => self.code(&number.to_string(), CodeEvidence::Member, false),
            Meaning::Status => {
                let status = number.as_u64().and_then(|status| u16::try_from(status).ok());
                let status = status.filter(|status| (400..600).contains(status));
                self.query.status = self.query.status.or(status);
                // A number that is no HTTP status is a code of the API.
                if status.is_none() {
                    self.code(&number.to_string(), CodeEvidence::Member, true);
                }
            }
            _ => {}
        }
    }

    fn string(&mut self, name: &str, text: &str, depth: usize) {
        if let Some(inner) = inner_json(text) {
            return self.read(name, &inner, depth + 1);
        }
        let meaning = meaning(name);
        match meaning {
            Meaning::Noise => return,
            // A type that is the address of a page names the error in its last part.
            Meaning::Kind if text.contains("://") => {
                self.link(text);
                let part = fragment_of_link(text).or_else(|| last_of_link(text)).unwrap_or_default();
                return self.code(part, CodeEvidence::Derived, true);
            }
            Meaning::Link => return self.link(text),
            Meaning::Parameter => self.parameter(text),
            _ => {}
        }
        let one_word = !text.trim().contains(char::is_whitespace);
        let is_code = one_word && (is_code_like(text) || text.contains("://"));
        match meaning {
            Meaning::Code | Meaning::Status => self.code(text, CodeEvidence::Member, true),
            Meaning::Kind => self.code(text, CodeEvidence::Member, false),
            _ if is_code => self.code(text, CodeEvidence::Member, false),
            _ => return self.text(text),
        }
        self.derived(text);
        if !is_code {
            return self.text(text);
        }
        // A code may name parameters: `/items/0/price`.
        words(text).for_each(|word| self.name(word));
        self.link(text);
    }

    /// Adds the codes that another may contain.
    fn derived(&mut self, code: &str) {
        derived(code).into_iter().for_each(|part| self.code(part, CodeEvidence::Derived, false));
    }

    /// Reads a message, or a code in the place of one.
    fn text(&mut self, text: &str) {
        if self.repeats_code(text) {
            self.query.messages.push(text.to_owned());
            self.filler.push_str(text);
            return;
        }
        let text = beginning(text, self.chars_left);
        // One more for the separator.
        self.chars_left = self.chars_left.saturating_sub(text.chars().count() + 1);
        text.split_whitespace().filter(|word| word.contains("://")).for_each(|link| self.link(link));
        if !text.trim().is_empty() && self.query.messages.len() < MAX_MESSAGES {
            self.query.messages.push(text.to_owned());
        }
        let mut before = "";
        for (at, word) in words(text).enumerate() {
            self.name(word);
            self.query.repeats_status |= self.query.status.is_some() && *word == self.status;
            self.word_as_code(word, before, at == 0);
            if is_search_word(word) && !self.is_echo(word) {
                let words = if is_filler(word) { &mut self.filler } else { &mut self.query.words };
                words.push_str(word);
                words.push(' ');
            }
            before = word;
        }
    }

    /// Whether a message only spells out a code of the body: `Depot closed` beside `depot_closed`.
    fn repeats_code(&self, text: &str) -> bool {
        if text.len() > MAX_CODE_BYTES || !text.contains(' ') {
            return false;
        }
        let message = letters(text);
        self.query.codes.iter().any(|code| letters(&code.name) == message)
    }

    fn word_as_code(&mut self, word: &str, before: &str, first: bool) {
        if self.is_echo(word) {
            return;
        }
        let is_number = is_integer(word);
        if announces_code(before) && (is_number || is_code_like(word)) {
            self.code(word, CodeEvidence::Member, true);
            // Numbers inside other identifiers are no codes.
            if !is_number {
                self.derived(word);
            }
            return;
        }
        let is_long = word.bytes().filter(u8::is_ascii_digit).count() >= LEAST_CODE_DIGITS;
        match is_number {
            // Case `4711: the widget is gone`.
            true if first && is_long => self.code(word, CodeEvidence::Derived, false),
            true if is_long => self.code(word, CodeEvidence::Number, false),
            false if is_code_like(word) => self.code(word, CodeEvidence::Word, false),
            _ => {}
        }
    }

    fn link(&mut self, link: &str) {
        for part in [fragment_of_link(link), last_of_link(link)].into_iter().flatten() {
            self.code(part, CodeEvidence::Derived, false);
        }
    }

    /// Adds a code, unless it means "no error" (zero), repeats the status, or repeats an argument. `is_named`: the name
    /// of its member is that of a code.
    fn code(&mut self, text: &str, evidence: CodeEvidence, is_named: bool) {
        let Some(name) = normal_form(text) else { return };
        if is_absent(&name) || name == self.status || self.echoes.contains(&name) {
            return;
        }
        let codes = &mut self.query.codes;
        if let Some(existing) = codes.iter_mut().find(|code| code.name == name) {
            existing.evidence = existing.evidence.max(evidence);
            existing.is_named |= is_named;
        } else if codes.len() < MAX_FOUND {
            codes.push(CandidateCode { name, evidence, is_named });
        }
    }

    /// Adds a parameter of the call that the body names.
    fn name(&mut self, word: &str) {
        let Some(word) = normal_form(word) else { return };
        let last = word.rsplit(['.', '/']).next().unwrap_or_default();
        if self.parameters.contains(&word) || self.parameters.contains(last) {
            self.push_name(last.to_owned());
        }
    }

    /// Adds the parameter that the body itself refers to: `body.start_date`, `/items/0/price`.
    fn parameter(&mut self, text: &str) {
        let last = text.rsplit(['.', '/']).find(|part| part.chars().any(char::is_alphabetic));
        if let Some(name) = last.and_then(normal_form) {
            self.push_name(name);
        }
    }

    fn push_name(&mut self, name: String) {
        if self.query.names.len() < MAX_FOUND && !self.query.names.contains(&name) {
            self.query.names.push(name);
        }
    }

    fn is_echo(&self, word: &str) -> bool {
        normal_form(word).is_some_and(|word| self.echoes.contains(&word))
    }

    fn finish(mut self) -> FailureQuery {
        if self.query.words.is_empty() {
            self.query.is_vague = !self.filler.is_empty();
            self.query.words = self.filler;
        }
        let has_codes = self.query.codes.iter().any(|code| code.evidence >= CodeEvidence::Derived);
        if self.query.words.is_empty() && !has_codes {
            self.query.repeats_status = self.query.status.is_some();
            self.query.is_vague = self.query.status.is_some();
            self.query.words = self.query.status.and_then(reason_of).unwrap_or_default().to_owned();
        }
        self.query
    }
}

/// Parses the JSON in a string, such as another API's response that an error quotes.
fn inner_json(text: &str) -> Option<Value> {
    let text = text.trim();
    let is_json_like = text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']');
    is_json_like.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Whether a code follows this word: "error 20000", "code: 17".
fn announces_code(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "code" | "error" | "errno" | "err" | "errorcode" | "error_code" | "no" | "status"
    )
}

/// Whether a word occurs in any failure and therefore does not distinguish one.
fn is_filler(word: &str) -> bool {
    // Also matches the closing tag of an element.
    FILLER.contains(&word.trim_matches(|mark: char| !mark.is_alphanumeric()).to_ascii_lowercase())
}

const FILLER: WordList = WordList(
    "error errors bad request requests failed fails fail failure failures exception api api_error http status \
     code message response please went wrong something unexpected unknown occurred occurs condition generic \
     general possible impossible complete completed operation contact support time try again later internal \
     problem issue issues reference work oops sorry happened encountered process processed processing perform \
     performed execute executed could cannot unable has have had did does not that this been while your you \
     because moment",
);

/// Whether a word is useful for the search: no stop word, no id, and no number, which is matched as a code.
fn is_search_word(word: &str) -> bool {
    let number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    !number && !is_id(word) && !is_stop_word(&word.to_lowercase())
}

/// Whether a word is the id of a request, record or trace: letters and digits mixed.
fn is_id(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits >= LEAST_CODE_DIGITS && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use callwright_types::outcome::ApiAnswer;

    fn query_of(status: u16, body: &str, arguments: Value) -> FailureQuery {
        let answer = ApiAnswer::new(status, body.to_owned());
        query(&Outcome::Answered(answer), arguments.as_object().unwrap(), &Envelope::default())
    }

    fn codes(query: &FailureQuery) -> Vec<(&str, CodeEvidence)> {
        query.codes.iter().map(|code| (code.name.as_str(), code.evidence)).collect()
    }

    #[test]
    fn codes_are_extracted_from_prefixes_links_and_markup() {
        let cases = [
            (r#"{"errorCode":"ERR-4711"}"#, vec![("err-4711", CodeEvidence::Member), ("4711", CodeEvidence::Derived)]),
            (
                r#"{"code":7,"more_info":"https://docs.example.com/errors/4711?x=1"}"#,
                vec![("7", CodeEvidence::Member), ("4711", CodeEvidence::Derived)],
            ),
            (r#"{"message":"{\"code\":4711}"}"#, vec![("4711", CodeEvidence::Member)]),
            (
                "<Error><Code>NoSuchKey</Code><RequestId>1a2b3c</RequestId></Error>",
                vec![
                    ("nosuchkey", CodeEvidence::Member),
                    ("requestid", CodeEvidence::Word),
                    ("1a2b3c", CodeEvidence::Word),
                ],
            ),
            ("4711: gone, at 5000 of 9", vec![("4711", CodeEvidence::Derived), ("5000", CodeEvidence::Number)]),
        ];
        for (body, expected) in cases {
            let found = query_of(400, body, json!({}));
            let known: Vec<_> = codes(&found).into_iter().filter(|code| expected.contains(code)).collect();
            assert_eq!(known, expected, "{body}: {found:?}");
        }
    }

    #[test]
    fn ids_and_times_are_not_searched_for() {
        let body = r#"{"message":"Order a1b2c3d4 is gone","request_id":"lost","timestamp":"Monday"}"#;
        assert_eq!(query_of(404, body, json!({})).words, "Order gone ");
    }

    #[test]
    fn the_status_in_a_body_counts_if_the_http_status_is_no_failure() {
        assert_eq!(query_of(200, r#"{"status":422,"message":"x"}"#, json!({})).status, Some(422));
        assert_eq!(query_of(400, r#"{"status":422,"message":"x"}"#, json!({})).status, Some(400));
    }

    #[test]
    fn codes_are_taken_from_code_members_and_from_messages() {
        let body =
            r#"{"info_code":"20000","error":{"type":"invalid_request","message":"See E_FIELDS, error 4711 at 30 km"}}"#;
        let found = query_of(200, body, json!({}));
        let expected = [
            ("20000", CodeEvidence::Member),
            ("invalid_request", CodeEvidence::Member),
            ("e_fields", CodeEvidence::Word),
        ];
        assert_eq!(codes(&found), [&expected[..], &[("4711", CodeEvidence::Member)]].concat());
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
        assert_eq!(codes(&found), [("econnreset", CodeEvidence::Word)]);
    }

    #[test]
    fn an_empty_body_is_searched_for_by_the_reason_phrase() {
        assert_eq!(query_of(409, "", json!({})).words, "Conflict");
        assert_eq!(query_of(204, "", json!({})), FailureQuery::default());
    }

    #[test]
    fn deep_and_wide_bodies_are_bounded() {
        let wide = format!("[{}]", vec![r#"{"code":"A_1","message":"x y z"}"#; 10_000].join(","));
        assert!(query_of(400, &wide, json!({})).words.len() <= EXAMINED_VALUES + 10);
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert!(query_of(400, &deep, json!({})).codes.is_empty());
    }
}
