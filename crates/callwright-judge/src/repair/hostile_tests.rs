//! Tests with adversarial answers: the cost of judging is bounded, and an unjudged call is reported as neither valid
//! nor faulty.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};

use super::rescue::Situation;
use super::{JudgedCall, JudgedMessage, Spoken, Unjudged, judge_message};
use callwright_scanner::testing::{refusing, tool};
use callwright_scanner::{BudgetLimits, Context, JudgementBudget, Settings, ToolSet, Validators};
use callwright_types::rules::{Evidence, RepairRules, Report, ScanRules, UnknownParameters};
use callwright_types::{Call, FaultCode, Similarity, Verdict};

/// Creates a tool `f` with this many parameters, and other tools.
fn book(parameters: usize, others: usize) -> ToolSet {
    let schema = |count: usize| {
        let one = |index: usize| (format!("parameter_{index}"), json!({ "type": "string", "enum": ["red", "green"] }));
        json!({ "type": "object", "properties": (0..count).map(one).collect::<Map<_, _>>() })
    };
    let others = (0..others).map(|index| tool(&format!("other_{index}"), &schema(8)));
    ToolSet::compile(others.chain([tool("f", &schema(parameters))]).collect(), &Validators::default())
}

fn call(arguments: String) -> Call {
    Call { id: "c".to_owned(), name: "f".to_owned(), arguments }
}

fn unknown(count: usize) -> String {
    let members: Map<String, Value> = (0..count).map(|index| (format!("unheard_of_{index}"), json!(1))).collect();
    Value::Object(members).to_string()
}

fn limits(diagnoses: usize) -> BudgetLimits {
    BudgetLimits { diagnoses, time: None }
}

fn judged(calls: &[Call], text: Option<&str>, book: &ToolSet, budget: &JudgementBudget) -> JudgedMessage {
    judged_with(calls, text, book, &Context { budget: Some(budget), ..Context::default() })
}

fn judged_with(calls: &[Call], text: Option<&str>, book: &ToolSet, context: &Context<'_>) -> JudgedMessage {
    let spoken = Spoken { text, calls, situation: Situation::with(Evidence::Amid) };
    let scan = ScanRules { report: Report::All, ..refusing() };
    judge_message(&spoken, book, &scan, &RepairRules::default(), context)
}

/// Returns the number of steps that judging takes.
fn steps(calls: &[Call], text: Option<&str>, book: &ToolSet) -> u64 {
    let takes_all = |steps: u64| judged(calls, text, book, &JudgementBudget::of_steps(100, steps)).unjudged.is_some();
    let mut enough = 1;
    while takes_all(enough) {
        enough *= 2;
        assert!(enough < 1 << 40, "there is no end");
    }
    enough
}

