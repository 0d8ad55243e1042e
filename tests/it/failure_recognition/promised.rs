//! Documented successes, evaluated against their own document: none counts as an empty result.

use callwright_explain::{Explainer, FailureKind, Settings};
use callwright_openapi::{Operation, Toolset, ToolsetSettings, load_document};
use callwright_test_macros::requires;
use callwright_types::outcome::ApiAnswer;
use callwright_types::{OperationRef, Outcome};
use futures_util::FutureExt;
use serde_json::Value;

use super::answers::{Success, resolved, successes};

#[derive(Default, Debug)]
struct Count {
    operations: usize,
    demanding: usize,
    empty_missed: usize,
    successes: usize,
    judged: usize,
    contradicting: usize,
    wrong: Vec<String>,
}

#[requires("data/specs")]
#[test]
fn no_documented_success_counts_as_without_promised_content() {
    let folder = super::folder();
    let documents = super::documents(&folder);
    assert!(!documents.is_empty());
    let explainer = Explainer::build(Vec::new(), Vec::new(), &Settings::default());
    let mut count = Count::default();
    for (file, document) in &documents {
        let settings = ToolsetSettings::default();
        let Ok(toolset) = load_document("api", &folder.join("specs").join(file), &settings) else { continue };
        judge(&explainer, file, document, &toolset, &mut count);
    }
    println!(
        "{} operations, {} whose answers must have content: nothing is taken for an empty result for all but {}",
        count.operations, count.demanding, count.empty_missed
    );
    println!(
        "{} documented successes, {} of them of such operations: {} wrong, {} contradict their own schema",
        count.successes,
        count.judged,
        count.wrong.len(),
        count.contradicting
    );
    assert!(count.demanding > 0 && count.judged > 0, "{count:?}");
    assert_eq!(count.empty_missed, 0);
    assert!(count.wrong.is_empty(), "{:#?}", count.wrong);
}

fn judge(explainer: &Explainer, file: &str, document: &Value, toolset: &Toolset, count: &mut Count) {
    for operation in &toolset.operations {
        count.operations += 1;
        let demanding = operation
            .promises
            .iter()
            .find(|promise| promise.value.as_ref().is_some_and(|value| value.demands_content() && !value.nullable));
        if let Some(promise) = demanding {
            count.demanding += 1;
            let missed = not_as_promised(explainer, operation, *promise.statuses.start(), "null").is_none();
            count.empty_missed += usize::from(missed);
        }
        let Some(item) = document.get("paths").and_then(|paths| paths.get(&operation.path)) else { continue };
        let Some(raw) = resolved(document, item).get(operation.method.as_str().to_ascii_lowercase()) else { continue };
        for success in successes(document, raw) {
            count.successes += 1;
            count.judged += usize::from(demanding.is_some_and(|promise| promise.statuses.contains(&success.status)));
            let Some(rule) = not_as_promised(explainer, operation, success.status, &success.body.to_string()) else {
                continue;
            };
            match contradicts(document, &success) {
                true => count.contradicting += 1,
                false => count.wrong.push(format!("{file} {}: {rule} {}", operation.label(), success.body)),
            }
        }
    }
}

fn not_as_promised(explainer: &Explainer, operation: &Operation, status: u16, body: &str) -> Option<&'static str> {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let body = body.to_owned().into();
    let answer = ApiAnswer { status, headers, body, truncated: false, paging: Default::default() };
    let reference = OperationRef { toolset: "api".to_owned(), tool: operation.tool.name.clone() };
    match explainer.failure(&reference, &Outcome::Answered(answer), &operation.promises, &[]).now_or_never()?? {
        FailureKind::NotAsPromised(shortfall) => Some(shortfall.rule),
        _ => None,
    }
}

/// Whether a success violates the schema of its document, according to a JSON Schema validator.
fn contradicts(document: &Value, success: &Success) -> bool {
    let Some(schema) = &success.schema else { return false };
    let mut root = document.clone();
    root["allOf"] = Value::Array(vec![schema.clone()]);
    jsonschema::options().build(&root).is_ok_and(|validator| !validator.is_valid(&success.body))
}
