use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;

use super::*;
use crate::representation::learner::{Addition, Edition};
use callwright_types::representation::Pattern;

/// Proposer that answers from two functions and records the tools of which it edited patterns.
#[derive(Debug)]
struct ScriptedProposer {
    adds: fn(&Addition<'_>) -> Vec<Pattern>,
    edits: fn(&Edition<'_>) -> Vec<Pattern>,
    is_model: bool,
    edited: Mutex<Vec<String>>,
}

impl ScriptedProposer {
    fn new(adds: fn(&Addition<'_>) -> Vec<Pattern>, edits: fn(&Edition<'_>) -> Vec<Pattern>) -> Arc<Self> {
        Arc::new(Self { adds, edits, is_model: false, edited: Mutex::default() })
    }
}

impl Proposer for ScriptedProposer {
    fn name(&self) -> &str {
        "scripted"
    }

    fn uses_model(&self) -> bool {
        self.is_model
    }

    fn add<'a>(&'a self, addition: Addition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        Box::pin(std::future::ready(Ok((self.adds)(&addition))))
    }

    fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        self.edited.lock().unwrap().push(edition.tool.to_owned());
        Box::pin(std::future::ready(Ok((self.edits)(&edition))))
    }
}

fn pattern(description: &str, cases: &[&str]) -> Pattern {
    let cases = cases.iter().map(|case| (*case).to_owned()).collect();
    Pattern { description: description.to_owned(), cases, weight: 1.0 }
}

fn unchanged(edition: &Edition<'_>) -> Vec<Pattern> {
    edition.patterns.to_vec()
}

/// Two tools whose descriptions share no word with their requests.
fn tools() -> Vec<ToolText> {
    let tool =
        |name: &str| ToolText { name: name.to_owned(), description: "Retrieves.".to_owned(), ..ToolText::default() };
    vec![tool("alpha"), tool("beta")]
}

/// Twenty requests per tool: alpha's have `lost`, beta's have `swap`.
fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for number in 0..20 {
        for (tool, word) in [("alpha", "lost"), ("beta", "swap")] {
            let query = format!("{word} thing {number} today");
            samples.push(Sample { query, tools: vec![tool.to_owned()] });
        }
    }
    samples
}

/// Settings without cross-validation, so that each step is a call of `add` and `edit`.
fn settings() -> LearnSettings {
    LearnSettings { cross_below: 0, classify: false, ..LearnSettings::default() }
}

async fn learner(proposer: Arc<ScriptedProposer>, settings: LearnSettings) -> Learner<'static> {
    let components = LearnerComponents { embedder: None, proposer, selector: None };
    Learner::new(&tools(), &samples(), components, settings, None).await.unwrap()
}

fn right_word(addition: &Addition<'_>) -> Vec<Pattern> {
    vec![pattern(if addition.tool == "alpha" { "lost" } else { "swap" }, &[])]
}

#[tokio::test]
async fn helpful_additions_are_kept_with_their_gain() {
    let mut learner = learner(ScriptedProposer::new(right_word, unchanged), settings()).await;
    assert!(learner.step().await.unwrap());
    let learned = learner.result().await.unwrap();
    let patterns: Vec<&str> = learned.tools.iter().map(|tool| tool.patterns[0].pattern.description.as_str()).collect();
    assert_eq!(patterns, ["lost", "swap"]);
    assert!(learned.tools.iter().any(|tool| tool.patterns[0].gain > 0.0));
    assert!((learned.curve[1].macro_f1 - 100.0).abs() < 1e-9 && learned.curve[0].macro_f1 < 70.0);
}

