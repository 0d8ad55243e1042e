//! Metrics by upstream and model. Upstreams are those of the configuration. Of models, the first [`MAX_MODELS`] that
//! answered have their own series: a client may name any model, and some servers answer to every name.

use std::sync::Arc;

use prometheus::{GaugeVec, IntCounterVec, Registry};

use super::family::{Family, Spec, registered};
use super::labels::{KnownNames, MAX_MODELS, OTHER};

/// The upstreams and models that have their own series.
#[derive(Debug, Default)]
pub(super) struct KnownModels {
    upstreams: Arc<KnownNames>,
    models: KnownNames,
}

impl KnownModels {
    pub(super) fn of(upstreams: &Arc<KnownNames>) -> Self {
        Self { upstreams: Arc::clone(upstreams), ..Self::default() }
    }

    /// Returns the labels of a model that answered. A model of an unknown upstream is [`OTHER`].
    fn labels<'a>(&self, upstream: &'a str, model: &'a str) -> [&'a str; 2] {
        let upstream = self.upstreams.label(upstream);
        if upstream == OTHER {
            return [OTHER, OTHER];
        }
        self.models.learn(model, MAX_MODELS);
        [upstream, self.models.label(model)]
    }
}

/// Counters by upstream, model and an enumerated label.
#[derive(Debug)]
pub struct ModelCounters {
    metric: IntCounterVec,
    pub(super) known: Arc<KnownModels>,
}

impl Family for ModelCounters {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(IntCounterVec::new(spec.opts(), spec.labels)?, registry)?;
        Ok(Self { metric, known: Arc::default() })
    }
}

impl ModelCounters {
    /// Increments a counter; `value` is the label of an enumeration, or the name of a notation.
    pub fn inc(&self, upstream: &str, model: &str, value: &str) {
        let [upstream, model] = self.known.labels(upstream, model);
        self.metric.with_label_values(&[upstream, model, value]).inc();
    }
}

/// Gauges by upstream and model. Models beyond the limit have none, because one value for several models is
/// meaningless.
#[derive(Debug)]
pub struct ModelGauges {
    metric: GaugeVec,
    pub(super) known: Arc<KnownModels>,
}

impl Family for ModelGauges {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(GaugeVec::new(spec.opts(), spec.labels)?, registry)?;
        Ok(Self { metric, known: Arc::default() })
    }
}

impl ModelGauges {
    /// Sets the value of a model.
    pub fn set(&self, upstream: &str, model: &str, number: f64) {
        let labels = self.known.labels(upstream, model);
        if !labels.contains(&OTHER) {
            self.metric.with_label_values(&labels).set(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Metrics;
    use crate::labels::MAX_MODELS;
    use callwright_types::Verdict;

    /// Returns the number of lines of a metric whose labels contain this text.
    fn series(text: &str, metric: &str, labels: &str) -> usize {
        let metric = format!("callwright_{metric}{{");
        text.lines().filter(|line| line.starts_with(&metric) && line.contains(labels)).count()
    }

    #[test]
    fn the_first_models_have_series_of_their_own() {
        let metrics = Metrics::new();
        metrics.known_upstreams(["main"]);
        for number in 0..2 * MAX_MODELS {
            let model = format!("model-{number}");
            metrics.model_calls.inc("main", &model, Verdict::Clean.label());
            metrics.native_call_share.set("main", &model, 0.5);
        }
        metrics.model_calls.inc("invented", "model-0", Verdict::Clean.label());
        let text = metrics.render();
        assert_eq!(series(&text, "model_calls_total", r#"upstream="main""#), MAX_MODELS + 1);
        let other = r#"model="other",upstream="main",verdict="clean"} 100"#;
        assert!(text.contains(other), "{text}");
        assert!(text.contains(r#"model="other",upstream="other",verdict="clean"} 1"#), "{text}");
        assert_eq!(series(&text, "native_call_share", "model-"), MAX_MODELS);
        assert_eq!(series(&text, "native_call_share", "other"), 0);
    }

    #[test]
    fn a_model_whose_name_is_no_label_is_other() {
        let metrics = Metrics::new();
        metrics.known_upstreams(["main"]);
        for model in ["", "line\nbreak", "ümlaut", &"x".repeat(129)] {
            metrics.model_calls.inc("main", model, Verdict::Clean.label());
        }
        assert!(metrics.render().contains(r#"model="other",upstream="main",verdict="clean"} 4"#));
    }
}
