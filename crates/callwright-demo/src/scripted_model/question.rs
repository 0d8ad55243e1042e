//! Extraction of values from a user's sentence. It is narrow on purpose: a scripted model need not understand.

/// Returns points on the map: pairs of decimal numbers, as written and in order.
pub(super) fn points(text: &str) -> Vec<(&str, &str)> {
    let numbers: Vec<&str> = text
        .split(|char: char| !(char.is_ascii_digit() || matches!(char, '.' | '-')))
        .map(|token| token.trim_end_matches(['.', '-']))
        .filter(|token| token.contains('.') && token.parse::<f64>().is_ok())
        .collect();
    numbers.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collect()
}

/// Returns the first date, such as `2026-06-02`.
pub(super) fn date(text: &str) -> Option<&str> {
    words(text).find(|word| word.len() == 10 && word.parse::<jiff::civil::Date>().is_ok())
}

/// Returns times of day such as `10:00`, in order.
pub(super) fn times(text: &str) -> Vec<&str> {
    words(text).filter(|word| word.len() == 5 && word.parse::<jiff::civil::Time>().is_ok()).collect()
}

/// Returns the time of day after `word`, as in `from 9` or `until 10:30`: as `HH:MM`, and with its words.
pub(super) fn clock_after(text: &str, word: &str) -> Option<(String, String)> {
    let all: Vec<&str> = words(text).collect();
    all.windows(2).find_map(|pair| {
        let [before, clock] = pair else { return None };
        let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
        let time = jiff::civil::Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()?;
        before.eq_ignore_ascii_case(word).then(|| (time.strftime("%H:%M").to_string(), format!("{before} {clock}")))
    })
}

/// Returns the whole number before `noun`, as in `6 people`.
pub(super) fn count_of(text: &str, noun: &str) -> Option<u64> {
    let all: Vec<&str> = words(text).collect();
    all.windows(2).find_map(|pair| (pair.get(1)? == &noun).then(|| pair.first()?.parse().ok())?)
}

/// Returns the capitalised words after `phrase`, as in `in the name of Ada Lovelace on ...`.
pub(super) fn name_after(text: &str, phrase: &str) -> Option<String> {
    text.match_indices(phrase).find_map(|(at, _)| name_of(text.get(at + phrase.len()..)?))
}

/// Returns the capitalised words at the start of a text.
fn name_of(rest: &str) -> Option<String> {
    let mut name: Vec<&str> = Vec::new();
    for word in rest.split_whitespace() {
        let bare = word.trim_end_matches(|char: char| !char.is_alphanumeric());
        if !bare.starts_with(char::is_uppercase) {
            break;
        }
        name.push(bare);
        if bare.len() < word.len() {
            break;
        }
    }
    (!name.is_empty()).then(|| name.join(" "))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_matches(|char: char| !char.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_keep_their_notation_and_order() {
        let text = "From 34.9858, 135.7588 to -34.10,135.5258. Leave at 1.";
        assert_eq!(points(text), [("34.9858", "135.7588"), ("-34.10", "135.5258")]);
        assert!(points("from A to B in 2.5 hours").is_empty());
    }

    #[test]
    fn dates_times_counts_and_names_are_found() {
        let text = "Book a room for 6 people in the name of Ada Lovelace on 2026-06-02 from 10:00 to 11:00.";
        assert_eq!(date(text), Some("2026-06-02"));
        assert_eq!(times(text), ["10:00", "11:00"]);
        assert_eq!(count_of(text, "people"), Some(6));
        assert_eq!(name_after(text, "in the name of ").as_deref(), Some("Ada Lovelace"));
        assert_eq!(name_after("Where is Osaka Castle? Thanks", "Where is ").as_deref(), Some("Osaka Castle"));
    }

    #[test]
    fn times_of_day_are_found_after_a_word() {
        let text = "Go from Oslo, from 9 to 10:30; not to 25 and to 7:5x.";
        let clock = |word| clock_after(text, word).map(|(clock, words)| format!("{clock} ({words})"));
        assert_eq!(clock("from").as_deref(), Some("09:00 (from 9)"));
        assert_eq!(clock("TO").as_deref(), Some("10:30 (to 10:30)"));
        assert_eq!(clock("until"), None);
    }

    #[test]
    fn absent_values_are_not_found() {
        let text = "on 2026-13-40 at 25:99, some people";
        assert_eq!((date(text), times(text).len(), count_of(text, "people")), (None, 0, None));
        assert_eq!(name_after(text, "name of "), None);
    }
}
