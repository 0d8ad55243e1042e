//! Text helpers: words of identifiers and texts, shortening, folding, quoting of untrusted text, and suggestions for
//! misspelt names.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Minimum Jaro-Winkler similarity of a suggestion.
const WORTH_SUGGESTING: f64 = 0.75;

/// Whether a character acts on a terminal: ASCII and Latin-1 control characters, which begin escape sequences, and
/// characters that change the text direction or break lines (Unicode Standard Annex 9, section 2).
pub fn acts_on_terminal(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character is not visible: controls, marks of text direction, and characters without width. Joiners of
/// letters are visible in their effect.
fn is_invisible(letter: char) -> bool {
    let is_no_character = u32::from(letter) & 0xfffe == 0xfffe || matches!(letter, '\u{fdd0}'..='\u{fdef}');
    is_no_character
        || letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns the text on one line: without invisible characters, and with single spaces in place of whitespace.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|letter: char| letter.is_whitespace() || letter == '\0') {
        let begin = line.len();
        if begin > 0 {
            line.push(' ');
        }
        let empty = line.len();
        line.extend(word.chars().filter(|letter| !is_invisible(*letter)));
        if line.len() == empty {
            line.truncate(begin);
        }
    }
    line
}

/// Returns the first `chars` characters.
pub fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Returns the first `bytes` bytes, or up to three fewer, so that no character is divided.
pub fn beginning_bytes(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Returns the first `chars` characters, with `…` if the text was truncated.
pub fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match beginning(text, chars) {
        whole if whole.len() == text.len() => whole.into(),
        part => format!("{}…", part.trim_end()).into(),
    }
}

/// Returns the whole words of a text within the first `chars` characters, or the beginning of a single longer word.
pub fn shortened(text: &str, chars: usize) -> &str {
    let cut = beginning(text, chars);
    match text.get(cut.len()..).and_then(|rest| rest.chars().next()) {
        None => text,
        Some(next) if next.is_whitespace() => cut.trim_end(),
        Some(_) => match cut.rfind(char::is_whitespace) {
            Some(space) => cut.get(..space).unwrap_or_default().trim_end(),
            None => cut,
        },
    }
}

/// Returns the first sentence of the first line, with its full stop.
pub fn first_sentence(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |at| at + 1);
    line.get(..end).unwrap_or_default().trim()
}

/// Returns the compatibility normalisation of a text (Unicode NFKC).
pub fn nfkc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { text.nfkc().collect::<String>().into() }
}

/// Returns the letters and digits of a name in lower case, compatibility-normalised. They are equal for all spellings
/// of the name: `userLogin`, `user_login`, `USER-LOGIN`.
pub fn letters(name: &str) -> String {
    if name.is_ascii() {
        let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
        return letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    }
    name.nfkc().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the words of a name in lower case; they are the same for `getWeather`, `get_weather` and `Get weather`.
pub fn name_words(name: &str) -> Vec<String> {
    let name = nfkc(name);
    words(&name).flat_map(parts).map(str::to_lowercase).collect()
}

/// Returns the parts of an identifier without separators. A capital begins a part after a small letter (`startDate`),
/// and before a small letter (`HTTPServer`, `v2Token`).
pub fn parts(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let mut letters = rest.char_indices().peekable();
        let (_, mut before) = letters.next()?;
        let mut end = rest.len();
        while let Some((at, letter)) = letters.next() {
            let begins = letter.is_uppercase()
                && (before.is_lowercase() || letters.peek().is_some_and(|(_, after)| after.is_lowercase()));
            if begins {
                end = at;
                break;
            }
            before = letter;
        }
        let (part, behind) = rest.split_at(end);
        rest = behind;
        Some(part)
    })
}

/// Returns the words of a text: its runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Returns the words of a text in lower case, each between single spaces, so that whole words can be searched in it.
pub fn spaced_words(text: &str) -> String {
    let mut spaced = " ".to_owned();
    for word in words(text) {
        spaced.extend(word.chars().flat_map(char::to_lowercase));
        spaced.push(' ');
    }
    spaced
}

/// Whether a text consists of decimal digits.
pub fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns names as code spans, separated by commas.
pub fn code_spans(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Returns the first `limit` characters of `text`, with `…` if it was truncated. Line breaks and other control
/// characters become spaces, so that the result is one line.
pub fn excerpt(text: &str, limit: usize) -> String {
    let mut letters = text.trim().chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let mut kept: String = letters.by_ref().take(limit).collect();
    if letters.next().is_some() {
        kept.push('…');
    }
    kept
}

/// Returns the known name most similar to `name`, if one is similar enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= WORTH_SUGGESTING)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_and_stays_on_one_line() {
        assert_eq!(excerpt("  a\nb\tc ", 10), "a b c");
        assert_eq!(excerpt("天气预报", 2), "天气…");
        assert_eq!(excerpt("ab", 2), "ab");
    }

    #[test]
    fn whitespace_is_joined_and_invisible_characters_are_removed() {
        assert_eq!(one_line(" a\t b\u{a0}\n\nc "), "a b c");
        assert_eq!(one_line("a\0b \u{202e}\u{feff}c \u{7}d"), "a b c d");
        assert_eq!(one_line(" \u{200b} "), "");
        assert_eq!(one_line("c\u{0}\u{1b}[31m \u{202e}d\u{feff}\u{ffff}"), "c [31m d");
        assert_eq!(one_line("日本語 ü 👍🏽"), "日本語 ü 👍🏽");
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        assert_eq!(shortened("ab cd ef", 8), "ab cd ef");
        assert_eq!(shortened("ab cd ef", 7), "ab cd");
        assert_eq!(shortened("ab cd ef", 5), "ab cd");
        assert_eq!(shortened("äöüß", 2), "äö");
        assert_eq!(shortened("", 0), "");
        assert_eq!((beginning("äöü", 2), beginning_bytes("äöü", 3), &*cut("ab cd", 3)), ("äö", "ä", "ab…"));
    }

    #[test]
    fn a_sentence_ends_with_a_line_or_a_full_stop_before_a_space() {
        assert_eq!(first_sentence(" Books v1.2. Then\nmore"), "Books v1.2.");
        assert_eq!(first_sentence("Books\nmore. x"), "Books");
    }

    #[test]
    fn notations_of_one_name_have_the_same_words() {
        for name in ["getUserByID", "get-user-by-id", "Get user by ID", "GET_USER__BY_ID_", "get.userBy.id"] {
            assert_eq!(name_words(name), ["get", "user", "by", "id"], "{name}");
        }
        assert_eq!(name_words("HTTPServerURL"), ["http", "server", "url"]);
        assert_eq!(name_words("oauth2Token"), ["oauth2", "token"]);
        assert_eq!(name_words("P2002 0x8007000E"), ["p2002", "0x8007000e"]);
        assert_eq!(name_words("ＡＢＣ天气"), ["abc天气"]);
        assert_eq!((letters("ｕｓｅｒ_Login"), letters("__")), ("userlogin".to_owned(), String::new()));
        assert!(name_words("--").is_empty());
    }

    #[test]
    fn whole_words_are_found_between_spaces() {
        assert_eq!(spaced_words("For Jack's room: 12!"), " for jack s room 12 ");
        assert_eq!(spaced_words(" "), " ");
    }
}
