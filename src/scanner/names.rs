//! When are two names the same but for their writing, and how alike are they otherwise?

use unicode_normalization::UnicodeNormalization;

/// A name without its writing: compatibility-normalised (Unicode NFKC), lower case, letters and digits only
/// (AutoFeedback section 3.2.2, for all scripts). Empty for a name that has neither.
pub(crate) fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name
            .bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect();
    }
    name.nfkc().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The part of a tool's name behind its namespace: `login` of `user.login`, `user::login`, `user/login`, `mcp__user__login`.
/// `None` for a name without a namespace.
pub(crate) fn without_namespace(name: &str) -> Option<&str> {
    let marks = [".", ":", "/", "__"];
    let start = marks.iter().filter_map(|mark| name.rfind(mark).map(|at| at + mark.len())).max()?;
    name.get(start..).filter(|rest| !rest.is_empty())
}

/// How alike two names are, 0 to 1: the better of their spelling (Damerau-Levenshtein distance over the folded names,
/// normalised by the longer) and their words (Sørensen-Dice coefficient), so that both `get_wether` and `weather_get` are
/// close to `get_weather`.
pub(crate) fn similarity(one: &str, other: &str) -> f64 {
    let spelling = strsim::normalized_damerau_levenshtein(&fold(one), &fold(other));
    spelling.max(dice(&words(one), &words(other)))
}

/// The `limit` most similar of `candidates`, best first; equally similar ones keep their order.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    limit: usize,
) -> Vec<(&'a str, f64)> {
    let name = clip(name);
    let mut ranked: Vec<_> =
        candidates.into_iter().map(|candidate| (candidate, similarity(name, clip(candidate)))).collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranked.truncate(limit);
    ranked
}

/// Characters of a name that are compared: the distance takes quadratic time, and no real name is longer.
const MAX_COMPARED: usize = 128;

fn clip(name: &str) -> &str {
    name.char_indices().nth(MAX_COMPARED).map_or(name, |(end, _)| name.get(..end).unwrap_or(name))
}

/// The words of a name, folded: split at separators, and where a capital follows a small letter or a digit.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous: Option<char> = None;
    for letter in name.chars() {
        if letter.is_alphanumeric() {
            let begins = previous.is_none_or(|previous| {
                !previous.is_alphanumeric() || (letter.is_uppercase() && !previous.is_uppercase())
            });
            if begins {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
        }
        previous = Some(letter);
    }
    words
}

fn dice(one: &[String], other: &[String]) -> f64 {
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let mut left: Vec<&String> = other.iter().collect();
    let shared = one
        .iter()
        .filter(|word| {
            let found = left.iter().position(|candidate| candidate == word);
            found.map(|index| left.swap_remove(index)).is_some()
        })
        .count();
    #[expect(clippy::cast_precision_loss, reason = "names are clipped to a few hundred letters")]
    let share = 2.0 * shared as f64 / (one.len() + other.len()) as f64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_does_not_distinguish_names() {
        for name in ["userLogin", "user_login", "user.login", "USER-LOGIN", "User Login", "ｕｓｅｒ_login"] {
            assert_eq!(fold(name), "userlogin");
        }
        assert_eq!(fold("天气_查询"), "天气查询");
        assert_eq!(fold("__"), "");
    }

    #[test]
    fn a_namespace_ends_at_its_last_mark() {
        for name in ["user.login", "a.user::login", "functions/login", "mcp__user__login"] {
            assert_eq!(without_namespace(name), Some("login"));
        }
        assert_eq!(without_namespace("user_login"), None);
        assert_eq!(without_namespace("login."), None);
    }

    #[test]
    fn spelling_and_order_of_words_make_names_alike() {
        assert!(similarity("get_wether", "get_weather") > 0.85);
        assert!((similarity("weatherGet", "get_weather") - 1.0).abs() < f64::EPSILON);
        assert!(similarity("get_weather", "delete_user") < 0.5);
        assert!(similarity("", "x") < 0.1);
    }

    #[test]
    fn the_nearest_names_come_first() {
        let offered = ["cancel_order", "get_weather", "fetch_forecast"];
        let ranked: Vec<_> = nearest("fetch_weather", offered, 2).into_iter().map(|(name, _)| name).collect();
        assert_eq!(ranked, ["get_weather", "fetch_forecast"]);
        assert_eq!(nearest(&"x".repeat(100_000), offered, 1).len(), 1);
    }
}
