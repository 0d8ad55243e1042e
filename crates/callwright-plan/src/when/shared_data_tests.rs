//! Measures how often the rule predicts a plan for requests that need one and for requests that need none.
#![allow(clippy::print_stdout, reason = "the test reports its measurement")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{is_key, needs_plan};
use crate::generation::{PlanInputs, ToolList, Tools};
use crate::producers::{Producers, Request, segment_of};
use callwright_judge::scanner::{Settings, Validators};
use callwright_openapi::{Catalog, Offline, Toolset, ToolsetSettings};
use callwright_test_macros::requires;
use callwright_types::{Message, Speaker};

/// Maximum share of single-call requests that may be predicted to need a plan.
const MOST_FALSE_ALARMS: f64 = 0.02;

/// Number of operations that are requested.
const REQUESTS: usize = 1500;

/// Sizes of the toolsets: small ones offer little choice, and large ones take long.
const SIZES: std::ops::RangeInclusive<usize> = 5..=80;

fn specs() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"))
        .join("data/specs/readme_oas_examples")
}

/// Uses the documented descriptions of operations without required keys as requests.
#[requires("data/specs/readme_oas_examples")]
#[test]
fn requests_without_required_keys_need_no_plan() {
    let settings = ToolsetSettings { document: specs().display().to_string(), ..ToolsetSettings::default() };
    let (catalog, _) = Catalog::load(&[("specs".to_owned(), settings)].into(), Path::new("."), &Offline).unwrap();
    let (mut requests, mut alarms) = (0, Vec::new());
    for toolset in catalog.toolsets().filter(|toolset| SIZES.contains(&toolset.operations.len())) {
        if requests < REQUESTS {
            let (count, mut found) = alarms_of(toolset);
            requests += count;
            alarms.append(&mut found);
        }
    }
    let share = alarms.len() as f64 / requests.max(1) as f64;
    println!("{requests} requests that one call serves, {} false alarms, {:.1} %", alarms.len(), 100.0 * share);
    assert!(requests > 0 && share <= MOST_FALSE_ALARMS, "{alarms:#?}");
}

/// Returns the number of requests and those predicted to need a plan.
fn alarms_of(toolset: &Toolset) -> (usize, Vec<String>) {
    let producers = Producers::new([Arc::new(segment_of(toolset))]);
    let listed = toolset.operations.iter().map(|operation| (Arc::clone(&operation.tool), operation.outputs.to_vec()));
    let tools = ToolList::compile(listed.collect(), &Validators::new(&Settings::default()));
    let offered: Vec<usize> = (0..producers.len()).collect();
    let (mut requests, mut alarms) = (0, Vec::new());
    for (at, operation) in toolset.operations.iter().enumerate() {
        let needs_key = tools.tool(at).is_some_and(|tool| {
            tool.tool.parameters().any(|parameter| parameter.required && is_key(&tool, &parameter))
        });
        let in_path = operation.path.contains('{');
        let text = operation.tool.description.lines().next().unwrap_or_default().to_owned();
        if needs_key || in_path || text.is_empty() {
            continue;
        }
        let scores = producers.score(&Request::parse(&text), &[]);
        let conversation = [Message { speaker: Speaker::User, text, calls: Vec::new(), answers: None, name: None }];
        let inputs = PlanInputs {
            tools: &tools,
            producers: &producers,
            scores: &scores,
            offered: &offered,
            conversation: &conversation,
            memory: &[],
            outline: &[],
        };
        requests += 1;
        alarms.extend(needs_plan(&inputs).map(|why| {
            let called = |at: usize| toolset.operations[at].tool.name.clone();
            format!(
                "{}: {:?} is taken for {}({}) of {}",
                operation.tool.name,
                conversation[0].text,
                called(why.tool),
                why.argument,
                called(why.producer.tool)
            )
        }));
    }
    (requests, alarms)
}
