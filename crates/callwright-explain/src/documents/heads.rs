//! Code or name at the head of a heading, sentence or list item, which the following text defines.

use super::labels::is_label;
use crate::index::codes::{CodeLikelihood, is_integer, normal_form, strength};
use crate::word_list::WordList;

/// Maximum number of codes in a head; more codes form a list.
pub(crate) const MAX_CODES: usize = 16;

/// Words that announce a code (`Error 30007`, `HTTP status code 404`), in lower case.
const ANNOUNCERS: WordList =
    WordList("error err code codes errors status http warning fault exception response result return close reason no");

/// Separators between a code and its meaning.
const SEPARATORS: [char; 7] = [':', '-', '–', '—', '|', '=', '→'];

/// Codes or names of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassageHead {
    /// Codes or names in normal form.
    pub(crate) codes: Vec<String>,
    /// Highest likelihood among the names of being a code.
    pub(crate) strength: CodeLikelihood,
    /// Whether no text follows the codes.
    pub(crate) alone: bool,
}

impl PassageHead {
    /// Whether the text is only a code.
    pub(crate) fn is_only_code(&self) -> bool {
        self.alone && self.strength == CodeLikelihood::Strong
    }
}

/// Returns the codes of a heading: alone (`` `card_declined` ``), before a message (`21211: Invalid number`,
/// `404 Not Found`), after an announcing word (`ERROR 30007`), or in brackets after the message
/// (`Invalid number (21211)`).
pub(crate) fn title_head(title: &str) -> Option<PassageHead> {
    leading_of_title(title).or_else(|| trailing(title))
}

/// Returns the codes or names that a sentence or list item defines: at its head before a colon or dash
/// (`` `A1`: because ``, `20000 - because`, `origin (query, required): because`), or alone before the explanation.
pub(crate) fn sentence_head(text: &str) -> Option<PassageHead> {
    let lead = leading(text)?;
    let head = lead.head?;
    let rest = lead.rest;
    let alone = rest.is_empty() && head.strength > CodeLikelihood::Name;
    let parted = is_parted(rest) || lead.bracketed && rest.starts_with(':') || lead.named;
    let numbered = parted && head.strength == CodeLikelihood::Name && is_number(&head);
    let strength = if numbered { CodeLikelihood::Weak } else { head.strength };
    (alone || parted).then_some(PassageHead { strength, ..head })
}

/// Returns the codes at the beginning of a text without a separator: `21211 Invalid number. The number is not valid.` A
/// single sentence may begin with any number, but several such list items or paragraphs form a list of codes. A short
/// number counts only beside evident codes.
pub(crate) fn series_head(text: &str) -> Option<PassageHead> {
    let lead = leading(text)?;
    let begins = lead.rest.starts_with(|first: char| first.is_uppercase() || matches!(first, '`' | '"' | '“'));
    lead.head.filter(|head| begins && (head.strength == CodeLikelihood::Strong || is_number(head)))
}

/// Returns the number that is the whole heading; it is a code if the neighbouring headings are codes.
pub(crate) fn number_head(title: &str) -> Option<PassageHead> {
    let head = PassageHead { codes: vec![normal_form(title)?], strength: CodeLikelihood::Weak, alone: true };
    is_number(&head).then_some(head)
}

fn leading_of_title(title: &str) -> Option<PassageHead> {
    let lead = leading(title)?;
    let head = lead.head?;
    let small = title.starts_with(char::is_lowercase) || lead.announced;
    match (lead.rest.is_empty(), head.strength) {
        (true, CodeLikelihood::Name) => (small && !is_number(&head)).then_some(head),
        (true, _) | (false, CodeLikelihood::Strong) => Some(head),
        (false, CodeLikelihood::Weak) => is_parted(lead.rest).then_some(head),
        (false, CodeLikelihood::Name) => {
            let numbered = is_number(&head) && lead.rest.starts_with([':', '-', '–', '—']);
            numbered.then_some(PassageHead { strength: CodeLikelihood::Weak, ..head })
        }
    }
}

fn is_number(head: &PassageHead) -> bool {
    head.codes.iter().all(|code| is_integer(code))
}

/// Codes at the beginning of a text, and the rest.
struct Lead<'a> {
    head: Option<PassageHead>,
    rest: &'a str,
    /// Whether an announcing word precedes the code.
    announced: bool,
    /// Whether a number is followed by a constant for the same error: `4711 NOT_FOUND`.
    named: bool,
    /// Whether a remark in brackets follows the name: `origin (query, required)`.
    bracketed: bool,
}

