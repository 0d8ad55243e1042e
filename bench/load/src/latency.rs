//! Exact percentiles of recorded durations.

use std::time::Duration;

use serde_json::{Value, json};

/// Returns the smallest duration that at least `share` of the sorted durations do not exceed (nearest rank).
pub(crate) fn percentile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Returns the percentiles that reports show, in microseconds.
pub(crate) fn summary(durations: impl Iterator<Item = Duration>) -> Value {
    let mut sorted: Vec<Duration> = durations.collect();
    sorted.sort_unstable();
    let micros = |share: f64| percentile(&sorted, share).map(|duration| duration.as_secs_f64() * 1e6);
    json!({"p50_us": micros(0.5), "p90_us": micros(0.9), "p99_us": micros(0.99), "max_us": micros(1.0)})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(numbers: impl Iterator<Item = u64>) -> Vec<Duration> {
        numbers.map(Duration::from_millis).collect()
    }

    #[test]
    fn a_percentile_is_one_of_the_durations() {
        let hundred = millis(1..=100);
        for (share, expected) in [(0.0, 1), (0.001, 1), (0.5, 50), (0.9, 90), (0.99, 99), (0.991, 100), (1.0, 100)] {
            assert_eq!(percentile(&hundred, share), Some(Duration::from_millis(expected)), "{share}");
        }
        assert_eq!(percentile(&millis(7..=7), 0.5), Some(Duration::from_millis(7)));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn a_summary_sorts_and_has_no_number_without_durations() {
        let shuffled = millis([30, 10, 20].into_iter());
        let expected = json!({"p50_us": 20_000.0, "p90_us": 30_000.0, "p99_us": 30_000.0, "max_us": 30_000.0});
        assert_eq!(summary(shuffled.into_iter()), expected);
        assert_eq!(summary(std::iter::empty())["p99_us"], Value::Null);
    }
}
