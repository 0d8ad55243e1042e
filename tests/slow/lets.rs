//! The paper's training and test stages on LETS (ExpNote, appendix A), with the real binary and a scripted model. The
//! model cannot spell a fifth of the words, except those in a note that it receives.
//!
//! The data is in data/experience of `CALLWRIGHT_SHARED_DATA` (../shared); without it the tests are ignored. The
//! results are in docs/benchmarks/learning.md; `--nocapture` prints them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells its figures"
)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::support::verb::{Folder, Said, json_lines, to_lines};
use crate::support::{Received, Reply, Server, answer};
use callwright_test_macros::requires;
use serde_json::Value;

/// Number of unrelated lessons that are added to the relevant ones.
const DISTRACTORS: usize = 10_000;

/// Returns the data folder.
fn data() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    shared.join("data/experience")
}

/// Returns the words of a question with the ordinal of the letter: `("hook", "3th")`.
fn asked(question: &str) -> Vec<(String, String)> {
    let parts = question.split(" of \"").collect::<Vec<_>>();
    let pairs = parts.windows(2).filter_map(|pair| {
        let ordinal = pair[0].split_whitespace().rev().nth(1)?;
        Some((pair[1].split('"').next()?.to_owned(), ordinal.to_owned()))
    });
    pairs.collect()
}

/// Whether the model cannot spell the word without a note.
fn is_hard(word: &str) -> bool {
    word.bytes().map(u32::from).sum::<u32>() % 5 == 0
}

fn spelling(word: &str) -> String {
    let letters: Vec<String> = word.chars().map(|letter| letter.to_string()).collect();
    format!("The letters of \"{word}\" are {}.", letters.join(" "))
}

/// Returns the model's answer to a question with these notes. It needs the spelling of hard words from a note.
fn solved(question: &str, notes: &[Value]) -> String {
    let letters = asked(question).into_iter().map(|(word, ordinal)| {
        let spelled = notes
            .iter()
            .filter_map(|note| note["value"].as_str())
            .find(|value| value.starts_with(&format!("The letters of \"{word}\" are ")));
        let letters: Vec<char> = match spelled {
            Some(value) => value
                .rsplit_once(" are ")
                .unwrap()
                .1
                .trim_end_matches('.')
                .chars()
                .filter(|letter| *letter != ' ')
                .collect(),
            None if is_hard(&word) => Vec::new(),
            None => word.chars().collect(),
        };
        let position: usize = ordinal.trim_end_matches(char::is_alphabetic).parse().unwrap();
        letters.get(position - 1).copied().unwrap_or('?')
    });
    let letters: String = letters.collect();
    format!("THINK[I take the letters one by one.]\nANSWER: {letters}")
}

/// Returns the model's notes after it has the truth: the words that it could not spell, or all words if it was right.
fn noted(question: &str, was_right: bool) -> String {
    let words = asked(question).into_iter().map(|(word, _)| word).filter(|word| was_right || is_hard(word));
    let notes = words.map(|word| format!("NOTE[{word}]: {}\n", spelling(&word)));
    format!("THINK[What will I need the next time?]\n{}DONE", notes.collect::<String>())
}

/// Notes that the model received for each question of the test stage.
type ShownNotes = Arc<Mutex<Vec<(String, Vec<Value>)>>>;

fn play(request: &Received, shown: &ShownNotes) -> Reply {
    let messages = request.messages();
    let data = |at: usize| -> Value { serde_json::from_str(messages[at]["content"].as_str().unwrap()).unwrap() };
    let question = data(1)["question"].as_str().unwrap().to_owned();
    let Some(notes) = data(1).get("notes").cloned() else {
        // Training stage, first without the truth.
        return answer::text(&match messages.len() {
            2 => solved(&question, &[]),
            4 => "THINK[The truth tells what I did not know.]".to_owned(),
            _ => noted(&question, data(3)["feedback"] == "right"),
        });
    };
    let notes = notes.as_array().cloned().unwrap_or_else(|| {
        assert_eq!(notes, "No relevant experience");
        Vec::new()
    });
    let said = solved(&question, &notes);
    shown.lock().unwrap().push((question, notes));
    answer::text(&said)
}

async fn run(folder: Folder, upstream: &Server, arguments: Vec<String>) -> (Folder, Said) {
    let config = crate::support::config(&upstream.url("/v1"));
    std::fs::write(folder.path("callwright.toml"), config).unwrap();
    tokio::task::spawn_blocking(move || {
        let fixed = ["learn", "notes", "--model", "scripted", "--config", "callwright.toml", "--jobs", "8"];
        let arguments: Vec<&str> = fixed.into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let said = folder.run(&arguments, b"");
        (folder, said)
    })
    .await
    .unwrap()
}

/// Returns a word that no question contains.
fn other_word(random: &mut fastrand::Rng, taken: &BTreeSet<String>) -> String {
    loop {
        let word: String = (0..random.usize(4..11)).map(|_| random.lowercase()).collect();
        if !taken.contains(&word) {
            return word;
        }
    }
}

