use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;

use super::*;
use crate::representation::learner::{Addition, Edition, NoSelection};
use callwright_types::Cost;
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

    fn asks_a_model(&self) -> bool {
        self.is_model
    }

    fn add<'a>(&'a self, addition: Addition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        Box::pin(std::future::ready(Ok((self.adds)(&addition))))
    }

    fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        self.edited.lock().unwrap().push(edition.tool.to_owned());
        Box::pin(std::future::ready(Ok((self.edits)(&edition))))
    }

    fn cost(&self) -> Cost {
        Cost::default()
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
    let means = Means { embedder: None, proposer, selector: Arc::new(NoSelection) };
    Learner::new(&tools(), &samples(), means, settings, &SilentWatcher).await.unwrap()
}

fn right_word(addition: &Addition<'_>) -> Vec<Pattern> {
    vec![pattern(if addition.tool == "alpha" { "lost" } else { "swap" }, &[])]
}

#[tokio::test]
async fn additions_that_help_together_are_kept_with_their_gain() {
    let mut learner = learner(ScriptedProposer::new(right_word, unchanged), settings()).await;
    assert!(learner.step().await.unwrap());
    let learned = learner.learned().await.unwrap();
    let patterns: Vec<&str> = learned.tools.iter().map(|tool| tool.patterns[0].pattern.description.as_str()).collect();
    assert_eq!(patterns, ["lost", "swap"]);
    assert!(learned.tools.iter().any(|tool| tool.patterns[0].gain > 0.0));
    assert!((learned.curve[1].macro_f1 - 100.0).abs() < 1e-9 && learned.curve[0].macro_f1 < 70.0);
}

#[tokio::test]
async fn of_additions_that_harm_together_the_good_ones_are_kept() {
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
    let means =
        Means { embedder: None, proposer: ScriptedProposer::new(adds, unchanged), selector: Arc::new(NoSelection) };
    // All requests find one tool before and with all additions, which differs by a few points at most.
    let settings = LearnSettings { edit: false, threshold: 20.0, ..settings() };
    let mut learner = Learner::new(&tools, &samples, means, settings, &SilentWatcher).await.unwrap();
    let start = learner.best();
    learner.step().await.unwrap();
    let patterns = [0, 1, 2].map(|tool| learner.closeness.patterns(tool).len());
    assert_eq!(patterns, [1, 1, 0]);
    assert!(learner.best() > start);
}

#[tokio::test]
async fn additions_that_only_harm_are_undone() {
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
async fn an_edit_that_drops_what_attracts_wrong_samples_is_kept() {
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
    learner.closeness.fusion.words = 1.0;
    let additions = learner.additions(1).await.unwrap();
    learner.put_all(&additions);
    let before = learner.validation().await.macro_f1();
    let after = learner.edit(false, before).await.unwrap();
    assert!(after > before, "{before} {after}");
    assert_eq!(learner.closeness.patterns(0)[0].description, "lost");
    assert!(learner.tools[0].gains[0] > 0.0);
    assert!(proposer.edited.lock().unwrap().contains(&"alpha".to_owned()));
}

#[tokio::test]
async fn an_edit_that_makes_it_worse_is_undone() {
    fn edits(_: &Edition<'_>) -> Vec<Pattern> {
        vec![pattern("swap swap swap", &[])]
    }
    let mut learner = learner(ScriptedProposer::new(right_word, edits), settings()).await;
    let additions = learner.additions(1).await.unwrap();
    learner.put_all(&additions);
    let before = learner.validation().await.macro_f1();
    assert!(learner.edit(false, before).await.unwrap() >= before);
    assert_eq!(learner.closeness.patterns(0)[0].description, "lost");
}

#[tokio::test]
async fn a_trial_changes_the_board_only_for_the_better() {
    let mut learner = learner(ScriptedProposer::new(right_word, unchanged), settings()).await;
    let additions = learner.additions(1).await.unwrap();
    // With a pattern of beta alone, all requests find beta.
    learner.put_all(&additions[1..]);
    let (statistics, queries) = learner.closeness.statistics(&learner.asked);
    let mut board = learner.validation().await;
    let start = board.macro_f1();
    let same = learner.closeness.clone_of(0);
    let trial = learner.trial(0, &same, &mut board).await;
    assert!((trial - start).abs() < 1e-9 && (board.macro_f1() - start).abs() < 1e-9);
    let (tool, grown) = &additions[0];
    let mut better = learner.closeness.clone_of(*tool);
    better.add(0, grown, &learner.asked);
    better.look_up_words_of(0, &queries, &statistics);
    let trial = learner.trial(*tool, &better, &mut board).await;
    assert!(trial > start && (board.macro_f1() - trial).abs() < 1e-9, "{start} {trial}");
}

#[tokio::test]
async fn few_samples_fit_no_ranking_and_many_do() {
    for (fit_ranking_from, is_fitted) in [(1000, false), (0, true)] {
        let settings = LearnSettings { fit_ranking_from, ..settings() };
        let mut learner = learner(ScriptedProposer::new(right_word, unchanged), settings).await;
        let additions = learner.additions(1).await.unwrap();
        learner.put_all(&additions);
        let before = learner.closeness.fusion;
        learner.tune(true);
        assert_eq!(learner.closeness.fusion != before, is_fitted, "{fit_ranking_from}");
    }
}

#[tokio::test]
async fn proposals_of_a_model_are_confirmed_by_all_samples_that_no_pattern_quotes() {
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
    let learned = learner.learned().await.unwrap();
    assert!((learned.validation_share - 0.9).abs() < 1e-9);
    assert!(learned.curve[0].macro_f1 < 70.0 && (learned.curve[1].macro_f1 - 100.0).abs() < 1e-9);
}

#[tokio::test]
async fn a_classifier_learns_where_nothing_is_proposed() {
    fn nothing(_: &Addition<'_>) -> Vec<Pattern> {
        Vec::new()
    }
    let settings = LearnSettings { classify: true, ..settings() };
    let mut learner = learner(ScriptedProposer::new(nothing, unchanged), settings).await;
    learner.step().await.unwrap();
    let classifier = learner.learned().await.unwrap().classifier.unwrap();
    assert!(classifier.after > classifier.before && classifier.weights.weight > 0.0, "{classifier:?}");
    assert_eq!(classifier.no_tool, None);
    assert!(classifier.model.terms.iter().any(|(term, _)| term == "lost"));
}

#[tokio::test]
async fn requests_without_a_tool_teach_when_to_find_none() {
    let means = Means {
        embedder: None,
        proposer: ScriptedProposer::new(right_word, unchanged),
        selector: Arc::new(NoSelection),
    };
    let mut all = samples();
    all.extend((0..30).map(|number| Sample { query: format!("good morning {number}"), tools: Vec::new() }));
    let settings = LearnSettings { classify: true, ..settings() };
    let mut learner = Learner::new(&tools(), &all, means, settings, &SilentWatcher).await.unwrap();
    learner.step().await.unwrap();
    let classifier = learner.learned().await.unwrap().classifier.unwrap();
    assert!(classifier.weights.no_tool.is_some(), "{classifier:?}");
    assert!(classifier.no_tool.unwrap() > 90.0, "{classifier:?}");
}