#[tokio::test]
async fn helpful_additions_are_kept_individually() {
    // The patterns of gamma attract the requests of all tools.
    fn adds(addition: &Addition<'_>) -> Vec<Pattern> {
        match addition.tool {
            "beta" => vec![pattern("swap", &[])],
            _ => vec![Pattern { weight: 100.0, ..pattern("swap lost", &[]) }],
        }
    }
    let (mut tools, mut samples) = (tools(), samples());
    tools[0].patterns = vec![pattern("lost", &[])];
    tools.push(ToolText { name: "gamma".to_owned(), ..tools[1].clone() });
    samples.extend(
        (0..20).map(|number| Sample { query: format!("open thing {number} today"), tools: vec!["gamma".to_owned()] }),
    );
    let components =
        LearnerComponents { embedder: None, proposer: ScriptedProposer::new(adds, unchanged), selector: None };
    // All requests find one tool before and with all additions, which differs by a few points at most.
    let settings = LearnSettings { edit: false, threshold: 20.0, ..settings() };
    let mut learner = Learner::new(&tools, &samples, components, settings, None).await.unwrap();
    let start = learner.best();
    learner.step().await.unwrap();
    let patterns = [0, 1, 2].map(|tool| learner.similarities.patterns(tool).len());
    assert_eq!(patterns, [1, 1, 0]);
    assert!(learner.best() > start);
}

#[tokio::test]
async fn harmful_additions_are_reverted() {
    fn adds(addition: &Addition<'_>) -> Vec<Pattern> {
        vec![pattern(if addition.tool == "alpha" { "swap" } else { "lost" }, &[])]
    }
    let mut learner = learner(ScriptedProposer::new(adds, unchanged), settings()).await;
    let start = learner.best();
    for _ in 0..4 {
        learner.step().await.unwrap();
    }
    assert!(learner.best() >= start && !learner.step().await.unwrap(), "it ends after three rounds without a gain");
}

#[tokio::test]
async fn edits_that_repel_wrong_samples_are_kept() {
    fn adds(addition: &Addition<'_>) -> Vec<Pattern> {
        match addition.tool {
            "alpha" if addition.patterns.is_empty() => vec![pattern("lost swap swap swap", &["swap swap"])],
            "beta" if addition.patterns.is_empty() => vec![pattern("swap", &[])],
            _ => Vec::new(),
        }
    }
    fn edits(edition: &Edition<'_>) -> Vec<Pattern> {
        match edition.tool {
            "alpha" => vec![pattern("lost", &[])],
            _ => edition.patterns.to_vec(),
        }
    }
    let proposer = ScriptedProposer::new(adds, edits);
    let mut learner = learner(proposer.clone(), settings()).await;
    learner.similarities.fusion.words = 1.0;
    let additions = learner.additions(1).await.unwrap();
    learner.add_proposals(&additions);
    let before = learner.validation().await.macro_f1();
    let after = learner.edit(false, before).await.unwrap();
    assert!(after > before, "{before} {after}");
    assert_eq!(learner.similarities.patterns(0)[0].description, "lost");
    assert!(learner.tools[0].gains[0] > 0.0);
    assert!(proposer.edited.lock().unwrap().contains(&"alpha".to_owned()));
}

#[tokio::test]
async fn harmful_edits_are_reverted() {
    fn edits(_: &Edition<'_>) -> Vec<Pattern> {
        vec![pattern("swap swap swap", &[])]
    }
    let mut learner = learner(ScriptedProposer::new(right_word, edits), settings()).await;
    let additions = learner.additions(1).await.unwrap();
    learner.add_proposals(&additions);
    let before = learner.validation().await.macro_f1();
    assert!(learner.edit(false, before).await.unwrap() >= before);
    assert_eq!(learner.similarities.patterns(0)[0].description, "lost");
}

