//! Lists of assignments in plain text → records: message catalogues (`error.7101.message = ...`) and enumerations or
//! constants with comments (`NOT_FOUND = 5; // ...`).

use super::tables::{CODE_LABEL, MAX_COLUMNS};
use crate::documents::blocks::{BlockKind, DocumentBlock, FLOW, LEAST_SERIES};
use crate::documents::records::{LabelledRecord, joined};
use crate::index::codes::{CodeLikelihood, is_integer, strength};
use callwright_common::text::{is_digits, one_line};

/// Marks of comments at the beginning of a line.
const COMMENTS: [&str; 8] = ["///", "//!", "//", "/**", "/*", "*/", "#", "*"];

/// Parses a text of which at least half of the lines with content are assignments.
pub(crate) fn assignments(text: &str) -> Option<Vec<DocumentBlock>> {
    let mut list = AssignmentList::default();
    let (mut assigned, mut other) = (0, 0);
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() {
            list.comments.clear();
        } else if let Some(assignment) = assignment(line) {
            assigned += 1;
            list.add(&assignment);
        } else if let Some(comment) = comment(line) {
            list.comments.push(comment.to_owned());
        } else {
            let is_frame = line.ends_with(['{', ';', '(', ',']) || line.starts_with(['}', ')', '@', '[']);
            other += usize::from(!is_frame);
            list.comments.clear();
        }
    }
    list.finish();
    (assigned >= LEAST_SERIES && assigned >= other && 2 * list.coded >= assigned).then_some(list.blocks)
}

struct Assignment<'a> {
    name: &'a str,
    value: &'a str,
    comment: &'a str,
}

fn assignment(line: &str) -> Option<Assignment<'_>> {
    if let Some(defined) = line.strip_prefix("#define ") {
        let (name, rest) = defined.trim().split_once(' ')?;
        let (value, comment) = value_and_comment(rest);
        return Some(Assignment { name, value, comment });
    }
    if comment(line).is_some() {
        return None;
    }
    let at = line.find(['=', ':'])?;
    let (left, rest) = line.split_at(at);
    let rest = rest.trim_start_matches([':', '=', '>']);
    let left = left.trim();
    // Declarations may name a type before the constant.
    let name = left.rsplit([' ', '\t']).next().unwrap_or(left).trim_matches(['"', '\'']);
    let is_plain = left == name || line.ends_with([';', ',']);
    let fits = is_plain && name.chars().any(char::is_alphanumeric) && name.chars().all(belongs_to_name);
    let (value, comment) = value_and_comment(rest);
    (fits && !value.is_empty()).then_some(Assignment { name, value, comment })
}

fn belongs_to_name(mark: char) -> bool {
    mark.is_alphanumeric() || matches!(mark, '_' | '.' | '-' | '$' | '[' | ']' | '/')
}

/// Splits a comment off the value.
fn value_and_comment(text: &str) -> (&str, &str) {
    let text = text.trim();
    let comment = ["//", "/*", "#"].iter().filter_map(|mark| text.find(&format!(" {mark}"))).min();
    let (value, comment) = comment.map_or((text, ""), |at| text.split_at(at));
    let comment = comment.trim().trim_start_matches(['/', '*', '#', '!', '<']).trim_end_matches(['/', '*']);
    let value = value.trim().trim_end_matches([';', ',']).trim().trim_matches(['"', '\'']);
    (value, comment.trim())
}

fn comment(line: &str) -> Option<&str> {
    let mark = COMMENTS.iter().find(|mark| line.starts_with(**mark))?;
    let text = line.strip_prefix(mark)?.trim_end_matches('/').trim_end_matches('*').trim();
    Some(text)
}

#[derive(Default)]
struct AssignmentList {
    comments: Vec<String>,
    /// Code of the open record.
    code: String,
    fields: Vec<(String, String)>,
    /// Number of assignments whose name resembles a code, unlike the label of a line.
    coded: usize,
    blocks: Vec<DocumentBlock>,
}