/// Returns unrelated lessons: one third about arbitrary words, one third with the wording of the questions, and one
/// third with rules about letters of other words.
fn distractors(like: &Value, questions: &[Value]) -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(8);
    let pairs = questions.iter().flat_map(|case| asked(case["question"].as_str().unwrap()));
    let (words, ordinals): (BTreeSet<String>, BTreeSet<String>) =
        pairs.map(|(word, ordinal)| (word.to_lowercase(), ordinal)).unzip();
    let ordinals: Vec<&String> = ordinals.iter().collect();
    let distractor = |number: usize| {
        let word = other_word(&mut random, &words);
        let ordinal = ordinals[random.usize(..ordinals.len())];
        let key = match number % 6 {
            0 => format!("{word}, {}", other_word(&mut random, &words)),
            1 => word.clone(),
            2 => format!("splice letters together, {word}"),
            3 => format!("letter of {word}"),
            4 => format!("{ordinal} letter of {word}"),
            _ => format!("splice the {ordinal} letter, {word}"),
        };
        let mut lesson = like.clone();
        lesson["id"] = format!("les_d{number:031}").into();
        lesson["key"] = key.into();
        lesson["value"] = format!("A distractor: {}", spelling(&word)).into();
        lesson
    };
    (0..DISTRACTORS).map(distractor).collect()
}

/// Whether the key of a note is a word of the question, and the note is no distractor. Distractors have rules about
/// letters of other words.
fn is_right(note: &Value, asked: &[(String, String)]) -> bool {
    let key = note["key"].as_str().unwrap();
    let is_distractor = note["value"].as_str().unwrap().starts_with("A distractor");
    !is_distractor && asked.iter().any(|(word, _)| key == word)
}

fn variant<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["variants"].as_array().unwrap().iter().find(|variant| variant["variant"] == name).unwrap()
}

#[requires("data/experience/lets.train.jsonl")]
#[tokio::test(flavor = "multi_thread")]
async fn training_notes_solve_the_test_stage_among_many_others() {
    let data = data();
    let (train, test) = (data.join("lets.train.jsonl"), data.join("lets.valid.jsonl"));
    let shown = ShownNotes::default();
    let upstream = Server::scripted({
        let shown = Arc::clone(&shown);
        move |_, request| play(request, &shown)
    })
    .await;
    let path = |path: &PathBuf| path.display().to_string();
    let arguments =
        ["--train", &path(&train), "--test", &path(&test), "--out", "notes.jsonl", "--report", "report.json"];
    let (folder, said) = run(Folder::with(&[]), &upstream, arguments.map(str::to_owned).to_vec()).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    println!("{}", said.stderr);
    let report: Value = serde_json::from_slice(&folder.read("report.json")).unwrap();
    let lessons = json_lines(&folder.read("notes.jsonl"));
    let count = |polarity: &str| lessons.iter().filter(|lesson| lesson["polarity"] == polarity).count();
    assert_eq!(
        (report["positive"].clone(), report["negative"].clone()),
        (count("positive").into(), count("negative").into())
    );
    assert!(count("positive") > 0 && count("negative") > 0);
    let (disabled, all) = (variant(&report, "disabled"), variant(&report, "all"));
    let of = |variant: &Value, what: &str| variant[what].as_u64().unwrap();
    assert_eq!(
        of(all, "still_wrong") + of(all, "mended") + of(all, "still_right") + of(all, "broken"),
        of(&report, "tested")
    );
    assert!(of(disabled, "right") < of(&report, "tested") * 7 / 10, "the model can do without notes: {report}");
    assert!(of(all, "right") > of(&report, "tested") * 95 / 100, "{report}");
    for lesson in &lessons {
        let source = lesson["evidence"][0]["source"].as_str().unwrap();
        assert!(source.starts_with(&path(&train)) && lesson["evidence"][0]["kind"] == "labelled", "{lesson}");
        assert_eq!((lesson["scope"].as_str(), lesson["author"].as_str()), (Some("group:labelled"), Some("model")));
    }

    let questions = json_lines(&std::fs::read(&test).unwrap());
    let mut many = distractors(&lessons[0], &questions);
    many.extend(lessons);
    std::fs::write(folder.path("many.jsonl"), to_lines(&many)).unwrap();
    shown.lock().unwrap().clear();
    let arguments = ["--test", &path(&test), "--notes", "many.jsonl", "--report", "report.json"];
    let (folder, said) = run(folder, &upstream, arguments.map(str::to_owned).to_vec()).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    println!("among {DISTRACTORS} distractors:\n{}", said.stderr);
    let report: Value = serde_json::from_slice(&folder.read("report.json")).unwrap();
    assert!(of(variant(&report, "all"), "right") > of(&report, "tested") * 95 / 100, "{report}");
    let shown = shown.lock().unwrap();
    let with_notes: Vec<_> = shown.iter().filter(|(_, notes)| !notes.is_empty()).collect();
    assert!(with_notes.iter().all(|(_, notes)| notes.len() <= 3));
    let found = with_notes.iter().filter(|(question, notes)| {
        let asked = asked(question);
        notes.iter().any(|note| is_right(note, &asked))
    });
    let (found, asked) = (found.count(), questions.len());
    println!("a right note is among the first three for {found} of {asked} questions");
    assert!(found * 100 >= asked * 95, "{found} of {asked}");
}
