//! How often the rule finds that a plan is needed where one is, and where none is.
#![allow(clippy::print_stdout, reason = "a test says what it measured and what it left out")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{is_key, needs_plan};
use crate::planner::drawing::{Occasion, ToolList, Tools};
use crate::planner::producers::{Producers, Request, segment_of};
use callwright_judge::scanner::{Settings, Validators};
use callwright_openapi::{Catalog, Offline, Toolset, ToolsetSettings};
use callwright_types::{Message, Speaker};

/// Share of requests that one call serves beyond which simple turns pay.
const MOST_FALSE_ALARMS: f64 = 0.02;

/// Operations that are asked for.
const REQUESTS: usize = 1500;

/// Toolsets of these sizes: with few tools there is hardly a choice, and large ones take their time.
const SIZES: std::ops::RangeInclusive<usize> = 5..=80;

fn specs() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"))
        .join("data/specs/readme_oas_examples")
}

/// Requests that one call serves: what the document says that the operation does, of operations that need no key.
#[test]
fn what_needs_no_key_is_asked_for_without_a_plan() {
    if !specs().is_dir() {
        return println!("passed by: there is no {}", specs().display());
    }
    let settings = ToolsetSettings { document: specs().display().to_string(), ..ToolsetSettings::default() };
    let (catalog, _) = Catalog::load(&[("specs".to_owned(), settings)].into(), Path::new("."), &Offline).unwrap();
    let (mut requests, mut alarms) = (0, Vec::new());
    for toolset in catalog.toolsets().filter(|toolset| SIZES.contains(&toolset.operations.len())) {
        if requests < REQUESTS {
            let (asked, mut found) = alarms_of(toolset);
            requests += asked;
            alarms.append(&mut found);
        }
    }
    let share = alarms.len() as f64 / requests.max(1) as f64;
    println!("{requests} requests that one call serves, {} false alarms, {:.1} %", alarms.len(), 100.0 * share);
    assert!(requests > 0 && share <= MOST_FALSE_ALARMS, "{alarms:#?}");
}

/// How many requests there are, and those that are said to need a plan.
fn alarms_of(toolset: &Toolset) -> (usize, Vec<String>) {
    let producers = Producers::new([Arc::new(segment_of(toolset))]);
    let listed = toolset.operations.iter().map(|operation| (Arc::clone(&operation.tool), operation.outputs.to_vec()));
    let tools = ToolList::compile(listed.collect(), &Validators::new(&Settings::default()));
    let offered: Vec<usize> = (0..producers.len()).collect();
    let (mut requests, mut alarms) = (0, Vec::new());
    for (at, operation) in toolset.operations.iter().enumerate() {
        let needs_key =
            tools.tool(at).unwrap().tool.parameters().any(|parameter| parameter.required && is_key(&parameter));
        let in_path = operation.path.contains('{');
        let text = operation.tool.description.lines().next().unwrap_or_default().to_owned();
        if needs_key || in_path || text.is_empty() {
            continue;
        }
        let asked = producers.ask(&Request::read(&text), &[]);
        let conversation = [Message { speaker: Speaker::User, text, calls: Vec::new(), answers: None, name: None }];
        let occasion = Occasion {
            tools: &tools,
            producers: &producers,
            asked: &asked,
            offered: &offered,
            conversation: &conversation,
            memory: &[],
            outline: &[],
        };
        requests += 1;
        alarms.extend(needs_plan(&occasion).map(|why| {
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
