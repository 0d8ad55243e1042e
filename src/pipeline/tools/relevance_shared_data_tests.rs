//! Measures the detection of a more relevant tool (E2.1) on requests with a known correct tool: a call of it must raise
//! no alarm, a call of another tool should raise one.
#![allow(clippy::print_stdout, reason = "the test prints its measurements")]

use std::path::PathBuf;
use std::sync::Arc;

use callwright_test_macros::requires;
use serde_json::Value;

use super::{Offer, ToolsetIndex};
use callwright_judge::scanner::{Context, Relevance, Validators, scan_in};
use callwright_memory::representation::Representations;
use callwright_search::embedding::{Settings, built_in};
use callwright_types::rules::{Action, RelevanceRules, ScanRules};
use callwright_types::{Call, FaultCode, Owner, Tool, ToolKind};

/// Data sets of requests and tools. The other sets have only a few tools, or meaningless names.
const SETS: [&str; 5] = ["banking77", "huggingface", "metatool", "metatool_multi", "sealtools"];

/// Minimum share of wrong calls that raise an alarm under the default rules, over all sets.
const LEAST_RECALL_BY_WORDS: f64 = 0.05;
const LEAST_RECALL_BY_MEANING: f64 = 0.2;

/// Maximum number of requests per set.
const REQUESTS: usize = 300;

/// Number of tools offered at the same time, including the correct ones.
const OFFERED: usize = 20;

/// Printed values of [`RelevanceRules`]: share, and coverage or closeness.
const GRID: [(f64, f64); 12] = [
    (0.0, 0.1),
    (0.1, 0.3),
    (0.1, 0.4),
    (0.1, 0.5),
    (0.2, 0.1),
    (0.2, 0.2),
    (0.2, 0.3),
    (0.2, 0.4),
    (0.2, 0.5),
    (0.2, 0.6),
    (0.3, 0.3),
    (0.3, 0.5),
];

/// Maximum share of correct calls that may raise an alarm under the default rules.
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
        kind: ToolKind::Function,
        reads: None,
        owner: Owner::Client,
        namespace: None,
    }
}

/// A request with the offered tools, a correct one and a wrong one.
struct Trial {
    offer: Offer,
    relevance: Relevance,
    right: String,
    wrong: String,
}

fn trials(set: &str, toolset_index: &ToolsetIndex, mut requests: Vec<Value>) -> Vec<Trial> {
    let mut random = fastrand::Rng::with_seed(5);
    let tools = lines(set, "tools.jsonl");
    random.shuffle(&mut requests);
    let mut trials = Vec::new();
    for request in requests.iter().take(REQUESTS) {
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
        let relevance = offer.relevance(request["query"].as_str().unwrap(), toolset_index);
        trials.push(Trial { offer, relevance, right, wrong });
    }
    trials
}

/// Returns the shares of correct and of wrong calls that raise an alarm.
fn alarms(trials: &[Trial], relevance: &RelevanceRules) -> [f64; 2] {
    let faults = ScanRules::default().faults.with(FaultCode::ToolNotRelevant, Action::Feedback);
    let rules = ScanRules { faults, relevance: relevance.clone(), ..ScanRules::default() };
    let alarm = |trial: &Trial, name: &String| {
        let call = Call { id: String::new(), name: name.clone(), arguments: "{}".to_owned() };
        let context = Context { relevance: Some(&trial.relevance), ..Context::default() };
        scan_in(&call, 0, &trial.offer.tool_set, &rules, &context).result.is_err()
    };
    let share = |name: fn(&Trial) -> &String| {
        trials.iter().filter(|trial| alarm(trial, name(trial))).count() as f64 / trials.len().max(1) as f64
    };
    [share(|trial| &trial.right), share(|trial| &trial.wrong)]
}

/// Prints the alarms of both halves of each set. Fails if the default rules raise too many or too few on the second
/// half.
fn measure(sets: &[(&str, Vec<Trial>)], least_recall: f64) {
    for held_out in [false, true] {
        let half = |trials: &'_ Vec<Trial>| if held_out { trials.len() / 2..trials.len() } else { 0..trials.len() / 2 };
        println!(
            "  {}: share, evidence, false alarms / recall in percent",
            if held_out { "held out" } else { "chosen on" }
        );
        for (share, evidence) in GRID {
            let rules = RelevanceRules { share, coverage: evidence, closeness: evidence };
            let found = sets.iter().map(|(set, trials)| (set, alarms(&trials[half(trials)], &rules)));
            let row: Vec<String> =
                found.map(|(set, [wrong, right])| format!("{set} {:.1}/{:.0}", 100.0 * wrong, 100.0 * right)).collect();
            println!("    {share:.1} {evidence:.1}: {}", row.join(", "));
        }
    }
    let held_out = |trials: &'_ [Trial]| alarms(&trials[trials.len() / 2..], &RelevanceRules::default());
    let [false_alarms, recall] = sets
        .iter()
        .map(|(_, trials)| held_out(trials))
        .fold([0.0; 2], |[one, two], found| [one + found[0] / sets.len() as f64, two + found[1] / sets.len() as f64]);
    println!("  by default, held out: false alarms {:.2} %, recall {:.1} %", 100.0 * false_alarms, 100.0 * recall);
    assert!(false_alarms <= MOST_FALSE_ALARMS, "{false_alarms}");
    assert!(recall >= least_recall, "{recall}");
}

#[requires("data/retrieval")]
#[test]
fn by_words_a_call_of_the_right_tool_raises_next_to_no_alarm() {
    println!("by words");
    let toolset_index = ToolsetIndex::default();
    let sets: Vec<_> = SETS.iter().map(|set| (*set, trials(set, &toolset_index, lines(set, "train.jsonl")))).collect();
    measure(&sets, LEAST_RECALL_BY_WORDS);
}

#[requires("data/retrieval")]
#[test]
fn by_meaning_a_call_of_the_right_tool_raises_next_to_no_alarm() {
    println!("by meaning");
    let toolset_index =
        ToolsetIndex::of_clients(Representations::default(), Some(built_in(&Settings::default()).unwrap()));
    let sets: Vec<_> = SETS.iter().map(|set| (*set, trials(set, &toolset_index, lines(set, "train.jsonl")))).collect();
    measure(&sets, LEAST_RECALL_BY_MEANING);
}

/// `CALLWRIGHT_LEARNED` names a folder with `SET.rep/`, the output of `callwright learn representations` for a part of
/// the requests of a set, and `SET.eval.jsonl`, the other requests.
#[test]
#[ignore = "requires the output of `callwright learn representations` in CALLWRIGHT_LEARNED"]
fn right_calls_rarely_raise_an_alarm_by_learned_patterns() {
    let learned = PathBuf::from(std::env::var_os("CALLWRIGHT_LEARNED").unwrap());
    println!("by meaning, with learned patterns");
    let learned_sets = SETS.into_iter().filter(|set| learned.join(format!("{set}.rep")).is_dir());
    let of_set = |set: &'static str| {
        let representations = Representations::from_directory(&learned.join(format!("{set}.rep"))).unwrap();
        let requests = std::fs::read_to_string(learned.join(format!("{set}.eval.jsonl"))).unwrap();
        let requests = requests.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let toolset_index = ToolsetIndex::of_clients(representations, Some(built_in(&Settings::default()).unwrap()));
        (set, trials(set, &toolset_index, requests))
    };
    let sets: Vec<_> = learned_sets.map(of_set).collect();
    measure(&sets, LEAST_RECALL_BY_MEANING);
}
