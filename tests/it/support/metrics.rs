//! Parser of the Prometheus text format, as far as tests use it.

/// One scrape.
pub(crate) struct Metrics {
    samples: Vec<(String, String, f64)>,
}

impl Metrics {
    /// Parses a scrape.
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let samples = lines.map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            (name.to_owned(), labels.trim_end_matches('}').to_owned(), value.parse().unwrap())
        });
        Self { samples: samples.collect() }
    }

    /// Returns the sum over the series of `callwright_NAME` that have all these labels, or 0 without such series.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let wanted: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let of_name = self.samples.iter().filter(|(sample, ..)| sample.strip_prefix("callwright_") == Some(name));
        of_name
            .filter(|(_, labels, _)| wanted.iter().all(|label| labels.contains(label)))
            .map(|(.., value)| value)
            .sum()
    }
}
