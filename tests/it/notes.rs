//! `callwright learn notes` as called by a person or a script.

use crate::support::verb::{Folder, Kills, Said, gunzip, gzip, json_lines, to_lines};
use crate::support::{Received, Reply, Server, answer};
use serde_json::{Value, json};

/// Questions of one kind: the model only has capitals that are in a note.
fn cases() -> Vec<Value> {
    let capitals = [("Norway", "Oslo"), ("Peru", "Lima"), ("Kenya", "Nairobi")];
    let case = |(country, capital)| json!({"question": format!("What is the capital of {country}?"), "answer": capital, "more": 1});
    capitals.into_iter().map(case).collect()
}

/// The scripted model: it answers from a note, and writes the truth into notes.
fn play(request: &Received) -> Reply {
    let messages = request.messages();
    let data = |at: usize| -> Value { serde_json::from_str(messages[at]["content"].as_str().unwrap()).unwrap() };
    let question = data(1)["question"].as_str().unwrap().to_owned();
    let country = question.trim_end_matches('?').rsplit(' ').next().unwrap().to_owned();
    let note = data(1)["notes"].as_array().and_then(|notes| notes.first().cloned());
    answer::text(&match (note, messages.len()) {
        (Some(note), _) => format!("ANSWER: {}", note["value"].as_str().unwrap()),
        (None, 4) => format!(
            "NOTE[{country}, capital]: {}\nNOTE[mail]: write to a@example.org\nDONE",
            data(3)["truth"].as_str().unwrap()
        ),
        (None, _) => "ANSWER: London".to_owned(),
    })
}

async fn run(folder: Folder, upstream: &Server, arguments: &'static [&'static str], input: Vec<u8>) -> (Folder, Said) {
    std::fs::write(folder.path("callwright.toml"), crate::support::config(&upstream.url("/v1"))).unwrap();
    tokio::task::spawn_blocking(move || {
        let fixed = ["learn", "notes", "--model", "scripted"];
        let said = folder.run(&[&fixed[..], arguments].concat(), &input);
        (folder, said)
    })
    .await
    .unwrap()
}