/// Counts the comparisons that are requested.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl Similarity for Counting {
    fn similarity(&self, _: &str, _: &str) -> Option<f64> {
        self.0.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[test]
fn unknown_parameters_are_compared_for_as_many_as_are_reported() {
    let book = book(50, 0);
    let calls: Vec<Call> = (0..400).map(|_| call(unknown(25))).collect();
    let (similarity, budget) = (Counting::default(), JudgementBudget::start(Settings::default().budget()));
    let context = Context { similarity: Some(&similarity), budget: Some(&budget), ..Context::default() };
    let found = judged_with(&calls, None, &book, &context);
    assert_eq!((found.calls.len(), found.verdict(), found.unjudged), (400, Verdict::Faulty, None));
    assert_eq!(found.diagnoses().count(), 100, "the default");
    let examined = found.calls.iter().filter(|call| !call.is_unexamined()).count();
    assert_eq!(examined, 4);
    let compared = similarity.0.load(Ordering::Relaxed);
    assert!(compared <= examined * 25 * 50, "{compared} comparisons");
}

#[test]
fn work_for_unknown_parameters_grows_linearly_at_most() {
    let book = book(50, 300);
    for of_one_call in [true, false] {
        let calls = |count: usize| match of_one_call {
            true => vec![call(unknown(count))],
            false => (0..count / 10).map(|_| call(unknown(10))).collect(),
        };
        let [few, many] = [1_000, 10_000].map(|count| steps(&calls(count), None, &book));
        assert!(many <= 20 * few, "{few} steps, then {many}");
    }
}

#[test]
fn calls_behind_enough_faults_are_not_examined_and_not_right() {
    let calls = [call(unknown(3)), call("{}".to_owned()), call(unknown(3)), call("{}".to_owned())];
    let found = judged(&calls, None, &book(2, 0), &JudgementBudget::start(limits(6)));
    let results: Vec<bool> = found.calls.iter().map(JudgedCall::is_unexamined).collect();
    assert_eq!(results, [false, false, false, true]);
    assert!(found.calls[1].result.is_ok() && found.calls[3].result.is_err());
    assert_eq!((found.verdict(), found.unjudged), (Verdict::Faulty, None));
    let right = judged(&calls[1..2], None, &book(2, 0), &JudgementBudget::start(limits(6)));
    assert_eq!(right.verdict(), Verdict::Clean);
}

#[test]
fn an_answer_is_judged_as_a_whole_or_not_at_all() {
    let book = book(4, 0);
    let clean = r#"{"parameter_0":"red"}"#.to_owned();
    let calls: Vec<Call> =
        (0..50).map(|index| if index % 7 == 6 { call(unknown(3)) } else { call(clean.clone()) }).collect();
    let whole = judged(&calls, None, &book, &JudgementBudget::start(limits(100)));
    assert_eq!(whole.verdict(), Verdict::Faulty);
    let (mut unjudged, mut judged_in_full) = (0, 0);
    for steps in 0..400 {
        let budget = JudgementBudget::of_steps(100, steps);
        let found = judged(&calls, None, &book, &budget);
        if found.unjudged.is_some() {
            unjudged += 1;
            assert_eq!((found.unjudged, found.verdict()), (Some(Unjudged::Calls), Verdict::Unguarded));
            assert!(budget.is_spent() && found.calls.iter().all(JudgedCall::is_unexamined), "nothing may be executed");
            assert!(
                found.calls.iter().zip(&calls).all(|(found, call)| found.made == *call && found.repairs.is_empty())
            );
            assert_eq!(found.diagnoses().count() + found.advice().count(), 0);
        } else {
            judged_in_full += 1;
            assert_eq!(found.diagnoses().count(), whole.diagnoses().count());
        }
    }
    assert!(unjudged > 0 && judged_in_full > 0, "{unjudged} {judged_in_full}");
}

#[test]
fn a_text_that_is_not_read_to_its_end_is_a_text() {
    let book = book(4, 0);
    let text = "<tool_call>{\"name\":\"f\",\"arguments\":{\"parameter_0\":\"red\"}}</tool_call>\n".repeat(20);
    let whole = judged(&[], Some(&text), &book, &JudgementBudget::of_steps(100, 1 << 20));
    assert!(whole.rescued.is_some() && whole.unjudged.is_none());
    for steps in 0..20 {
        let found = judged(&[], Some(&text), &book, &JudgementBudget::of_steps(100, steps));
        assert_eq!((found.unjudged, found.verdict()), (Some(Unjudged::Text), Verdict::Unguarded));
        assert!(found.calls.is_empty() && found.rescued.is_none() && found.no_call.is_none());
    }
}

#[test]
fn hostile_texts_of_a_megabyte_take_steps_in_proportion() {
    let book = book(4, 0);
    for piece in [
        "<tool_call>", "<tool_call>{\"name\": \"", "f(\n", "{\"a\": 1}\n", "```\n", "<think>", "\n",
        "{\"name\":\"f\",\"arguments\":{",
    ] {
        let [few, many] =
            [1 << 11, 1 << 14].map(|bytes: usize| steps(&[], Some(&piece.repeat(bytes / piece.len())), &book));
        assert!(many <= 8 * 2 * few.max(64), "{piece:?}: {few} steps, then {many}");
    }
    let text = "f(\n".repeat(1 << 18);
    assert_eq!(judged(&[], Some(&text), &book, &JudgementBudget::of_steps(100, 1_000)).unjudged, Some(Unjudged::Text));
}

#[test]
fn thousands_of_calls_and_wrong_values_give_a_bounded_report() {
    let book = book(50, 0);
    let wrong: Map<String, Value> = (0..50).map(|index| (format!("parameter_{index}"), json!("bleu"))).collect();
    let wrong = Value::Object(wrong).to_string();
    for calls in [vec![call(wrong); 2_000], vec![call("{".to_owned()); 10_000], vec![call(unknown(1)); 10_000]] {
        let found = judged(&calls, None, &book, &JudgementBudget::start(Settings::default().budget()));
        assert_eq!((found.calls.len(), found.verdict()), (calls.len(), Verdict::Faulty));
        assert!(found.diagnoses().count() < 100 + 32, "{}", found.diagnoses().count());
    }
    let deep = format!("{}1{}", "{\"parameter_0\":".repeat(100), "}".repeat(100));
    let found = judged(&vec![call(deep); 1_000], None, &book, &JudgementBudget::start(Settings::default().budget()));
    assert_eq!(found.verdict(), Verdict::Faulty);
}

#[test]
fn members_that_mean_nothing_are_dropped_within_the_budget() {
    let rules = ScanRules { unknown_parameters: UnknownParameters::Drop, ..ScanRules::default() };
    let calls = [call(unknown(300))];
    let spoken = Spoken { text: None, calls: &calls, situation: Situation::with(Evidence::Off) };
    let run = |steps| {
        let budget = JudgementBudget::of_steps(100, steps);
        let context = Context { budget: Some(&budget), ..Context::default() };
        judge_message(&spoken, &book(4, 0), &rules, &RepairRules::default(), &context)
    };
    assert_eq!((run(100_000).verdict(), run(200).unjudged), (Verdict::Repaired, Some(Unjudged::Calls)));
}

#[test]
fn a_parameter_of_another_tool_is_found_among_many_tools() {
    let book = book(2, 300);
    let found =
        judged(&[call(r#"{"parameter_7":"red"}"#.to_owned())], None, &book, &JudgementBudget::start(limits(100)));
    let diagnosis = found.diagnoses().next().unwrap();
    assert_eq!((diagnosis.code, &diagnosis.facts["owners"][0]), (FaultCode::ParameterOfOtherTool, &json!("other_0")));
    assert_eq!(diagnosis.facts["owners"].as_array().map(Vec::len), Some(3));
}
