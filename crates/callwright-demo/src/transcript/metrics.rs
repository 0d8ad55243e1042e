//! Changes between two scrapes of `/metrics` (Prometheus text format 0.0.4).

use std::collections::{BTreeMap, BTreeSet};

/// Returns the counters that increased, with the difference: names and labels as written, in alphabetical order.
pub(crate) fn moved(before: &str, after: &str) -> Vec<(String, f64)> {
    let before = counters(before);
    let mut moved = Vec::new();
    for (series, value) in counters(after) {
        let growth = value - before.get(series).copied().unwrap_or_default();
        if growth > 0.0 {
            moved.push((series.to_owned(), growth));
        }
    }
    moved
}

fn counters(text: &str) -> BTreeMap<&str, f64> {
    let names: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).map(str::trim).collect();
    let samples = text.lines().filter(|line| !line.starts_with('#')).filter_map(sample);
    samples.filter(|(series, _)| names.contains(series.split('{').next().unwrap_or(series))).collect()
}

/// Parses the series and value of a sample. Label values may contain spaces; the value after the series cannot.
fn sample(line: &str) -> Option<(&str, f64)> {
    let end = line.rfind('}').map_or_else(|| line.find(' '), |brace| Some(brace + 1))?;
    let (series, rest) = line.split_at_checked(end)?;
    Some((series, rest.split_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
# HELP a_total A.
# TYPE a_total counter
a_total{kind=\"x\"} 1
a_total{kind=\"y z}\"} 2
# TYPE b_total counter
b_total 5
# TYPE g gauge
g 1
";

    #[test]
    fn only_increased_counters_are_printed() {
        let after = BEFORE.replace("{kind=\"x\"} 1", "{kind=\"x\"} 4").replace("g 1", "g 9")
            + "# TYPE c_total counter\nc_total 2 1767225600\n";
        assert_eq!(moved(BEFORE, &after), [("a_total{kind=\"x\"}".to_owned(), 3.0), ("c_total".to_owned(), 2.0)]);
        assert!(moved(BEFORE, BEFORE).is_empty());
        assert!(moved("", "no metrics\n{\n} x").is_empty());
    }
}
