//! Random numbers within bounds.

use serde_json::{Map, Number, Value, json};

/// Default bound without bounds in the schema, small enough for every format.
const USUAL: f64 = 1000.0;

/// Returns an integer that satisfies the keywords.
pub(crate) fn whole(keywords: &Map<String, Value>, at_edge: bool, random: &mut fastrand::Rng) -> Option<Value> {
    let (least, most) = bounds(keywords, 1.0, at_edge);
    let step = keywords.get("multipleOf").and_then(Value::as_f64).filter(|step| *step >= 1.0).unwrap_or(1.0);
    let (first, last) = ((least / step).ceil(), (most / step).floor());
    if first > last {
        return None;
    }
    let chosen = match at_edge {
        true if random.bool() => first,
        true => last,
        false => (first + random.f64() * (last - first)).round(),
    };
    // Beyond 53 bits a float does not identify a single integer; the bound itself may be written out.
    Some(json!((chosen * step) as i64))
}

/// Returns a number that satisfies the keywords.
pub(crate) fn any(keywords: &Map<String, Value>, at_edge: bool, random: &mut fastrand::Rng) -> Option<Value> {
    let (least, most) = bounds(keywords, 0.25, at_edge);
    if least > most {
        return None;
    }
    let step = keywords.get("multipleOf").and_then(Value::as_f64).filter(|step| *step > 0.0);
    let chosen = match at_edge {
        true if random.bool() => least,
        true => most,
        false => least + random.f64() * (most - least),
    };
    let quarters = (chosen * 4.0).round() / 4.0;
    let rounded = if quarters < least || quarters > most { chosen } else { quarters };
    let number = step.map_or(rounded, |step| (rounded / step).round() * step);
    Number::from_f64(number).map(Value::Number)
}

/// Returns the minimum and maximum; `apart` is the distance from an exclusive bound.
fn bounds(keywords: &Map<String, Value>, apart: f64, at_edge: bool) -> (f64, f64) {
    let number = |keyword: &str| keywords.get(keyword).and_then(Value::as_f64);
    let (format, wide) = (keywords.get("format").and_then(Value::as_str), 9.0e15);
    let usual = match format {
        Some("int32") if at_edge => f64::from(i32::MAX),
        Some("int64") if at_edge => wide,
        _ => USUAL,
    };
    let least = number("minimum").or_else(|| number("exclusiveMinimum").map(|bound| bound + apart));
    let most = number("maximum").or_else(|| number("exclusiveMaximum").map(|bound| bound - apart));
    match (least, most) {
        (Some(least), Some(most)) => (least, most),
        (Some(least), None) => (least, least.max(0.0) + usual),
        (None, Some(most)) => (most.min(0.0) - usual, most),
        (None, None) => (if at_edge { -usual } else { 0.0 }, usual),
    }
}
