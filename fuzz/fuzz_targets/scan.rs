//! Judges arbitrary arguments by arbitrary schemas: judgement terminates, repair converges after one round, valid
//! arguments match the schema, and the feedback on invalid ones has an example that does.
//!
//! Input: a schema as JSON, a line break, and the arguments as text. Other bytes are interpreted as choices from which
//! a schema and arguments are generated.
#![no_main]

use arbitrary::Unstructured;
use callwright_types::Call;
use callwright_types::rules::{RepairRules, Report, ScanRules, UnknownParameters};
use callwright_judge::feedback;
use callwright_judge::repair::{judge, repair_call};
use callwright_judge::scanner::{Context, ToolSet, scan};
use callwright_fuzz::{arbitrary_json, tool_set};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

fuzz_target!(|input: &[u8]| {
    let Some((schema, arguments)) = as_text(input).or_else(|| as_choices(input)) else { return };
    let book = tool_set([("f", schema), ("other_tool", Value::Null)]);
    let call = Call { id: "call_1".to_owned(), name: "f".to_owned(), arguments };
    for report in [Report::First, Report::All] {
        use UnknownParameters::{Allow, Auto, Drop, Refuse};
        for unknown_parameters in [Refuse, Drop, Auto, Allow] {
            check(&call, &book, &ScanRules { report, unknown_parameters, ..ScanRules::default() });
        }
    }
});

fn as_text(input: &[u8]) -> Option<(Value, String)> {
    let (schema, arguments) = std::str::from_utf8(input).ok()?.split_once('\n')?;
    Some((serde_json::from_str(schema).ok()?, arguments.to_owned()))
}

fn as_choices(input: &[u8]) -> Option<(Value, String)> {
    let mut bytes = Unstructured::new(input);
    let schema = arbitrary_json(&mut bytes).ok()?;
    Some((schema, arbitrary_json(&mut bytes).ok()?.to_string()))
}

fn check(call: &Call, book: &ToolSet, rules: &ScanRules) {
    let repair = RepairRules::default();
    let once = repair_call(call, 0, book, rules, &repair);
    let twice = repair_call(&once.call, 0, book, rules, &repair);
    assert_eq!(once.call.arguments, twice.call.arguments, "mending twice changes more");
    assert!(twice.repairs.is_empty(), "a repair that changes nothing: {:?}", twice.repairs);
    if scan(call, 0, book, rules).is_ok() {
        assert!(once.repairs.is_empty(), "a right call was changed: {:?}", once.repairs);
    }
    let (mended, scan) = judge(call, 0, book, rules, &repair, &Context::default());
    match scan.result {
        Ok(checked) => {
            let refused = !matches!(rules.unknown_parameters, UnknownParameters::Allow | UnknownParameters::Auto);
            let fits = book.get("f").is_some_and(|tool| tool.accepts(checked.arguments()));
            assert!(fits || !refused, "clean, and does not fit: {}", mended.call.arguments);
        }
        Err(diagnoses) => {
            assert!(!diagnoses.is_empty());
            assert!(diagnoses.windows(2).all(|pair| pair[0].code.level() <= pair[1].code.level()));
            told(call, &feedback::faulty_call(call, &diagnoses, book), book);
        }
    }
}

/// Maximum size of a message in bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

fn told(call: &Call, message: &str, book: &ToolSet) {
    assert!(message.starts_with("Error: ") && message.len() < MAX_MESSAGE_BYTES, "{message}");
    let Some((_, behind)) = message.rsplit_once("in this form: `f` with the arguments ") else { return };
    // A call that contains these words may be a quotation.
    if call.arguments.contains("in this form") {
        return;
    }
    let shown = serde_json::Deserializer::from_str(behind).into_iter::<Map<String, Value>>().next();
    let shown = shown.and_then(Result::ok).expect("an example is a JSON object");
    assert!(book.get("f").is_some_and(|tool| tool.accepts(&shown)), "the example does not fit: {message}");
}
