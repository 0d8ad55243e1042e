//! When is it evident that another tool serves a request better (E2.1)? Measured on requests of which the right tool is known:
//! a call of it must raise no alarm, a call of another tool should.
#![allow(clippy::print_stdout, reason = "a test says what it measured and what it left out")]

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::super::offer::Offer;
use super::relevance_of;
use crate::domain::rules::{Action, RelevanceRules, ScanRules};
use crate::domain::{Call, FaultCode, Owner, Tool};
use crate::scanner::{Context, Relevance, Validators, scan_in};

/// Sets of requests and tools. (Of the others one has a handful of tools, or names that say nothing.)
const SETS: [&str; 5] = ["banking77", "huggingface", "metatool", "metatool_multi", "sealtools"];

/// Share of wrong calls that raise an alarm under the default rules, over all sets, below which it is of no use.
const LEAST_RECALL: f64 = 0.05;

/// Requests of a set that are tried.
const REQUESTS: usize = 300;

/// Tools that are offered at the same time, the right ones among them.
const OFFERED: usize = 20;

/// Values of [`RelevanceRules`] that are shown: share and coverage.
const GRID: [(f64, f64); 12] = [
    (0.0, 0.1),
    (0.0, 0.2),
    (0.1, 0.1),
    (0.1, 0.2),
    (0.1, 0.3),
    (0.2, 0.1),
    (0.2, 0.2),
    (0.2, 0.3),
    (0.3, 0.2),
    (0.3, 0.3),
    (0.5, 0.3),
    (0.5, 0.5),
];

/// Share of right calls that may raise an alarm under the default rules.
const MOST_FALSE_ALARMS: f64 = 0.01;

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared")).join("data/retrieval")
}

fn lines(set: &str, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(set).join(file)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn tool(value: &Value) -> Tool {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let parameters = Arc::new(Value::Null);
    Tool {
        name: text("name"),
        description: text("description"),
        parameters,
        free_text: false,
        reads: None,
        owner: Owner::Client,
    }
}

/// A request with the tools offered, a right one and a wrong one.
struct Trial {
    offer: Offer,
    relevance: Relevance,
    right: String,
    wrong: String,
}

fn trials(set: &str) -> Vec<Trial> {
    let mut random = fastrand::Rng::with_seed(5);
    let (tools, mut requests) = (lines(set, "tools.jsonl"), lines(set, "train.jsonl"));
    random.shuffle(&mut requests);
    requests
        .iter()
        .take(REQUESTS)
        .map(|request| {
            let right = request["tools"].as_array().unwrap();
            let mut offered: Vec<Tool> = tools.iter().filter(|tool| right.contains(&tool["name"])).map(tool).collect();
            let wrong_from = offered.len();
            while offered.len() < OFFERED.min(tools.len()) {
                let other = &tools[random.usize(..tools.len())];
                if !offered.iter().any(|known| known.name == other["name"]) {
                    offered.push(tool(other));
                }
            }
            let wrong = offered[random.usize(wrong_from..offered.len())].name.clone();
            let right = offered[random.usize(..wrong_from)].name.clone();
            random.shuffle(&mut offered);
            let offer = Offer::of_client(offered, &Validators::default());
            let relevance = relevance_of(request["query"].as_str().unwrap(), &offer);
            Trial { offer, relevance, right, wrong }
        })
        .collect()
}

/// Shares of the right and of the wrong calls that raise an alarm.
fn alarms(trials: &[Trial], relevance: RelevanceRules) -> [f64; 2] {
    let faults = ScanRules::default().faults.with(FaultCode::ToolNotRelevant, Action::Feedback);
    let rules = ScanRules { faults, relevance, ..ScanRules::default() };
    let alarm = |trial: &Trial, name: &String| {
        let call = Call { id: String::new(), name: name.clone(), arguments: "{}".to_owned() };
        let context = Context { relevance: Some(&trial.relevance), ..Context::default() };
        scan_in(&call, 0, &trial.offer.toolbook, &rules, &context).result.is_err()
    };
    let share = |name: fn(&Trial) -> &String| {
        trials.iter().filter(|trial| alarm(trial, name(trial))).count() as f64 / trials.len().max(1) as f64
    };
    [share(|trial| &trial.right), share(|trial| &trial.wrong)]
}

#[test]
fn a_call_of_the_right_tool_raises_next_to_no_alarm() {
    if !folder().is_dir() {
        println!("passed by: no requests in {}", folder().display());
        return;
    }
    let sets: Vec<(&str, Vec<Trial>)> = SETS.iter().map(|set| (*set, trials(set))).collect();
    println!("false alarms / recall, in percent, by share and coverage");
    for (share, coverage) in GRID {
        let row: Vec<String> = sets
            .iter()
            .map(|(set, trials)| {
                let [wrong, right] = alarms(trials, RelevanceRules { share, coverage });
                format!("{set} {:.1}/{:.0}", 100.0 * wrong, 100.0 * right)
            })
            .collect();
        println!("  {share:.1} {coverage:.1}: {}", row.join(", "));
    }
    for (set, trials) in &sets {
        let [false_alarms, _] = alarms(trials, RelevanceRules::default());
        assert!(false_alarms <= MOST_FALSE_ALARMS, "{set}: {false_alarms}");
    }
    let recall: f64 = sets.iter().map(|(_, trials)| alarms(trials, RelevanceRules::default())[1]).sum();
    assert!(recall / sets.len() as f64 >= LEAST_RECALL, "{recall}");
}
