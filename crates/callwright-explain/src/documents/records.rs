//! Labelled values (a table row, an object) → compact text, and the codes that they define.

use super::heads::{self, MAX_CODES, PassageHead};
use super::labels::{LabelRole, only_announces_code, role};
use crate::index::codes::{CodeLikelihood, normal_form, strength};

/// Values with their labels, in document order; a label may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelledRecord {
    /// Label and value, with whitespace collapsed.
    pub(crate) fields: Vec<(String, String)>,
}

impl LabelledRecord {
    /// Creates a record from a table row and the labels of its header.
    pub(crate) fn of_row(header: &[String], cells: Vec<String>) -> Self {
        let labels = header.iter().map(String::as_str).chain(std::iter::repeat(""));
        Self { fields: labels.map(str::to_owned).zip(cells).collect() }
    }

    /// Returns the codes or names that the record defines: the value in the code column, or else the first single-word
    /// value, and values that resemble codes in other columns for codes and names.
    pub(crate) fn head(&self) -> Option<PassageHead> {
        let primary = self.primary()?;
        let (label, value) = self.fields.get(primary)?;
        let mut codes = codes_of(value);
        let is_code = matches!(role(label), LabelRole::Code(0 | 1)) && value.bytes().any(|byte| byte.is_ascii_digit());
        let mut strongest = if is_code { CodeLikelihood::Strong } else { strength_of(value) };
        for (label, value) in self.fields.iter().enumerate().filter(|(at, _)| *at != primary).map(|(_, field)| field) {
            let is_name = matches!(role(label), LabelRole::Code(0..=2) | LabelRole::Message) || label.is_empty();
            if is_name && strength_of(value) > CodeLikelihood::Name && codes.len() < MAX_CODES {
                strongest = strongest.max(strength_of(value));
                codes.extend(codes_of(value));
            }
        }
        codes.dedup();
        (!codes.is_empty()).then_some(PassageHead { codes, strength: strongest, alone: false })
    }

    /// Returns the index of the field with the code or name: by its label, by its form, or because it comes first.
    fn primary(&self) -> Option<usize> {
        let labelled = self.fields.iter().enumerate().filter(|(_, (_, value))| is_word(value));
        let labelled = labelled.filter_map(|(at, (label, value))| match role(label) {
            // A name is a code only if it resembles one or comes first.
            LabelRole::Code(2) if at > 0 && strength_of(value) == CodeLikelihood::Name => None,
            LabelRole::Code(rank) => Some((rank, at)),
            _ => None,
        });
        let by_form = || {
            let mut fields = self.fields.iter().enumerate();
            fields.find(|(_, (_, value))| is_word(value) && strength_of(value) > CodeLikelihood::Name).map(|(at, _)| at)
        };
        let by_label = labelled.min().map(|(_, at)| at);
        by_label.or_else(by_form).or_else(|| self.fields.first().filter(|(_, value)| is_word(value)).map(|_| 0))
    }

    /// Formats the record as lines. The first line contains the code and the message: `21211: Invalid number`. Labels
    /// are kept if they add information. Empty values, repetitions and links are omitted.
    pub(crate) fn lines(&self) -> Vec<String> {
        let primary = self.primary();
        let message = self.message(primary);
        let code = primary.and_then(|at| self.fields.get(at)).map(|(label, value)| code_text(label, value));
        let title = message.and_then(|at| self.fields.get(at)).map(|(_, value)| value.clone());
        let first: Vec<&str> = [code.as_ref(), title.as_ref()].into_iter().flatten().map(String::as_str).collect();
        let mut lines = if first.is_empty() { Vec::new() } else { vec![first.join(": ")] };
        for (at, (label, value)) in self.fields.iter().enumerate() {
            let is_repeated = Some(at) == primary || Some(at) == message || title.as_ref() == Some(value);
            lines.extend(line(label, value).filter(|line| !is_repeated && !lines.contains(line)));
        }
        lines
    }

    /// Returns the field that names the error in a few words.
    fn message(&self, primary: Option<usize>) -> Option<usize> {
        let of = |has_role: fn(LabelRole) -> bool| {
            let others = self.fields.iter().enumerate().filter(|(at, _)| Some(*at) != primary);
            let mut fields = others.filter(|(_, (_, value))| !is_empty(value));
            fields.find(|(_, (label, _))| has_role(role(label))).map(|(at, _)| at)
        };
        of(|role| role == LabelRole::Message)
            .or_else(|| of(|role| role == LabelRole::Code(2)))
            .or_else(|| of(|role| role == LabelRole::Description))
    }
}

/// Whether a value contains a code or a name.
fn is_word(value: &str) -> bool {
    !codes_of(value).is_empty()
}

/// Formats a value after its label; `None` if it adds no information.
pub(crate) fn line(label: &str, value: &str) -> Option<String> {
    if is_empty(value) || is_address(value) {
        return None;
    }
    match role(label) {
        LabelRole::Useless => None,
        LabelRole::Message | LabelRole::Description => Some(value.to_owned()),
        _ if label.is_empty() => Some(value.to_owned()),
        _ => Some(format!("{}: {value}", label_text(label))),
    }
}

