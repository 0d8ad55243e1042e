use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::representation::model::test_model::{Scripted, ScriptedModel, error, message, text};
use callwright_types::Cost;

const MISSED: [&str; 3] = [
    "I think I have lost my card somewhere, please block it",
    "Someone stole my card at the station this morning",
    "help",
];

fn pattern(description: &str, cases: &[&str]) -> Pattern {
    let cases = cases.iter().map(|case| (*case).to_owned()).collect();
    Pattern { description: description.to_owned(), cases, weight: 0.5 }
}

struct ProposalOutcome<T> {
    result: Result<T, ProposeError>,
    scripted: ScriptedModel,
    cost: Cost,
}

async fn add(
    script: impl IntoIterator<Item = Scripted>,
    present: &[Pattern],
    room: usize,
) -> ProposalOutcome<Vec<Pattern>> {
    let scripted = ScriptedModel::answering(script).await;
    let model = scripted.model();
    let proposer = LlmProposer::new(Arc::clone(&model));
    let addition =
        Addition { tool: "lost_card", description: "Blocks cards.", patterns: present, missed: &MISSED, room };
    let result = proposer.add(addition).await;
    ProposalOutcome { result, cost: model.journal().cost(), scripted }
}

async fn edit(script: impl IntoIterator<Item = Scripted>) -> ProposalOutcome<Vec<Pattern>> {
    let scripted = ScriptedModel::answering(script).await;
    let model = scripted.model();
    let proposer = LlmProposer::new(Arc::clone(&model));
    let patterns = [pattern("Lost cards.", &["lost my card"]), pattern("Stolen cards.", &["stole my card"])];
    let wrong = ["when will my new card arrive at home"];
    let edition = Edition { tool: "lost_card", description: "Blocks cards.", patterns: &patterns, wrong: &wrong };
    let result = proposer.edit(edition).await;
    ProposalOutcome { result, cost: model.journal().cost(), scripted }
}

fn list(items: &[(&str, &[&str])]) -> Scripted {
    let items: Vec<_> =
        items.iter().map(|(description, cases)| json!({"description": description, "cases": cases})).collect();
    text(&json!(items).to_string())
}

fn good() -> Scripted {
    list(&[("Cards that are lost.", &["lost my card", "block it"])])
}

fn descriptions(patterns: &[Pattern]) -> Vec<&str> {
    patterns.iter().map(|pattern| pattern.description.as_str()).collect()
}

#[tokio::test]
async fn patterns_are_proposed_and_their_cost_is_counted() {
    let outcome = add([good()], &[], 12).await;
    let [found] = outcome.result.unwrap().try_into().unwrap();
    assert_eq!(found, Pattern { weight: 1.0, ..pattern("Cards that are lost.", &["lost my card", "block it"]) });
    assert_eq!(outcome.cost, Cost { requests: 1, prompt_tokens: 100, completion_tokens: 10 });
    let body = outcome.scripted.body(0);
    assert_eq!(
        (&body["model"], &body["temperature"], &body["stream"]),
        (&json!("gpt-test"), &json!(0.0), &json!(false))
    );
    assert!(body["messages"][1]["content"].as_str().unwrap().contains(MISSED[1]));
    let schema = &body["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["properties"]["patterns"]["items"]["required"], json!(["description", "cases"]));
}

#[tokio::test]
async fn providers_without_structured_outputs_receive_no_more_schemas() {
    for (status, reason) in [(400, "response_format is not supported"), (422, "Extra inputs are not permitted")] {
        let outcome = add([error(status, reason), text("no"), good()], &[], 12).await;
        assert_eq!(outcome.result.unwrap().len(), 1, "{reason}");
        let forms = [0, 1, 2].map(|number| outcome.scripted.body(number).get("response_format").is_some());
        assert_eq!(forms, [true, false, false], "{reason}");
    }
    let outcome = add([error(400, "too long"), error(400, "too long")], &[], 12).await;
    assert!(outcome.result.unwrap_err().reason.contains("too long"), "other errors are reported");
}

#[tokio::test]
async fn a_malformed_list_is_reported_once_and_the_second_answer_used() {
    let outcome = add([text("Sure! Here are your patterns: 1. Lost cards"), good()], &[], 12).await;
    assert_eq!(outcome.result.unwrap().len(), 1);
    let body = outcome.scripted.body(1);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[2]["role"], "assistant");
    assert!(messages[3]["content"].as_str().unwrap().contains("is not a JSON list"), "{}", messages[3]);
}

#[tokio::test]
async fn second_malformed_list_is_an_error_with_the_fault() {
    let outcome = add([text("no"), text("[{]"), good()], &[], 12).await;
    let error = outcome.result.unwrap_err();
    assert_eq!(error.tool, "lost_card");
    assert!(error.reason.contains("also after one repair request") && error.reason.contains("[{]"), "{error}");
    assert_eq!(outcome.cost.requests, 2, "exactly one repair");
}

