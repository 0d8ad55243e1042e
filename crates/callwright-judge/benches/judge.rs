//! Measures the validation of a native call with cached validators: `cargo bench --bench judge`.
#![allow(clippy::panic, reason = "a benchmark with an unexpected verdict must stop")]

mod support;

use callwright_allocator::Allocator;
use std::hint::black_box;

use callwright_judge::feedback;
use callwright_judge::repair::rescue::Situation;
use callwright_judge::repair::{JudgedMessage, Spoken, judge_message};
use callwright_judge::scanner::{Context, ToolSet};
use callwright_types::rules::{Evidence, RepairRules, ScanRules};
use callwright_types::{Call, Verdict};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Map, Value, json};
use support::{tool_set, usual_tools};

/// Same allocator as the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

criterion_group!(benches, usual_call, large_call, feedback);
criterion_main!(benches);

fn call(name: &str, arguments: &Value) -> Call {
    Call { id: "call_1".to_owned(), name: name.to_owned(), arguments: arguments.to_string() }
}

fn judged(calls: &[Call], book: &ToolSet) -> JudgedMessage {
    let spoken = Spoken { text: None, calls, situation: Situation::with(Evidence::Alone) };
    judge_message(&spoken, book, &ScanRules::default(), &RepairRules::default(), &Context::default())
}

/// Measures the validation of one call after checking its verdict.
fn measure(criterion: &mut Criterion, name: &str, call: Call, book: &ToolSet, expected: Verdict) {
    let calls = [call];
    let message = judged(&calls, book);
    assert_eq!(message.verdict(), expected, "{name}: {message:?}");
    criterion.bench_function(name, |bencher| bencher.iter(|| judged(black_box(&calls), book)));
}

fn usual_call(criterion: &mut Criterion) {
    let book = usual_tools();
    let right = json!({"city": "Oslo", "days": 3, "unit": "celsius", "from_date": "2025-01-31", "detailed": true,
        "tags": ["rain", "wind"]});
    let mendable = json!({"City": "Oslo", "days": "3", "unit": "Celsius", "from_date": "2025-01-31", "detailed": "true",
        "tags": "rain"});
    let faulty = json!({"city": "Oslo", "unit": "kelvin"});
    measure(criterion, "usual call, right", call("get_weather", &right), &book, Verdict::Clean);
    measure(criterion, "usual call, mended", call("getWeather", &mendable), &book, Verdict::Repaired);
    measure(criterion, "usual call, faulty", call("get_weather", &faulty), &book, Verdict::Faulty);
}

/// Number of parameter groups in the large call, and of parameters in each group.
const GROUPS: usize = 10;

fn large_call(criterion: &mut Criterion) {
    let group = |member: &dyn Fn(usize) -> Value| -> Map<String, Value> {
        (0..GROUPS).map(|index| (format!("member_{index}"), member(index))).collect()
    };
    let groups = |of_group: &dyn Fn() -> Value| -> Map<String, Value> {
        (0..GROUPS).map(|index| (format!("group_{index}"), of_group())).collect()
    };
    let schema_of = |index: usize| match index % 5 {
        0 => json!({"type": "integer", "minimum": 0}),
        1 => json!({"type": "string", "maxLength": 40}),
        2 => json!({"type": "string", "enum": ["small", "large"]}),
        3 => json!({"type": "boolean"}),
        _ => json!({"type": "array", "items": {"type": "number"}}),
    };
    let value_of =
        |index: usize| [json!(5), json!("text"), json!("small"), json!(true), json!([1.5, 2.5])][index % 5].clone();
    let spelt_of = |index: usize| {
        [json!("5"), json!("text"), json!("Small"), json!("true"), json!("[1.5, 2.5]")][index % 5].clone()
    };
    let names: Vec<String> = (0..GROUPS).map(|index| format!("member_{index}")).collect();
    let schema = groups(&|| json!({"type": "object", "required": names, "properties": group(&schema_of)}));
    let schema = json!({"type": "object", "properties": schema, "additionalProperties": false});
    let book = tool_set(vec![("configure".to_owned(), schema)]);
    let right = Value::Object(groups(&|| Value::Object(group(&value_of))));
    let mendable = Value::Object(groups(&|| Value::Object(group(&spelt_of))));
    measure(criterion, "100 parameters, right", call("configure", &right), &book, Verdict::Clean);
    measure(criterion, "100 parameters, 80 of them mended", call("configure", &mendable), &book, Verdict::Repaired);
}

fn feedback(criterion: &mut Criterion) {
    let book = usual_tools();
    let calls = [call("get_weather", &json!({"city": "Oslo", "unit": "kelvin"}))];
    let message = judged(&calls, &book);
    let Some(Err(diagnoses)) = message.calls.first().map(|call| &call.result) else { panic!("the call is faulty") };
    criterion.bench_function("feedback on a faulty call", |bencher| {
        bencher.iter(|| feedback::faulty_call(black_box(&calls[0]), diagnoses, &book));
    });
}
