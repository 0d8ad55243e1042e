//! Example numbers within bounds.

use serde_json::{Map, Number, Value};

/// Maximum number of multiples to try.
const MAX_TRIED: u32 = 3;

struct NumberBounds {
    least: f64,
    most: f64,
    /// Whether the lower and the upper bound are exclusive.
    open: (bool, bool),
    step: Option<f64>,
}

impl NumberBounds {
    fn read(keywords: &Map<String, Value>) -> Self {
        let [least, above, most, below, step] =
            ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"]
                .map(|keyword| keywords.get(keyword).and_then(Value::as_f64));
        Self {
            least: least.unwrap_or(f64::NEG_INFINITY).max(above.unwrap_or(f64::NEG_INFINITY)),
            most: most.unwrap_or(f64::INFINITY).min(below.unwrap_or(f64::INFINITY)),
            open: (above.is_some() && above >= least, below.is_some() && (below <= most || most.is_none())),
            step,
        }
    }

    fn admits(&self, number: f64) -> bool {
        let above = number > self.least || (number == self.least && !self.open.0);
        let below = number < self.most || (number == self.most && !self.open.1);
        above && below
    }

    /// Returns the first of `wishes` within the bounds.
    fn first(&self, wishes: impl IntoIterator<Item = f64>) -> Option<f64> {
        wishes.into_iter().find(|wish| wish.is_finite() && self.admits(*wish))
    }

    /// Returns multiples of the step, starting at the lower bound; without one, at one step or below the upper bound.
    fn multiples(&self, step: f64) -> impl Iterator<Item = f64> {
        let from = if self.least.is_finite() {
            (self.least / step).ceil()
        } else if self.most < step {
            (self.most / step).floor() - 1.0
        } else {
            1.0
        };
        (0..MAX_TRIED).map(move |index| (from + f64::from(index)) * step)
    }
}

/// Returns an example integer, increased by `variant` steps.
pub(super) fn whole(keywords: &Map<String, Value>, variant: usize) -> Option<Value> {
    let bounds = NumberBounds::read(keywords);
    let number = match bounds.step {
        Some(step) => bounds.first(bounds.multiples(step).filter(|multiple| multiple.fract() == 0.0)),
        None => {
            let (least, most) = (bounds.least.ceil(), bounds.most.floor());
            bounds.first([1.0, least, least + 1.0, most, most - 1.0])
        }
    }?;
    #[expect(clippy::cast_possible_truncation, reason = "an example that does not fit is not shown")]
    let number = number as i64;
    let more = i64::try_from(variant)
        .ok()?
        .checked_mul(bounds.step.map_or(Some(1), |step| format!("{step}").parse().ok())?)?;
    number.checked_add(more).map(Value::from)
}

/// Returns an example number, increased by `variant` steps.
pub(super) fn number(keywords: &Map<String, Value>, variant: usize) -> Option<Value> {
    let bounds = NumberBounds::read(keywords);
    let middle = f64::midpoint(bounds.least, bounds.most);
    let wishes: Vec<f64> = match bounds.step {
        Some(step) => bounds.multiples(step).collect(),
        None => vec![1.0, bounds.least, middle, bounds.least + 1.0, bounds.most, bounds.most - 1.0],
    };
    let number = bounds.first(wishes)?;
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return whole(keywords, variant);
    }
    let more = f64::from(u32::try_from(variant).ok()?) * bounds.step.unwrap_or(1.0);
    Number::from_f64(number + more).map(Value::Number)
}