/// Joins texts with spaces; texts that do not end like sentences are separated by semicolons.
pub(crate) fn joined(parts: &[String]) -> String {
    let mut text = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !text.is_empty() {
            text.push_str(if text.ends_with(['.', '!', '?', ':', ';', ',', '。']) { " " } else { "; " });
        }
        text.push_str(part);
    }
    text
}

/// Formats the code, with its label if that states the kind of code.
fn code_text(label: &str, value: &str) -> String {
    if label.is_empty() || only_announces_code(label) { value.to_owned() } else { format!("{label} {value}") }
}

/// Formats a label: `possible_causes` → `Possible causes`.
fn label_text(label: &str) -> String {
    let words = label.replace(['_', '-'], " ");
    let mut characters = words.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// Returns the codes of a value that is a code or a list of codes: `21211`, `` `a_b`, `c_d` ``.
fn codes_of(value: &str) -> Vec<String> {
    match normal_form(without_remark(value)) {
        Some(code) => vec![code],
        None => heads::sentence_head(value).map(|head| head.codes).filter(|codes| codes.len() > 1).unwrap_or_default(),
    }
}

/// Strips a trailing remark in brackets: `404 (NOT FOUND)`.
fn without_remark(value: &str) -> &str {
    value.strip_suffix(')').and_then(|value| value.split_once(" (")).map_or(value, |(value, _)| value)
}

fn strength_of(value: &str) -> CodeLikelihood {
    let value = without_remark(value);
    match normal_form(value) {
        Some(_) if value.starts_with('`') => strength(value).max(CodeLikelihood::Weak),
        Some(_) => strength(value),
        None => heads::sentence_head(value)
            .filter(|head| head.codes.len() > 1)
            .map_or(CodeLikelihood::Name, |head| head.strength),
    }
}

/// Whether the value is empty, or a word or dash that means so.
fn is_empty(value: &str) -> bool {
    let core = value.trim_matches(|character: char| !character.is_alphanumeric());
    core.is_empty() || matches!(core.to_ascii_lowercase().as_str(), "null" | "n/a" | "none" | "tbd" | "undefined")
}

/// Whether the value is only a URL or path.
pub(crate) fn is_address(value: &str) -> bool {
    let value = value.trim_matches(['<', '>', '`', '"', '(', ')', '.']);
    !value.contains(char::is_whitespace)
        && (value.contains("://") || value.starts_with("www.") || value.starts_with('/'))
        && value.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(fields: &[(&str, &str)]) -> LabelledRecord {
        let fields = fields.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
        LabelledRecord { fields }
    }

    #[test]
    fn a_record_begins_with_its_code_and_omits_useless_values() {
        let record = record(&[
            ("log_level", "ERROR"),
            ("message", "Invalid number"),
            ("docs", "https://docs.example/errors/7101"),
            ("code", "7101"),
            ("description", "The number cannot be called."),
            ("possible_causes", "It is a landline."),
            ("product", ""),
            ("secondary_message", "Invalid number"),
            ("HTTP status", "400"),
        ]);
        assert_eq!(
            record.lines(),
            [
                "7101: Invalid number", "The number cannot be called.", "Possible causes: It is a landline.",
                "HTTP status: 400"
            ]
        );
        assert_eq!(
            record.head(),
            Some(PassageHead { codes: vec!["7101".into()], strength: CodeLikelihood::Strong, alone: false })
        );
    }

    #[test]
    fn the_code_is_found_by_label_by_form_or_by_position() {
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
        let cases: [Case<'_>; 8] = [
            (&[("Name", "Dispatch"), ("Code", "0")], &["0"]),
            (&[("", "Not sent"), ("", "E_SEND"), ("", "400")], &["e_send", "400"]),
            (&[("info_code", "20000"), ("info", "INVALID_PARAMS"), ("Meaning", "two words")], &["20000"]),
            (
                &[("error", "INVALID_PARAMS"), ("code", "17"), ("type", "card_error")],
                &["17", "invalid_params", "card_error"],
            ),
            (&[("Parameter", "origin"), ("Type", "string"), ("Required", "yes")], &["origin"]),
            (&[("Code", "`a_b`, `c_d`"), ("Meaning", "both")], &["a_b", "c_d"]),
            (&[("Status", "404"), ("Meaning", "No such room.")], &["404"]),
            (&[("Meaning", "two words"), ("More", "and more")], &[]),
        ];
        for (fields, expected) in cases {
            let codes = record(fields).head().map(|head| head.codes).unwrap_or_default();
            assert_eq!(codes, expected, "{fields:?}");
        }
    }

    #[test]
    fn a_code_keeps_the_label_that_states_its_kind() {
        assert_eq!(record(&[("info_code", "7"), ("Meaning", "No way.")]).lines(), ["info_code 7: No way."]);
        assert_eq!(
            record(&[("Code", "7"), ("Name", "Resume"), ("Client action", "Send")]).lines(),
            ["7: Resume", "Client action: Send"]
        );
    }
}
