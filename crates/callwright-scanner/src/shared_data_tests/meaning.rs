//! Measures the semantic threshold for suggesting a name (`scan.semantic_similarity`). Names reworded with synonyms,
//! whose spelling suggests nothing, must find the intended name, and names of other tools must find nothing.

use std::sync::Arc;

use super::super::names::{NameList, fold, words};
use super::synonyms::synonyms;
use super::{OFFERED, tools};
use callwright_search::embedding::{Embedder, Settings, built_in, open_folder};
use callwright_search::retrieval::TextVectors;
use callwright_test_macros::requires;
use callwright_types::Similarity;
use callwright_types::rules::ScanRules;

/// Minimum precision and recall of the default threshold. A tool is not suggested, it only comes first in a list.
const LEAST_OF_TOOLS: (f64, f64) = (0.85, 0.8);
const LEAST_OF_PARAMETERS: (f64, f64) = (0.96, 0.4);

/// Leads of the best candidate over the second to measure; [`crate::scanner`] requires the last one.
const LEADS: [f64; 2] = [0.0, 0.1];

/// A name whose spelling suggests nothing.
struct NameTrial {
    meant: Option<String>,
    /// Semantically closest candidate with its similarity.
    best: Option<(String, f64)>,
    second: f64,
    /// Whether it belongs to the held-out half: thresholds are chosen on one half and verified on the other.
    held_out: bool,
}

/// Returns the name with one or more words replaced with synonyms; `None` if no word has any.
fn reworded(name: &str, random: &mut fastrand::Rng) -> Option<String> {
    let mut words = words(name);
    let replaceable: Vec<usize> = (0..words.len()).filter(|at| !synonyms(&words[*at]).is_empty()).collect();
    let surely = *replaceable.get(random.usize(..replaceable.len().max(1)))?;
    for at in replaceable {
        if at == surely || random.f64() < 0.6 {
            let others = synonyms(&words[at]);
            words[at] = others[random.usize(..others.len())].to_owned();
        }
    }
    Some(words.join("_"))
}

fn trial(name: &str, meant: Option<&str>, known: &[&str], vectors: &TextVectors, held_out: bool) -> Option<NameTrial> {
    if known.iter().any(|known| fold(known) == fold(name)) {
        return None;
    }
    let spelling = NameList::read(known.iter().copied()).nearest(name, 2, 0.0, |_| true);
    let leads = spelling.get(1).is_none_or(|second| second.1 < spelling[0].1);
    if leads && spelling[0].1 >= ScanRules::default().similarity {
        return None;
    }
    let similarity = |other: &&str| Some(((*other).to_owned(), vectors.similarity(name, other)?));
    let mut ranked: Vec<(String, f64)> = known.iter().filter_map(similarity).collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    let second = ranked.get(1).map_or(f64::NEG_INFINITY, |second| second.1);
    Some(NameTrial { meant: meant.map(str::to_owned), best: ranked.into_iter().next(), second, held_out })
}

/// Returns precision, weighted as if half of the names had no intended match, and recall.
fn measure<'a>(trials: impl Iterator<Item = &'a NameTrial> + Clone, threshold: f64, lead: f64) -> (f64, f64) {
    let is_suggested = |trial: &NameTrial| {
        trial.best.as_ref().is_some_and(|(_, best)| *best >= threshold && best - trial.second >= lead)
    };
    let is_right = |trial: &NameTrial| trial.best.as_ref().map(|(name, _)| name) == trial.meant.as_ref();
    let meant = trials.clone().filter(|trial| trial.meant.is_some()).count() as f64;
    let foreign = trials.clone().filter(|trial| trial.meant.is_none()).count() as f64;
    let suggested = || trials.clone().filter(|trial| is_suggested(trial));
    let right = suggested().filter(|trial| is_right(trial)).count() as f64;
    let wrong_of_meant = suggested().filter(|trial| trial.meant.is_some() && !is_right(trial)).count() as f64;
    let wrong_of_foreign = suggested().filter(|trial| trial.meant.is_none()).count() as f64;
    let wrong = wrong_of_meant + wrong_of_foreign * meant / foreign.max(1.0);
    (right / (right + wrong).max(1.0), right / meant.max(1.0))
}