impl AssignmentList {
    fn add(&mut self, Assignment { name, value, comment }: &Assignment<'_>) {
        self.coded += usize::from(strength(name) > CodeLikelihood::Name || is_integer(name) || is_scalar(value));
        let mut comments = std::mem::take(&mut self.comments);
        if !comment.is_empty() {
            comments.push((*comment).to_owned());
        }
        let described = one_line(&joined_lines(&comments));
        if is_scalar(value) {
            self.finish();
            // The constant's name and value denote the same error.
            self.fields = vec![
                ("name".to_owned(), (*name).to_owned()),
                (CODE_LABEL.to_owned(), (*value).to_owned()),
                ("description".to_owned(), described),
            ];
            return self.finish();
        }
        let (code, label) = split_key(name);
        if code != self.code || self.fields.len() >= MAX_COLUMNS {
            self.finish();
            self.code = code.to_owned();
            self.fields.push((CODE_LABEL.to_owned(), code.to_owned()));
        }
        let label = if label.is_empty() { "description" } else { label };
        self.fields.push((label.to_owned(), one_line(value)));
    }

    fn finish(&mut self) {
        self.code.clear();
        let fields: Vec<_> =
            std::mem::take(&mut self.fields).into_iter().filter(|(_, text)| !text.is_empty()).collect();
        if fields.len() > 1 {
            let kind = BlockKind::Row(LabelledRecord { fields });
            self.blocks.push(DocumentBlock { depth: FLOW, kind });
        }
    }
}

/// Joins the lines of a comment; lines that end a sentence are kept apart.
fn joined_lines(lines: &[String]) -> String {
    let filled: Vec<String> = lines.iter().filter(|line| !line.is_empty()).cloned().collect();
    if filled.iter().any(|line| line.ends_with('.')) { filled.join(" ") } else { joined(&filled) }
}

/// Whether a value is a number or an identifier.
fn is_scalar(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let number =
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'_'));
    number && digits.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
        || !value.contains(char::is_whitespace) && strength(value) > CodeLikelihood::Name
}

/// Splits a key into the code and the label behind it: `errors.7101.cause` → `7101`, `cause`.
fn split_key(key: &str) -> (&str, &str) {
    let key = key.trim_matches(['[', ']']);
    let mut best: Option<(CodeLikelihood, &str, usize)> = None;
    let mut end = 0;
    for part in key.split(['.', '[', ']', '/']) {
        end += part.len() + 1;
        let number = is_digits(part);
        let likely = if number { CodeLikelihood::Strong } else { strength(part) };
        if likely > CodeLikelihood::Name && best.is_none_or(|(most, ..)| likely > most) {
            best = Some((likely, part, end));
        }
    }
    match best {
        Some((_, part, end)) => (part, key.get(end..).unwrap_or_default()),
        None => (key, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Vec<String>> {
        let blocks = assignments(text).unwrap_or_default();
        blocks
            .into_iter()
            .filter_map(|block| match block.kind {
                BlockKind::Row(record) => Some(record.lines()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn message_catalogues_are_grouped_by_code() {
        let text = "# all\nerror.7101.message=Door jammed\nerror.7101.cause = Ice in the hinge\nerror.7102.message=Too heavy\n";
        let found = lines(text);
        assert_eq!(found[0], ["7101: Door jammed", "Cause: Ice in the hinge"]);
        assert_eq!(found[1], ["7102: Too heavy"]);
    }

    #[test]
    fn enumerations_have_their_comments() {
        let text = "enum Fault {\n  // The door is jammed.\n  // Send a technician.\n  DOOR_JAMMED = 3;\n  TOO_HEAVY = 4; // Weigh again.\n\n  LATE_VAN = 5,\n}\n";
        let found = lines(text);
        assert_eq!(found[0], ["3: DOOR_JAMMED", "The door is jammed. Send a technician."]);
        assert_eq!(found[1], ["4: TOO_HEAVY", "Weigh again."]);
    }

    #[test]
    fn prose_is_no_list() {
        assert!(assignments("The door: it opens.\nThe van leaves.\nNobody knows when.\nx = 1\n").is_none());
    }
}
