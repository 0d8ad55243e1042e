//! Which known name may have been meant?

/// Least Jaro-Winkler similarity at which a name is worth suggesting.
const WORTH_SUGGESTING: f64 = 0.75;

/// The known name most similar to `name`, if one is similar enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= WORTH_SUGGESTING)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}
