//! Equality of JSON values without regard to notation.

use serde_json::Value;

/// Whether two values are equal without regard to member order and number notation (`5`, `5.0`, `5e0`).
pub fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || ((one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|known| is_same(value, known)))
        }
        (one, other) => one == other,
    }
}

/// Whether two values are equal like [`is_same`], or one is the string that spells the other scalar. Ignores case and
/// surrounding whitespace.
pub fn is_same_reading(one: &Value, other: &Value) -> bool {
    is_same(one, other) || spelled(one).is_some_and(|one| spelled(other) == Some(one))
}

/// Returns the folded text that spells a scalar.
fn spelled(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_lowercase()),
        Value::Number(number) if number.is_f64() => number.as_f64().map(|float| float.to_string()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_order_and_number_notation_do_not_matter() {
        assert!(is_same(&json!({"a": [1, {"b": 2.0}], "c": 3}), &json!({"c": 3.0, "a": [1.0, {"b": 2}]})));
        for other in [json!({"a": 2}), json!({"a": "1"}), json!({"a": 1, "b": null}), json!([1]), json!({"b": 1})] {
            assert!(!is_same(&json!({"a": 1}), &other), "{other}");
        }
        assert!(!is_same(&json!([1, 2]), &json!([2, 1])));
        assert!(!is_same(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64)), "both are exact");
    }

    #[test]
    fn a_scalar_is_the_string_that_spells_it() {
        for (one, other) in
            [(json!(5), json!("5")), (json!(5.0), json!("5")), (json!(true), json!("True")), (json!("a "), json!("A"))]
        {
            assert!(is_same_reading(&one, &other) && is_same_reading(&other, &one), "{one} {other}");
        }
        assert!(!is_same_reading(&json!([5]), &json!("5")));
    }
}