#[tokio::test]
async fn wrong_types_are_reported_to_the_model() {
    let outcome = add([text(r#"[{"description": 1, "cases": ["lost my card"]}]"#), good()], &[], 12).await;
    assert_eq!(outcome.result.unwrap().len(), 1);
    let repair = outcome.scripted.body(1)["messages"][3]["content"].to_string();
    assert!(repair.contains("item 1 of the list has no `description` that is a string"), "{repair}");
}

#[tokio::test]
async fn refusals_are_not_retried() {
    let refused = message(json!({"role": "assistant", "content": null, "refusal": "I must not."}), "stop");
    let outcome = add([refused, good()], &[], 12).await;
    assert_eq!(outcome.result.unwrap_err().reason, "the model refuses: I must not.");
    assert_eq!(outcome.cost.requests, 1);
    let filtered = message(json!({"role": "assistant", "content": ""}), "content_filter");
    assert!(add([filtered], &[], 12).await.result.unwrap_err().reason.contains("content filter"));
}

#[tokio::test]
async fn refusal_in_words_is_a_malformed_list() {
    let outcome = add([text("I'm sorry, I can't."), text("I'm sorry, I really can't.")], &[], 12).await;
    assert!(outcome.result.unwrap_err().reason.contains("I'm sorry, I really can't."));
}

#[tokio::test]
async fn whole_samples_and_inventions_are_removed_from_cases() {
    let proposed = list(&[
        ("Cards that are lost.", &[MISSED[0], "lost my card", "card vanished into thin air", "help"]),
        ("Thefts.", &["Someone stole my card at the station"]),
    ]);
    let patterns = add([proposed], &[], 12).await.result.unwrap();
    assert_eq!(patterns, [Pattern { weight: 1.0, ..pattern("Cards that are lost.", &["lost my card"]) }]);
}

#[tokio::test]
async fn list_without_a_valid_pattern_is_reported_to_the_model() {
    let outcome = add([list(&[("Lost.", &[MISSED[0]])]), list(&[(MISSED[0], &["lost my card"])])], &[], 12).await;
    let repair = outcome.scripted.body(1)["messages"][3]["content"].to_string();
    assert!(repair.contains("no case of item 1") && repair.contains("60 %"), "{repair}");
    assert!(outcome.result.unwrap_err().reason.contains("the description of item 1 repeats a whole request"));
}

#[tokio::test]
async fn surplus_patterns_are_dropped() {
    let proposed = list(&[("One.", &["lost my card"]), ("Two.", &["stole my card"]), ("Three.", &["block it"])]);
    assert_eq!(descriptions(&add([proposed], &[], 2).await.result.unwrap()), ["One.", "Two."]);
}

#[tokio::test]
async fn surplus_cases_are_dropped() {
    let proposed = list(&[("One.", &["lost my card", "LOST my card!", "block it", "stole my card", "this morning"])]);
    assert_eq!(add([proposed], &[], 12).await.result.unwrap()[0].cases, ["lost my card", "block it", "stole my card"]);
}

#[tokio::test]
async fn existing_patterns_are_not_added_again() {
    let present = [pattern("Lost cards.", &["lost my card"])];
    let proposed = list(&[("lost cards", &["lost my card"]), ("Thefts.", &["stole my card"])]);
    assert_eq!(descriptions(&add([proposed], &present, 12).await.result.unwrap()), ["Thefts."]);
    let nothing_new = add([list(&[("LOST cards!", &["lost my card"])])], &present, 12).await;
    assert_eq!((nothing_new.result, nothing_new.cost.requests), (Ok(Vec::new()), 1), "duplicates are no fault");
}

#[tokio::test]
async fn empty_list_adds_nothing_and_is_no_fault() {
    let outcome = add([text("[]")], &[], 12).await;
    assert_eq!((outcome.result, outcome.cost.requests), (Ok(Vec::new()), 1));
}

#[tokio::test]
async fn empty_and_long_descriptions_are_reported_to_the_model() {
    for (description, expected) in [(" \n", "is empty"), ("word ".repeat(200).as_str(), "characters")] {
        let outcome = add([list(&[(description, &["lost my card"])]), good()], &[], 12).await;
        assert_eq!(outcome.result.unwrap().len(), 1);
        let repair = outcome.scripted.body(1)["messages"][3]["content"].to_string();
        assert!(repair.contains("the description of item 1") && repair.contains(expected), "{repair}");
    }
}

#[tokio::test]
async fn truncated_answers_are_reported_to_the_model() {
    let cut = message(json!({"role": "assistant", "content": "[{\"descr"}), "length");
    let outcome = add([cut, good()], &[], 12).await;
    assert_eq!(outcome.result.unwrap().len(), 1);
    assert!(outcome.scripted.body(1)["messages"][3]["content"].as_str().unwrap().contains("cut off"));
}

#[tokio::test]
async fn control_characters_are_removed_from_answers() {
    let proposed = list(&[("Cards\u{1b}[2J that\nare lost\u{202e}.", &["lost my\u{0} card"])]);
    let patterns = add([proposed], &[], 12).await.result.unwrap();
    assert_eq!(patterns[0].description, "Cards[2J that are lost.");
    assert_eq!(patterns[0].cases, ["lost my card"]);
}

#[tokio::test]
async fn wrong_number_of_edited_patterns_is_reported_once() {
    let one = || list(&[("Lost cards.", &["lost my card"])]);
    let outcome = edit([one(), list(&[("Lost cards, to be blocked.", &[]), ("Thefts.", &[])])]).await;
    assert_eq!(descriptions(&outcome.result.unwrap()), ["Lost cards, to be blocked.", "Thefts."]);
    let repair = outcome.scripted.body(1)["messages"][3]["content"].to_string();
    assert!(repair.contains("the list has 1 items, and there are 2 patterns"), "{repair}");
    for second in [one(), text("[]"), list(&[("A.", &[]), ("B.", &[]), ("C.", &[])])] {
        assert!(edit([one(), second]).await.result.unwrap_err().reason.contains("there are 2 patterns"));
    }
}

#[tokio::test]
async fn edits_keep_weights_and_copy_no_wrong_sample() {
    let proposed = list(&[
        ("Lost cards.", &["misplaced card", "when will my new card arrive at home"]),
        ("Stolen cards.", &["when will my new card arrive at home"]),
    ]);
    let patterns = edit([proposed]).await.result.unwrap();
    assert_eq!(patterns[0], pattern("Lost cards.", &["misplaced card"]));
    assert_eq!(patterns[1], pattern("Stolen cards.", &["stole my card"]), "the previous cases stay");
}

#[tokio::test]
async fn busy_providers_are_retried() {
    let outcome = add([error(429, "slow down"), error(503, "restarting"), good()], &[], 12).await;
    assert_eq!((outcome.result.unwrap().len(), outcome.cost.requests), (1, 3));
    let busy = std::iter::repeat_with(|| error(429, "slow down")).take(9);
    let outcome = add(busy, &[], 12).await;
    assert!(outcome.result.unwrap_err().reason.contains("status 429 (slow down)"));
    assert_eq!(outcome.cost.requests, 4);
}

#[tokio::test]
async fn models_with_a_fixed_temperature_receive_none() {
    let refused = error(400, "Unsupported value: 'temperature' does not support 0 with this model.");
    let outcome = add([refused, good()], &[], 12).await;
    assert_eq!(outcome.result.unwrap().len(), 1);
    assert!(outcome.scripted.body(1).get("temperature").is_none());
}

#[tokio::test]
async fn every_request_limits_its_answer_and_lists() {
    let outcome = add([good()], &[], 12).await;
    let body = outcome.scripted.body(0);
    let patterns = &body["response_format"]["json_schema"]["schema"]["properties"]["patterns"];
    assert_eq!((&body["max_tokens"], &patterns["maxItems"]), (&json!(4096), &json!(12)));
    assert_eq!(patterns["items"]["properties"]["cases"]["maxItems"], 3);

    let refused = error(400, "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.");
    let outcome = add([refused, good()], &[], 12).await;
    assert_eq!(outcome.result.unwrap().len(), 1, "a reasoning model");
    let body = outcome.scripted.body(1);
    assert_eq!((body.get("max_tokens"), &body["max_completion_tokens"]), (None, &json!(4096)));

    let refused = error(400, "In context=(), 'maxItems' is not permitted.");
    let outcome = add([refused, good()], &[], 12).await;
    assert_eq!(outcome.result.unwrap().len(), 1);
    let form = outcome.scripted.body(1)["response_format"].to_string();
    assert!(form.contains("\"patterns\"") && !form.contains("maxItems"), "{form}");
}

#[tokio::test]
async fn an_answer_that_exceeds_the_context_is_requested_shorter() {
    let refused = || error(400, "This model's maximum context length is 4096 tokens. However, you requested 4500.");
    let outcome = add([refused(), refused(), good()], &[], 12).await;
    assert_eq!(outcome.result.unwrap().len(), 1);
    let limits = [0, 1, 2].map(|number| outcome.scripted.body(number)["max_tokens"].as_u64().unwrap());
    assert_eq!(limits, [4096, 2048, 1024]);
    let outcome = add(std::iter::repeat_with(refused).take(9), &[], 12).await;
    assert!(outcome.result.unwrap_err().reason.contains("maximum context length"));
    assert_eq!(outcome.cost.requests, 5, "256 tokens are the least");
}

#[tokio::test]
async fn rejected_keys_are_not_retried_for_every_tool() {
    let scripted = ScriptedModel::answering([error(401, "Incorrect API key provided: sk-secret"), good()]).await;
    let model = scripted.model();
    let proposer = LlmProposer::new(Arc::clone(&model));
    let addition = Addition { tool: "t", description: "", patterns: &[], missed: &MISSED, room: 12 };
    for _ in 0..2 {
        let reason = proposer.add(addition).await.unwrap_err().reason;
        assert!(reason.contains("status 401; check its `api_key`") && !reason.contains("sk-secret"), "{reason}");
    }
    assert_eq!(model.journal().cost().requests, 1);
}

#[tokio::test]
async fn no_request_is_sent_without_room_for_patterns() {
    assert_eq!(add([], &[], 0).await.result, Ok(Vec::new()));
}
