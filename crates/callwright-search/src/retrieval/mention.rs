//! Detection of tool names in a request's text.

use callwright_common::limits::NAME_LENGTH;

use super::tokens::Term;

/// Returns the parts of a text that may be names of tools: words that look like identifiers (`get_weather`,
/// `getWeather`, `user.login`, `S3`), text in quotation marks or backticks, and words in call notation (`search(`).
/// Plain words are no mention: a request for the weather does not name the tool `weather`.
pub(super) fn mentions(text: &str) -> Vec<Term> {
    names(text).into_iter().map(Term::of).collect()
}

fn names(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_of_name) {
        let run = rest.get(start..).unwrap_or_default();
        let end = run.find(|character| !is_of_name(character)).unwrap_or(run.len());
        let (run, behind) = run.split_at(end);
        let name = run.trim_matches(['.', '-', ':', '/']);
        if !name.is_empty() && (is_identifier(name) || behind.starts_with('(')) {
            found.push(name);
        }
        rest = behind;
    }
    for mark in ['`', '"', '\''] {
        let quoted = text.split(mark).skip(1).step_by(2).map(str::trim);
        found.extend(quoted.filter(|quoted| !quoted.is_empty() && quoted.len() <= NAME_LENGTH));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ':' | '/')
}

/// Whether it looks like an identifier: with an underscore, a dot, a digit, or a capital after a small letter.
fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars().zip(name.chars().skip(1));
    name.contains(|character: char| matches!(character, '_' | '.' | ':' | '/') || character.is_ascii_digit())
        || letters.any(|(before, letter)| before.is_lowercase() && letter.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinguished_from_words() {
        assert_eq!(
            names("Use get_weather, then user.login. Or listUsers!"),
            ["get_weather", "listUsers", "user.login"]
        );
        assert_eq!(names("What is the weather at the check-in?"), Vec::<&str>::new());
        assert_eq!(
            names("call search(x) and `weather` or \"Text classification\""),
            ["Text classification", "search", "weather"]
        );
        assert_eq!(names("ends with an open ` mark... "), ["mark..."]);
        assert_eq!(names(""), Vec::<&str>::new());
    }
}
