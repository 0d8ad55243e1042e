//! Metrics with typed labels: call sites pass no strings as label values. If all values are enumerated, the series are
//! looked up once, at startup.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{
    CounterVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};

use super::labels::{KnownNames, Label, OTHER};

/// Name and meaning of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Name without the prefix.
    pub name: &'static str,
    /// Help text.
    pub help: &'static str,
    /// Names of the labels.
    pub labels: &'static [&'static str],
    /// Upper bounds of a histogram's buckets.
    pub buckets: &'static [f64],
}

/// Prefix of every metric name.
const PREFIX: &str = "callwright";

impl Spec {
    pub(super) fn opts(&self) -> Opts {
        Opts::new(self.name, self.help.trim()).namespace(PREFIX)
    }

    fn histogram_opts(&self) -> HistogramOpts {
        HistogramOpts { common_opts: self.opts(), buckets: self.buckets.to_vec() }
    }
}

/// A kind of metric.
pub trait Family: Sized {
    /// Creates the metric and registers it.
    ///
    /// # Errors
    /// The library's error for a duplicate or invalid name.
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self>;
}

pub(super) fn registered<C: Collector + Clone + 'static>(metric: C, registry: &Registry) -> prometheus::Result<C> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

impl Family for IntCounter {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        registered(Self::with_opts(spec.opts())?, registry)
    }
}

impl Family for IntGauge {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        registered(Self::with_opts(spec.opts())?, registry)
    }
}

impl Family for IntGaugeVec {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        registered(Self::new(spec.opts(), spec.labels)?, registry)
    }
}

impl Family for Histogram {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        registered(Self::with_opts(spec.histogram_opts())?, registry)
    }
}

/// Counters by one enumerated label; all series exist from the start.
#[derive(Debug)]
pub struct Counters<L>(Box<[IntCounter]>, PhantomData<L>);

impl<L: Label> Family for Counters<L> {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(IntCounterVec::new(spec.opts(), spec.labels)?, registry)?;
        let series = L::ALL.iter().map(|value| metric.get_metric_with_label_values(&[value.label()]));
        Ok(Self(series.collect::<Result<_, _>>()?, PhantomData))
    }
}

impl<L: Label> Counters<L> {
    /// Increments by one.
    pub fn inc(&self, label: L) {
        self.add(label, 1);
    }

    /// Increments by a count.
    pub fn add(&self, label: L, count: u64) {
        if let Some(counter) = self.0.get(label.index()) {
            counter.inc_by(count);
        }
    }
}

/// Gauges by one enumerated label; all series exist from the start.
#[derive(Debug)]
pub struct Gauges<L>(Box<[IntGauge]>, PhantomData<L>);

impl<L: Label> Family for Gauges<L> {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(IntGaugeVec::new(spec.opts(), spec.labels)?, registry)?;
        let series = L::ALL.iter().map(|value| metric.get_metric_with_label_values(&[value.label()]));
        Ok(Self(series.collect::<Result<_, _>>()?, PhantomData))
    }
}

impl<L: Label> Gauges<L> {
    /// Sets the value of a label.
    pub fn set(&self, label: L, value: u64) {
        if let Some(gauge) = self.0.get(label.index()) {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
}

/// Counters by two enumerated labels; all series exist from the start.
#[derive(Debug)]
pub struct Counters2<A, B>(Box<[IntCounter]>, PhantomData<(A, B)>);

impl<A: Label, B: Label> Family for Counters2<A, B> {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(IntCounterVec::new(spec.opts(), spec.labels)?, registry)?;
        let pairs = A::ALL.iter().flat_map(|one| B::ALL.iter().map(move |other| [one.label(), other.label()]));
        let series = pairs.map(|pair| metric.get_metric_with_label_values(&pair));
        Ok(Self(series.collect::<Result<_, _>>()?, PhantomData))
    }
}

impl<A: Label, B: Label> Counters2<A, B> {
    /// Increments by one.
    pub fn inc(&self, one: A, other: B) {
        self.add(one, other, 1);
    }