#[tokio::test]
async fn trials_change_the_board_only_if_they_improve_it() {
    let mut learner = learner(ScriptedProposer::new(right_word, unchanged), settings()).await;
    let additions = learner.additions(1).await.unwrap();
    // With a pattern of beta alone, all requests find beta.
    learner.add_proposals(&additions[1..]);
    let (statistics, queries) = learner.similarities.statistics(&learner.sample_queries);
    let mut board = learner.validation().await;
    let start = board.macro_f1();
    let same = learner.similarities.clone_tool(0);
    let trial = learner.trial(0, &same, &mut board).await;
    assert!((trial - start).abs() < 1e-9 && (board.macro_f1() - start).abs() < 1e-9);
    let (tool, added) = &additions[0];
    let mut better = learner.similarities.clone_tool(*tool);
    better.add(0, added, &learner.sample_queries);
    better.update_word_scores_of(0, &queries, &statistics);
    let trial = learner.trial(*tool, &better, &mut board).await;
    assert!(trial > start && (board.macro_f1() - trial).abs() < 1e-9, "{start} {trial}");
}

#[tokio::test]
async fn ranking_is_fitted_only_with_enough_samples() {
    for (fit_ranking_from, is_fitted) in [(1000, false), (0, true)] {
        let settings = LearnSettings { fit_ranking_from, ..settings() };
        let mut learner = learner(ScriptedProposer::new(right_word, unchanged), settings).await;
        let additions = learner.additions(1).await.unwrap();
        learner.add_proposals(&additions);
        let before = learner.similarities.fusion;
        learner.tune(true);
        assert_eq!(learner.similarities.fusion != before, is_fitted, "{fit_ranking_from}");
    }
}

#[tokio::test]
async fn model_proposals_are_confirmed_by_all_unquoted_samples() {
    fn adds(addition: &Addition<'_>) -> Vec<Pattern> {
        let quoted = addition.missed.iter().take(2).map(|query| (*query).to_owned()).collect();
        let word = if addition.tool == "alpha" { "lost" } else { "swap" };
        vec![Pattern { description: word.to_owned(), cases: quoted, weight: 1.0 }]
    }
    let mut proposer = ScriptedProposer::new(adds, unchanged);
    Arc::get_mut(&mut proposer).unwrap().is_model = true;
    let settings = LearnSettings { cross_below: 1000, classify: false, ..LearnSettings::default() };
    let mut learner = learner(proposer, settings).await;
    assert_eq!(learner.confirming.len(), 40, "nothing is quoted yet");
    learner.step().await.unwrap();
    assert_eq!(learner.confirming.len(), 36, "two samples of each tool are quoted");
    let learned = learner.result().await.unwrap();
    assert!((learned.validation_share - 0.9).abs() < 1e-9);
    assert!(learned.curve[0].macro_f1 < 70.0 && (learned.curve[1].macro_f1 - 100.0).abs() < 1e-9);
}

#[tokio::test]
async fn classifier_learns_without_proposals() {
    fn nothing(_: &Addition<'_>) -> Vec<Pattern> {
        Vec::new()
    }
    let settings = LearnSettings { classify: true, ..settings() };
    let mut learner = learner(ScriptedProposer::new(nothing, unchanged), settings).await;
    learner.step().await.unwrap();
    let classifier = learner.result().await.unwrap().classifier.unwrap();
    assert!(classifier.effect.after > classifier.effect.before && classifier.weights.weight > 0.0, "{classifier:?}");
    assert_eq!(classifier.effect.no_tool, None);
    assert!(classifier.model.terms.iter().any(|(term, _)| term == "lost"));
}

#[tokio::test]
async fn requests_without_a_tool_train_the_no_tool_class() {
    let components =
        LearnerComponents { embedder: None, proposer: ScriptedProposer::new(right_word, unchanged), selector: None };
    let mut all = samples();
    all.extend((0..30).map(|number| Sample { query: format!("good morning {number}"), tools: Vec::new() }));
    let settings = LearnSettings { classify: true, ..settings() };
    let mut learner = Learner::new(&tools(), &all, components, settings, None).await.unwrap();
    learner.step().await.unwrap();
    let classifier = learner.result().await.unwrap().classifier.unwrap();
    assert!(classifier.weights.no_tool.is_some(), "{classifier:?}");
    assert!(classifier.effect.no_tool.unwrap() > 90.0, "{classifier:?}");
}
