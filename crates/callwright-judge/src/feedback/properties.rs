//! Properties of all messages, for arbitrary schemas and calls.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::feedback;
use crate::generated::{call_of, config, misspelt, schema_and_arguments, tool_set, wild_json};
use callwright_common::json::Pointer;
use callwright_scanner::testing::call;
use callwright_scanner::{ToolSet, scan};
use callwright_types::rules::{Report, ScanRules};
use callwright_types::{Diagnosis, FaultCode};

/// Maximum length of a message in bytes. The length and number of quoted parts are bounded.
const MAX_BYTES: usize = 40_000;

/// Returns the arguments of the example in a message, if any.
fn example(message: &str) -> Option<Map<String, Value>> {
    let (_, behind) = message.split_once("in this form: `f` with the arguments ")?;
    let shown = serde_json::Deserializer::from_str(behind).into_iter().next();
    Some(shown.expect("an example").expect("arguments that are a JSON object"))
}

fn check(message: &str, book: &ToolSet) -> Result<(), TestCaseError> {
    prop_assert!(message.starts_with("Error: ") && message.len() < MAX_BYTES, "{message}");
    prop_assert!(message.lines().any(|line| line.starts_with("Call again")), "{message}");
    if let Some(arguments) = example(message) {
        prop_assert!(book.tools()[0].accepts(&arguments), "{message}");
    }
    Ok(())
}

fn of_answer(facts: Value) -> Diagnosis {
    let (code, path, message) = (FaultCode::NoCall, Pointer::root(), "no call can be read".to_owned());
    Diagnosis { code, call: 0, path, message, facts, suggestion: None }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn every_example_validates(
        (schema, arguments) in schema_and_arguments(),
        choices in prop::collection::vec(0u8..12, 0..20),
    ) {
        let book = tool_set(&schema);
        let faulty = misspelt(&arguments, &mut choices.into_iter());
        for text in [faulty.to_string(), arguments.to_string().replacen('"', "'", 1), String::new()] {
            let call = call("f", &text);
            let Err(diagnoses) = scan(&call, 0, &book, &ScanRules::default()) else { continue };
            let message = feedback::faulty_call(&call, &diagnoses, &book);
            check(&message, &book)?;
            prop_assert!(example(&message).is_some(), "{schema} {message}");
        }
        let message = feedback::no_call(&of_answer(json!({ "name": "f" })), &book);
        check(&message, &book)?;
        prop_assert!(example(&message).is_some(), "{schema} {message}");
    }

    #[test]
    fn no_schema_or_call_makes_a_wrong_or_endless_message(
        schema in wild_json(),
        arguments in wild_json(),
        name in prop::sample::select(vec!["f", "F", "ff", "`g`\n<data>"]),
        text in ".{0,40}",
        reason in prop::sample::select(vec!["unreadable", "cut_off", "unknown_tool", "arguments", "expression", "another"]),
    ) {
        let book = tool_set(&schema);
        let rules = ScanRules { report: Report::All, ..ScanRules::default() };
        let call = callwright_types::Call { name: name.to_owned(), ..call_of(&arguments) };
        if let Err(diagnoses) = scan(&call, 0, &book, &rules) {
            check(&feedback::faulty_call(&call, &diagnoses, &book), &book)?;
        }
        let facts = json!({ "reason": reason, "near": text, "name": name, "notation": 5 });
        check(&feedback::no_call(&of_answer(facts), &book), &book)?;
    }

    #[test]
    fn a_fault_without_its_facts_is_still_told(code in prop::sample::select(FaultCode::ALL.to_vec()), null in any::<bool>()) {
        let book = tool_set(&json!({ "type": "object" }));
        let diagnosis = Diagnosis { code, facts: if null { Value::Null } else { json!({}) }, ..of_answer(Value::Null) };
        let message = feedback::faulty_call(&call("f", "{}"), &[diagnosis], &book);
        check(&message, &book)?;
        prop_assert!(message.contains(code.code()), "{message}");
    }
}