    /// Increments by a count.
    pub fn add(&self, one: A, other: B, count: u64) {
        if let Some(counter) = self.0.get(one.index() * B::ALL.len() + other.index()) {
            counter.inc_by(count);
        }
    }
}

/// Gauges by two enumerated labels; all series exist from the start.
#[derive(Debug)]
pub struct Gauges2<A, B>(Box<[IntGauge]>, PhantomData<(A, B)>);

impl<A: Label, B: Label> Family for Gauges2<A, B> {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(IntGaugeVec::new(spec.opts(), spec.labels)?, registry)?;
        let pairs = A::ALL.iter().flat_map(|one| B::ALL.iter().map(move |other| [one.label(), other.label()]));
        let series = pairs.map(|pair| metric.get_metric_with_label_values(&pair));
        Ok(Self(series.collect::<Result<_, _>>()?, PhantomData))
    }
}

impl<A: Label, B: Label> Gauges2<A, B> {
    /// Adds to a series; subtracts if the number is negative.
    pub fn add(&self, one: A, other: B, number: i64) {
        if let Some(gauge) = self.0.get(one.index() * B::ALL.len() + other.index()) {
            gauge.add(number);
        }
    }
}

/// Histograms by one enumerated label; all series exist from the start.
#[derive(Debug)]
pub struct Histograms<L>(Box<[Histogram]>, PhantomData<L>);

impl<L: Label> Family for Histograms<L> {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(HistogramVec::new(spec.histogram_opts(), spec.labels)?, registry)?;
        let series = L::ALL.iter().map(|value| metric.get_metric_with_label_values(&[value.label()]));
        Ok(Self(series.collect::<Result<_, _>>()?, PhantomData))
    }
}

impl<L: Label> Histograms<L> {
    /// Observes a duration.
    pub fn observe(&self, label: L, time: Duration) {
        self.observe_number(label, time.as_secs_f64());
    }

    /// Observes a number.
    pub fn observe_number(&self, label: L, number: f64) {
        if let Some(histogram) = self.0.get(label.index()) {
            histogram.observe(number);
        }
    }
}

/// Counters by a name and an enumerated label. Unknown names are counted as [`OTHER`].
#[derive(Debug)]
pub struct NamedCounters<L> {
    metric: IntCounterVec,
    pub(super) known: Arc<KnownNames>,
    label: PhantomData<L>,
}

impl<L: Label> Family for NamedCounters<L> {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(IntCounterVec::new(spec.opts(), spec.labels)?, registry)?;
        Ok(Self { metric, known: Arc::default(), label: PhantomData })
    }
}

impl<L: Label> NamedCounters<L> {
    /// Increments by one.
    pub fn inc(&self, name: &str, label: L) {
        self.add(name, label, 1);
    }

    /// Increments by a count.
    pub fn add(&self, name: &str, label: L, count: u64) {
        self.metric.with_label_values(&[self.known.label(name), label.label()]).inc_by(count);
    }
}

/// Sums of amounts by a name. Unknown names are counted as [`OTHER`].
#[derive(Debug)]
pub struct NamedAmounts {
    metric: CounterVec,
    pub(super) known: Arc<KnownNames>,
}

impl Family for NamedAmounts {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(CounterVec::new(spec.opts(), spec.labels)?, registry)?;
        Ok(Self { metric, known: Arc::default() })
    }
}

impl NamedAmounts {
    /// Adds an amount; a negative or non-finite one is ignored.
    pub fn add(&self, name: &str, amount: f64) {
        if amount.is_finite() && amount >= 0.0 {
            self.metric.with_label_values(&[self.known.label(name)]).inc_by(amount);
        }
    }
}

/// Counters by an enumerated label and an HTTP status.
#[derive(Debug)]
pub struct StatusCounters<L> {
    metric: IntCounterVec,
    label: PhantomData<L>,
}

impl<L: Label> Family for StatusCounters<L> {
    fn register(spec: Spec, registry: &Registry) -> prometheus::Result<Self> {
        let metric = registered(IntCounterVec::new(spec.opts(), spec.labels)?, registry)?;
        Ok(Self { metric, label: PhantomData })
    }
}

impl<L: Label> StatusCounters<L> {
    /// Increments by one. A status outside the classes of HTTP (RFC 9110 section 15) is [`OTHER`].
    pub fn inc(&self, label: L, status: u16) {
        let status = http::StatusCode::from_u16(status).ok().filter(|status| status.as_u16() < 600);
        let status = status.as_ref().map_or(OTHER, http::StatusCode::as_str);
        self.metric.with_label_values(&[label.label(), status]).inc();
    }
}