fn leading(text: &str) -> Option<Lead<'_>> {
    let text = text.trim();
    let (mut rest, announced) = behind_announcers(text);
    let mut found: Vec<HeadToken<'_>> = Vec::new();
    while found.len() < MAX_CODES {
        let Some((token, behind)) = token(rest) else { break };
        found.push(token);
        rest = behind.trim_start();
        if self::token(rest).is_some_and(|(next, _)| are_number_and_name(&token, &next)) {
            continue;
        }
        // A comma, a slash or an `or` joins codes.
        let joint = [",", "/", "or ", "and ", "&"].iter().find_map(|joint| rest.strip_prefix(joint));
        let Some(next) = joint.map(str::trim_start) else { break };
        // The text `21211, 21212: why` lists codes; `gone, but why` does not.
        if token_strength(&token).is_none_or(|strength| strength == CodeLikelihood::Name) || !next_is_code(next) {
            break;
        }
        rest = next;
    }
    let codes: Vec<String> = found.iter().filter_map(|token| normal_form(token.text)).collect();
    if codes.is_empty() {
        return None;
    }
    let named = found.windows(2).any(|pair| matches!(pair, [number, name] if are_number_and_name(number, name)));
    let plain_label = found.len() == 1 && !found[0].marked && is_label(found[0].text);
    let strongest = found.iter().filter_map(token_strength).max();
    let announced_number = announced && found[0].text.bytes().any(|byte| byte.is_ascii_digit());
    let strength = if announced_number { Some(CodeLikelihood::Strong) } else { strongest };
    let (rest, bracketed) = behind_remark(rest);
    let rest = if rest == "." { "" } else { rest };
    let head = strength.filter(|_| !plain_label || bracketed).map(|strength| PassageHead {
        codes,
        strength,
        alone: rest.is_empty(),
    });
    Some(Lead { head, rest, announced, named, bracketed })
}

/// Strips the announcing words if a code follows.
fn behind_announcers(text: &str) -> (&str, bool) {
    let mut rest = text;
    while let Some((word, behind)) = rest.split_once([' ', ':', '#']) {
        let is_announcer = ANNOUNCERS.contains(&word.trim_end_matches('.').to_ascii_lowercase());
        let is_gap = word.is_empty() && rest != text;
        if !is_announcer && !is_gap {
            break;
        }
        rest = behind.trim_start_matches([' ', ':', '#']);
    }
    let number = rest.strip_prefix('-').unwrap_or(rest).starts_with(|first: char| first.is_ascii_digit());
    if rest.len() < text.len() && (number || next_is_code(rest)) { (rest, true) } else { (text, false) }
}

fn next_is_code(text: &str) -> bool {
    token(text).and_then(|(token, _)| token_strength(&token)).is_some_and(|strength| strength > CodeLikelihood::Name)
}

#[derive(Clone, Copy)]
struct HeadToken<'a> {
    text: &'a str,
    /// Whether the token is in a code span, quotes or brackets.
    marked: bool,
}

fn token_strength(token: &HeadToken<'_>) -> Option<CodeLikelihood> {
    let own = normal_form(token.text).map(|_| strength(token.text))?;
    Some(if token.marked { own.max(CodeLikelihood::Weak) } else { own })
}

/// Returns the first word of a text or the content of its opening mark, and the rest.
fn token(text: &str) -> Option<(HeadToken<'_>, &str)> {
    for (open, close) in [('`', '`'), ('"', '"'), ('“', '”'), ('[', ']')] {
        if let Some(inner) = text.strip_prefix(open) {
            let (inner, behind) = inner.split_once(close)?;
            return Some((HeadToken { text: inner, marked: true }, behind));
        }
    }
    let end =
        text.char_indices().find(|(at, character)| ends_word(*at, *character, text)).map_or(text.len(), |(at, _)| at);
    let (word, behind) = (text.get(..end)?, text.get(end..)?);
    (!word.is_empty()).then_some((HeadToken { text: word, marked: false }, behind))
}

fn ends_word(at: usize, character: char, text: &str) -> bool {
    let next = text[at..].chars().nth(1);
    let at_end = next.is_none_or(char::is_whitespace);
    match character {
        ',' | ';' | '|' | '(' | '—' | '–' | '=' | '→' => true,
        // Part of a word: `a:b`, `1.2`, `a/b`.
        ':' | '.' | '/' => at_end,
        _ => character.is_whitespace(),
    }
}

