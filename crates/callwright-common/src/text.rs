//! Text helpers: shortening and escaping of untrusted text, and suggestions for misspelt names.

/// Minimum Jaro-Winkler similarity of a suggestion.
const WORTH_SUGGESTING: f64 = 0.75;

/// Whether a character acts on a terminal: ASCII and Latin-1 control characters, which begin escape sequences, and
/// characters that change the text direction or break lines (Unicode Standard Annex 9, section 2).
pub fn acts_on_terminal(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
}
