//! E4.4 `wrong_source`: the plan takes the value from the output of another call, and the given value is not in that
//! output.
//!
//! The expectations ([`crate::Expectations`]) list, per argument, the tool that produces the value and the
//! values of its output. If there are no values yet, that tool must be called first, and every value is a fault.
//! Notation is ignored: a string that spells the value, in any case, is equal. An absent argument is not checked.

use serde_json::{Value, json};

use crate::{CompiledTool, Expectation, FaultCase, is_same_reading, quoted};
use callwright_common::limits::LISTED;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, arguments: &Value) -> Vec<Diagnosis> {
    let expected = case.context.expectations.map(|expectations| expectations.expected.as_slice());
    let of_tool = expected.unwrap_or_default().iter().filter(|expected| expected.tool == tool.name());
    of_tool.filter_map(|expected| judge(case, tool, arguments, expected)).collect()
}

fn judge(case: &FaultCase<'_>, tool: &CompiledTool, arguments: &Value, expected: &Expectation) -> Option<Diagnosis> {
    let value = arguments.pointer(expected.path.as_str())?;
    if expected.values.iter().any(|known| is_same_reading(known, value)) {
        return None;
    }
    let (place, source) = (quoted(expected.path.as_str()), quoted(&expected.source));
    let was_called = !expected.values.is_empty();
    let message = if was_called {
        format!("`{place}` comes from the output of `{source}`, which does not contain {}", quoted(&value.to_string()))
    } else {
        format!("`{place}` comes from the output of `{source}`, which has not been called yet")
    };
    let options = expected.values.iter().take(LISTED).map(|known| quoted(&known.to_string()));
    let facts = json!({
        "value": quoted(&value.to_string()), "source": source, "was_called": was_called,
        "options": options.collect::<Vec<_>>(),
        "description": tool.describe_argument(&expected.path).unwrap_or_default().description,
    });
    let diagnosis = case.diagnosis(FaultCode::WrongSource, expected.path.clone(), message, facts);
    Some(Diagnosis {
        suggestion: match expected.values.as_slice() {
            [Value::String(only)] => Some(only.clone()),
            _ => None,
        },
        ..diagnosis
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::testing::{TOOLS, call, tool_set};
    use crate::{Context, Expectation, Expectations, scan_in};
    use callwright_common::json::Pointer;
    use callwright_types::rules::ScanRules;
    use callwright_types::{Diagnosis, FaultCode};

    fn found(arguments: &str, values: &[Value]) -> Vec<Diagnosis> {
        let expected = Expectation {
            tool: "orders.cancel".to_owned(),
            path: Pointer::from("/order_id"),
            source: "search".to_owned(),
            values: values.to_vec(),
        };
        let expectations = Expectations { expected: vec![expected] };
        let context = Context { expectations: Some(&expectations), ..Context::default() };
        let call = call("orders.cancel", arguments);
        scan_in(&call, 0, &tool_set(TOOLS), &ScanRules::default(), &context).result.err().unwrap_or_default()
    }

    #[test]
    fn a_value_that_the_source_does_not_have_is_a_fault() {
        let found = found(r#"{"order_id":7,"reason":"late"}"#, &[json!(8), json!(9)]);
        assert_eq!((found[0].code, found[0].path.as_str()), (FaultCode::WrongSource, "/order_id"));
        assert_eq!((&found[0].facts["options"], &found[0].facts["was_called"]), (&json!(["8", "9"]), &json!(true)));
    }

    #[test]
    fn a_source_value_is_right_in_any_form_and_may_be_absent() {
        for value in [json!(7), json!("7"), json!(7.0)] {
            assert!(found(r#"{"order_id":7,"reason":"late"}"#, &[json!(1), value]).is_empty());
        }
        assert_eq!(found(r#"{"reason":"late"}"#, &[json!(7)])[0].code, FaultCode::ParameterMissing);
    }

    #[test]
    fn no_value_is_right_before_its_source_was_called() {
        let found = found(r#"{"order_id":7,"reason":"late"}"#, &[]);
        assert!(found[0].message.contains("has not been called yet"), "{}", found[0].message);
    }

    #[test]
    fn other_tools_are_not_concerned() {
        let expected = Expectation {
            tool: "search".to_owned(),
            path: Pointer::from("/order_id"),
            source: "ping".to_owned(),
            values: Vec::new(),
        };
        let expectations = Expectations { expected: vec![expected] };
        let context = Context { expectations: Some(&expectations), ..Context::default() };
        let call = call("orders.cancel", r#"{"order_id":7,"reason":"late"}"#);
        assert!(scan_in(&call, 0, &tool_set(TOOLS), &ScanRules::default(), &context).result.is_ok());
    }
}