/// Whether a number is directly followed by a constant for the same error: `4711 NOT_FOUND`.
fn are_number_and_name(number: &HeadToken<'_>, name: &HeadToken<'_>) -> bool {
    number.text.strip_prefix('-').unwrap_or(number.text).starts_with(|first: char| first.is_ascii_digit())
        && token_strength(number) == Some(CodeLikelihood::Strong)
        && name.text.contains('_')
        && name.text.chars().all(|character| !character.is_lowercase())
}

/// Strips a remark in brackets: `(query, required)`.
fn behind_remark(text: &str) -> (&str, bool) {
    match text.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
        Some((_, behind)) => (behind.trim_start(), true),
        None => (text, false),
    }
}

/// Whether the text starts with a separator.
fn is_parted(rest: &str) -> bool {
    let behind = rest.trim_start_matches(SEPARATORS);
    behind.len() < rest.len() && (behind.is_empty() || behind.starts_with(char::is_whitespace))
}

/// Returns the code after a message: `Invalid number (21211)`, `Not sent [E_SEND]`, `Invalid number - 21211`.
fn trailing(title: &str) -> Option<PassageHead> {
    let title = title.trim();
    let bracketed = [('(', ')'), ('[', ']')].into_iter().find_map(|(open, close)| {
        let inner = title.strip_suffix(close)?;
        inner.rsplit_once(open).map(|(_, inner)| inner)
    });
    let parted =
        || [" - ", " – ", " — ", ": ", " #"].iter().find_map(|mark| title.rsplit_once(mark)).map(|(_, last)| last);
    let lead = leading(bracketed.or_else(parted)?)?;
    let head = lead.head?;
    let required = if bracketed.is_some() { CodeLikelihood::Weak } else { CodeLikelihood::Strong };
    (lead.rest.is_empty() && head.strength >= required).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(text: &str) -> Option<String> {
        title_head(text).map(|head| head.codes.join("+"))
    }

    fn sentence(text: &str) -> Option<String> {
        sentence_head(text).map(|head| head.codes.join("+"))
    }

    #[test]
    fn headings_of_error_catalogues_name_codes() {
        let cases = [
            ("21211: Invalid 'To' number", "21211"),
            ("21211 - Invalid number", "21211"),
            ("21211 Invalid number", "21211"),
            ("ERROR 30007", "30007"),
            ("Error code: 7", "7"),
            ("HTTP 404 Not Found", "404"),
            ("`card_declined`", "card_declined"),
            ("card_declined", "card_declined"),
            ("unauthorized", "unauthorized"),
            ("Error: E_SEND (fatal)", "e_send"),
            ("Invalid number (21211)", "21211"),
            ("Invalid number [error `E_NUMBER`]", "e_number"),
            ("Invalid number – 21211", "21211"),
            ("PARSE_ERROR: not readable", "parse_error"),
            ("21211, 21212: Invalid number", "21211+21212"),
            ("`a_b` / `c_d`", "a_b+c_d"),
            ("-32700 Parse error", "-32700"),
            ("7: Resume", "7"),
        ];
        for (text, expected) in cases {
            assert_eq!(title(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_headings_name_none() {
        for text in [
            "Error codes", "Errors", "Possible causes", "Description", "description", "1. Overview", "1.2 Errors",
            "10 tips", "Gateway Close Event Codes", "API Reference", "Status codes and their meaning",
            "Note (important)", "", "(", "`", "Error",
        ] {
            assert_eq!(title(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_of_a_series_begins_with_its_code() {
        let series = |text: &str| series_head(text).map(|head| head.codes.join("+"));
        assert_eq!(series("21211 Invalid number. It is not valid.").as_deref(), Some("21211"));
        assert_eq!(series("7 Resume").as_deref(), Some("7"));
        assert_eq!(series("E_SEND `to` is missing.").as_deref(), Some("e_send"));
        for text in ["10000 requests a day", "Twice a day", "21211", ""] {
            assert_eq!(series(text), None, "{text}");
        }
    }

    #[test]
    fn the_head_of_a_sentence_is_what_it_defines() {
        let cases = [
            ("`E_TOKEN`: the token is wrong.", Some("e_token")),
            ("20000 - Illegal parameters", Some("20000")),
            ("origin (query, required): Where it starts.", Some("origin")),
            ("To: the destination", Some("to")),
            ("Error 20000: Illegal parameters", Some("20000")),
            ("20000", Some("20000")),
            ("`a_b`, `c_d`: both", Some("a_b+c_d")),
            ("Errors are short: see below.", None),
            ("20000 rows are read.", None),
            ("Cause: it is wrong.", None),
            ("No head here.", None),
            ("More.", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(sentence(text).as_deref(), expected, "{text}");
        }
    }
}
