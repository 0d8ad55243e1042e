//! Suggestion of the known name that is most similar to an unknown one.

/// Minimum Jaro-Winkler similarity of a suggestion.
const WORTH_SUGGESTING: f64 = 0.75;

/// Returns the known name most similar to `name`, if one is similar enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= WORTH_SUGGESTING)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}