fn folder() -> Folder {
    Folder::with(&[("train.jsonl", &to_lines(&cases())), ("test.jsonl.gz", &gzip(&to_lines(&cases())))])
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_learned_tried_in_all_variants_and_written() {
    let upstream = Server::scripted(|_, request| play(request)).await;
    let arguments = &[
        "--train", "-", "--test", "test.jsonl.gz", "--out", "notes.jsonl.gz", "--report", "report.json", "--group",
        "geo", "--variant", "all,case,positive,negative",
    ];
    let (folder, said) = run(folder(), &upstream, arguments, to_lines(&cases())).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let report: Value = serde_json::from_slice(&folder.read("report.json")).unwrap();
    let right: Vec<_> = report["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (of["variant"].as_str().unwrap(), of["right"].as_u64().unwrap()))
        .collect();
    assert_eq!(right, [("disabled", 0), ("all", 3), ("case", 3), ("positive", 0), ("negative", 3)]);
    assert_eq!(report["variants"][1]["mended"], 3);
    assert_eq!(report["cost"]["requests"].as_u64().unwrap(), upstream.received().len() as u64);
    let lessons = json_lines(&gunzip(&folder.read("notes.jsonl.gz")));
    let keys: Vec<_> =
        lessons.iter().map(|lesson| (lesson["key"].as_str().unwrap(), lesson["value"].as_str().unwrap())).collect();
    assert_eq!(keys[0], ("Norway, capital", "Oslo"));
    let mails: Vec<_> = lessons.iter().filter(|lesson| lesson["key"] == "mail").collect();
    assert_eq!(mails.len(), 1, "what is said again is one lesson: {lessons:?}");
    assert_eq!(
        (mails[0]["value"].as_str(), mails[0]["evidence"].as_array().unwrap().len()),
        (Some("write to <email>"), 3)
    );
    assert_eq!((lessons[0]["scope"].as_str(), lessons[0]["polarity"].as_str()), (Some("group:geo"), Some("negative")));
    assert_eq!(lessons[0]["evidence"][0]["source"], "-:1");
    assert!(
        said.stderr.contains("4 lessons: 0 positive, 4 negative") && said.stderr.contains("F=>T"),
        "{}",
        said.stderr
    );
    // Earlier lessons are recalled, and the same questions do not confirm them a second time.
    std::fs::write(folder.path("old.jsonl"), gunzip(&folder.read("notes.jsonl.gz"))).unwrap();
    let again = &["--train", "-", "--notes", "old.jsonl", "--out", "new.jsonl", "--group", "geo"];
    let (folder, said) = run(folder, &upstream, again, to_lines(&cases())).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert_eq!(json_lines(&folder.read("new.jsonl")), lessons);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_is_told() {
    let upstream = Server::scripted(|_, request| play(request)).await;
    let mut lines = to_lines(&cases());
    lines.extend_from_slice(b"{\"question\": \"x\"}\n");
    std::fs::write(folder().path("x"), b"").unwrap();
    let (folder, said) = run(folder(), &upstream, &["--train", "-", "--out", "notes.jsonl"], lines).await;
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("there is no `answer`") && said.stderr.contains("1 of 4 lines"), "{}", said.stderr);
    assert_eq!(json_lines(&folder.read("notes.jsonl")).len(), 4);
    for (arguments, expected) in [
        (&["--test", "test.jsonl.gz"][..], "give --train"),
        (&["--train", "-", "--test", "-"][..], "standard input cannot be both --train and --test"),
        (&["--train", "train.jsonl", "--out", "train.jsonl"][..], "would be overwritten"),
        (&["--train", "none.jsonl"][..], "none.jsonl"),
    ] {
        let (_, said) = run(self::folder(), &upstream, arguments, Vec::new()).await;
        assert_eq!(said.status, Some(1));
        assert!(said.stderr.contains(expected), "{arguments:?}: {}", said.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_asks_nothing_twice() {
    // The key is refused from the fifth request on.
    let refused = || Reply::json(401, &json!({"error": {"message": "no such key"}}));
    let upstream = Server::scripted(move |number, request| if number < 5 { play(request) } else { refused() }).await;
    let arguments = &["--train", "train.jsonl", "--out", "notes.jsonl", "--jobs", "1"];
    let (folder, said) = run(folder(), &upstream, arguments, Vec::new()).await;
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("the same command continues") && said.stderr.contains("api_key"), "{}", said.stderr);
    assert!(!folder.path("notes.jsonl").exists());

    let upstream = Server::scripted(|_, request| play(request)).await;
    let resumed = &["--train", "train.jsonl", "--out", "notes.jsonl", "--jobs", "1", "--report", "report.json"];
    let (folder, said) = run(folder, &upstream, resumed, Vec::new()).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert_eq!(upstream.received().len(), 1, "five of six answers were there");
    let report: Value = serde_json::from_slice(&folder.read("report.json")).unwrap();
    assert_eq!(report["cost"]["requests"].as_u64(), Some(6), "the answers of the interrupted run count too");
    assert_eq!(json_lines(&folder.read("notes.jsonl")).len(), 4);
    assert!(
        !std::fs::read_dir(folder.path(".")).unwrap().any(|entry| entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("journal"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_repeats_no_answered_request() {
    let arguments =
        &["--train", "train.jsonl", "--test", "test.jsonl.gz", "--out", "notes.jsonl", "--report", "report.json"];
    let upstream = Server::scripted(|_, request| play(request)).await;
    let (whole, said) = run(folder(), &upstream, arguments, Vec::new()).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let killed = folder();
    let start = |killed: &Folder, upstream: &Server| {
        std::fs::write(killed.path("callwright.toml"), crate::support::config(&upstream.url("/v1"))).unwrap();
        killed.start(&[&["learn", "notes", "--model", "scripted"][..], arguments].concat())
    };
    let kills = Kills { journal: ".notes.jsonl.journal.jsonl", start: &start, play };
    let (answered, deaths) = kills.until_the_end(&killed).await;
    assert!(deaths > 2, "{deaths}");
    assert_eq!(answered.len(), upstream.received().len());
    assert_eq!(killed.read("report.json"), whole.read("report.json"));
    let lessons = |folder: &Folder| -> Vec<Value> {
        let lessons = json_lines(&folder.read("notes.jsonl")).into_iter();
        lessons.map(|lesson| json!([lesson["key"], lesson["value"], lesson["polarity"]])).collect()
    };
    assert_eq!(lessons(&killed), lessons(&whole));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tasks_instructions_and_demonstrations_are_in_every_prompt() {
    let upstream = Server::scripted(|_, request| play(request)).await;
    let folder = folder();
    std::fs::write(folder.path("task.txt"), "Name the city only.").unwrap();
    let demonstration =
        json!({"question": "What is the capital of Chad?", "truth": "N'Djamena", "thought": "Not Lagos."});
    std::fs::write(folder.path("shown.jsonl"), to_lines(&[demonstration])).unwrap();
    let arguments =
        &["--train", "-", "--test", "test.jsonl.gz", "--instructions", "task.txt", "--demonstrations", "shown.jsonl"];
    let (_, said) = run(folder, &upstream, arguments, to_lines(&cases())).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    for received in upstream.received() {
        let system = received.messages()[0]["content"].as_str().unwrap().to_owned();
        assert!(system.contains("Name the city only.") && system.contains("THINK[Not Lagos.]\nANSWER: N'Djamena"));
        assert!(!system.contains("tram"), "the built-in demonstrations are replaced: {system}");
    }
}