fn trials_of_tools(
    tools: &[(String, Vec<String>)],
    vectors: &TextVectors,
    random: &mut fastrand::Rng,
) -> Vec<NameTrial> {
    let mut trials = Vec::new();
    for (number, offered) in tools.chunks(OFFERED).enumerate() {
        let known: Vec<&str> = offered.iter().map(|(name, _)| name.as_str()).collect();
        for name in &known {
            let held_out = number % 2 == 1;
            let wrong = reworded(name, random);
            trials.extend(wrong.and_then(|wrong| trial(&wrong, Some(name), &known, vectors, held_out)));
            let other = &tools[random.usize(..tools.len())].0;
            trials.extend(trial(other, None, &known, vectors, held_out));
        }
    }
    trials
}

fn trials_of_parameters(
    tools: &[(String, Vec<String>)],
    vectors: &TextVectors,
    random: &mut fastrand::Rng,
) -> Vec<NameTrial> {
    let mut trials = Vec::new();
    let with_parameters: Vec<&Vec<String>> = tools.iter().map(|(_, parameters)| parameters).collect();
    for (number, parameters) in with_parameters.iter().enumerate() {
        let known: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let held_out = number % 2 == 1;
        for name in &known {
            let wrong = reworded(name, random);
            trials.extend(wrong.and_then(|wrong| trial(&wrong, Some(name), &known, vectors, held_out)));
        }
        let others = with_parameters[random.usize(..with_parameters.len())];
        let other = others.get(random.usize(..others.len().max(1))).filter(|_| !known.is_empty());
        trials.extend(other.and_then(|other| trial(other, None, &known, vectors, held_out)));
    }
    trials
}

/// Returns the built-in table, or the local model in the folder that `CALLWRIGHT_TEST_MODEL` names.
fn vectors(runtime: &tokio::runtime::Runtime) -> TextVectors {
    let model = std::env::var_os("CALLWRIGHT_TEST_MODEL");
    let library = std::env::var("ORT_DYLIB_PATH").unwrap_or_default();
    let local = model.map(|folder| open_folder(folder.as_ref(), &library).unwrap());
    let embedder: Arc<dyn Embedder> = local.unwrap_or_else(|| built_in(&Settings::default()).unwrap());
    println!("vectors of {}", embedder.id());
    TextVectors::waiting(embedder, runtime.handle().clone())
}

#[requires("data/calls")]
#[test]
fn the_default_threshold_suggests_the_intended_and_little_else() {
    let mut all = tools("bfcl.tools.jsonl");
    all.extend(tools("apibank.tools.jsonl"));
    assert!(!all.is_empty());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let vectors = vectors(&runtime);
    let mut random = fastrand::Rng::with_seed(11);
    random.shuffle(&mut all);
    let sets = [
        ("tools", trials_of_tools(&all, &vectors, &mut random), LEAST_OF_TOOLS),
        ("parameters", trials_of_parameters(&all, &vectors, &mut random), LEAST_OF_PARAMETERS),
    ];
    for (kind, trials, (least_precision, least_recall)) in &sets {
        let meant = trials.iter().filter(|trial| trial.meant.is_some()).count();
        println!("{kind}: {meant} reworded names, {} that mean nothing", trials.len() - meant);
        for held_out in [false, true] {
            let half = trials.iter().filter(|trial| trial.held_out == held_out);
            for lead in LEADS {
                println!("  {}, lead {lead}:", if held_out { "held out" } else { "chosen on" });
                for step in 8..18 {
                    let threshold = f64::from(step) / 20.0;
                    let (precision, recall) = measure(half.clone(), threshold, lead);
                    println!(
                        "    {threshold:.2}: precision {:.1} %, recall {:.1} %",
                        100.0 * precision,
                        100.0 * recall
                    );
                }
            }
        }
        let held_out = trials.iter().filter(|trial| trial.held_out);
        let (precision, recall) = measure(held_out, ScanRules::default().semantic_similarity, LEADS[1]);
        assert!(precision >= *least_precision && recall >= *least_recall, "{kind}: {precision} {recall}");
    }
}
