//! `callwright learn` as called by a person or a script.

use crate::support::answer;
use crate::support::verb::{Folder, Kills, Said, to_lines};
use crate::support::{Received, Reply, Server};
use serde_json::{Value, json};

/// Requests to a small bank. Names and descriptions do not mention them, so they alone yield few matches.
const WISHES: [(&str, &str, [&str; 3], [&str; 5]); 3] = [
    (
        "lookup_alpha",
        "Retrieve a resource.",
        ["I lost my", "somebody stole my", "I cannot find my"],
        [
            "wallet on the train", "purse at the station", "wallet this morning", "handbag in town",
            "plastic while travelling",
        ],
    ),
    (
        "lookup_beta",
        "Retrieve a record.",
        ["when will the letter", "why has the parcel not", "how long does the envelope"],
        ["arrive at my house", "reach me here", "come in the post", "get to my address", "take until it comes"],
    ),
    (
        "lookup_gamma",
        "Retrieve an item.",
        ["how many euros for", "what do I get for", "is it a good day to swap"],
        ["ten dollars", "my pounds", "a hundred yen", "some francs", "these kroner"],
    ),
];

fn tools() -> Vec<Value> {
    WISHES.iter().map(|(name, description, _, _)| json!({"name": name, "description": description})).collect()
}

fn samples() -> Vec<Value> {
    let of_tool = |(name, _, begins, ends): &(&str, &str, [&str; 3], [&str; 5])| -> Vec<Value> {
        let queries = begins.iter().flat_map(|begin| ends.iter().map(move |end| format!("{begin} {end}")));
        queries.map(|query| json!({"query": query, "tools": [name]})).collect()
    };
    WISHES.iter().flat_map(of_tool).collect()
}

fn folder(tools: &[Value], samples: &[Value]) -> Folder {
    Folder::with(&[("tools.jsonl", &to_lines(tools)), ("train.jsonl", &to_lines(samples))])
}

const LEARN: [&str; 8] =
    ["learn", "representations", "--tools", "tools.jsonl", "--train", "train.jsonl", "--out", "learned"];

fn learn(folder: &Folder, options: &[&str]) -> Said {
    folder.run(&[&LEARN[..], options].concat(), b"")
}

fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).unwrap()
}

fn report(folder: &Folder) -> Value {
    serde_json::from_slice(&folder.read("learned/report.json")).unwrap()
}

#[test]
fn samples_make_representations_and_a_report_without_any_model() {
    let folder = folder(&tools(), &samples());
    let said = learn(&folder, &[]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let learned = text(&folder, "learned/tools.yaml");
    assert!(learned.starts_with("# ") && learned.contains("source: learned extractive"), "{learned}");
    let gains = learned.lines().filter_map(|line| line.trim().strip_prefix("gain: ")?.parse::<f64>().ok());
    assert!(gains.sum::<f64>() > 10.0, "{learned}");
    let report = report(&folder);
    assert_eq!(report["validation_share"], 1.0, "each of so few samples confirms");
    let score = |when: &str| report[when].as_f64().unwrap();
    assert!(score("after") > score("before") + 10.0, "{report}");
    assert_eq!(report["samples"], 45);
    assert_eq!(report["cost"]["requests"], 0);
    assert!(said.stderr.contains("macro-F1") && said.stderr.contains("tools.yaml"), "{}", said.stderr);
    let names: Vec<_> =
        std::fs::read_dir(folder.path("learned")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let known = ["report.json", "tools.yaml", "tools.classifier.json"];
    assert!(names.iter().all(|name| known.iter().any(|known| name == known)), "nothing else is left: {names:?}");
}

#[test]
fn no_case_holds_more_than_its_share_of_a_sample() {
    let folder = folder(&tools(), &samples());
    assert_eq!(learn(&folder, &[]).status, Some(0));
    let learned = text(&folder, "learned/tools.yaml");
    for sample in samples() {
        let query = sample["query"].as_str().unwrap();
        assert!(!learned.contains(query), "{query} stands in {learned}");
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let [one, other] = [folder(&tools(), &samples()), folder(&tools(), &samples())].map(|folder| {
        assert_eq!(learn(&folder, &["--seed", "7"]).status, Some(0));
        (folder.read("learned/tools.yaml"), folder.read("learned/report.json"))
    });
    assert_eq!(one, other);
}

#[test]
fn what_people_wrote_or_edited_survives_learning_again() {
    let folder = folder(&tools(), &samples());
    assert_eq!(learn(&folder, &[]).status, Some(0));
    let learned = text(&folder, "learned/tools.yaml");
    let written = "- tool: lookup_alpha\n  patterns:\n  - description: Holidays abroad.\n- tool: gone\n  patterns:\n  - description: Mine.\n";
    let first = learned.lines().find_map(|line| line.trim().strip_prefix("- description: ")).unwrap().to_owned();
    let edited = learned.replacen(&first, "What a person made of it.", 1);
    // The user's own patterns of the tool are below its own heading.
    let edited = edited.replacen(
        "- tool: lookup_alpha\n  patterns:\n",
        &written.replacen("- tool: gone\n  patterns:\n  - description: Mine.\n", "", 1),
        1,
    );
    let edited = format!("{edited}- tool: gone\n  patterns:\n  - description: Mine.\n");
    std::fs::write(folder.path("learned/tools.yaml"), edited).unwrap();
    let said = learn(&folder, &["--seed", "2"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let again = text(&folder, "learned/tools.yaml");
    for kept in ["Holidays abroad.", "What a person made of it.", "source: edited", "description: Mine."] {
        assert!(again.contains(kept), "{kept} in {again}");
    }
    assert!(said.stderr.contains("gone"), "{}", said.stderr);
}

#[test]
fn a_toolset_has_a_file_of_its_own() {
    let folder = folder(&tools(), &samples());
    assert_eq!(learn(&folder, &["--toolset", "bank/v1"]).status, Some(0));
    assert!(text(&folder, "learned/bank-v1.yaml").contains("\ntoolset: bank/v1\n"));
}

#[test]
fn unusable_lines_are_named_and_the_others_are_learned_from() {
    let mut lines = samples();
    lines.push(json!({"query": "x", "tools": ["lookup_alhpa"]}));
    lines.push(json!({"query": "", "tools": ["lookup_alpha"]}));
    lines.push(json!({"query": "x"}));
    let mut listed = tools();
    listed.push(json!({"name": "lookup_alpha", "description": "again"}));
    listed.push(json!({"description": "nameless"}));
    let folder = folder(&listed, &lines);
    let said = learn(&folder, &[]);
    assert_eq!(said.status, Some(1));
    for expected in [
        "train.jsonl:46: there is no tool `lookup_alhpa` among --tools; did you mean `lookup_alpha`?",
        "train.jsonl:47: there is no `query`",
        "train.jsonl:48: there are no `tools`",
        "tools.jsonl:4: the tool `lookup_alpha` is already defined in line 1",
        "tools.jsonl:5: there is no `name`",
        "5 of 53 lines",
    ] {
        assert!(said.stderr.contains(expected), "{expected} in {}", said.stderr);
    }
    assert!(text(&folder, "learned/tools.yaml").contains("lookup_alpha"));
}

#[test]
fn what_makes_tools_hard_to_find_is_told() {
    let mut listed = tools();
    listed.push(json!({"name": "silent", "description": " "}));
    listed.push(json!({"name": "twin", "description": "Retrieve an item."}));
    let mut lines = samples();
    lines.push(json!({"query": "one of a kind", "tools": ["silent"]}));
    let said = learn(&folder(&listed, &lines), &[]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    for expected in [
        "without a description", "silent", "equal descriptions", "lookup_gamma, twin", "without a sample",
        "with one sample",
    ] {
        assert!(said.stderr.contains(expected), "{expected} in {}", said.stderr);
    }
}

#[test]
fn bad_input_gets_a_clear_message_and_no_panic() {
    let one = || samples()[..1].to_vec();
    let cases = [
        (tools(), one(), [].as_slice(), "1 samples are too few"),
        (tools(), Vec::new(), &[], "0 samples are too few"),
        (Vec::new(), one(), &[], "the file contains no tool"),
        (tools(), samples(), &["--proposer", "llm"], "--model"),
        (tools(), samples(), &["--threshold", "NaN"], "--threshold"),
    ];
    for (tools, samples, options, expected) in cases {
        let folder = folder(&tools, &samples);
        let said = learn(&folder, options);
        assert!(said.status == Some(1) || said.status == Some(2), "{expected}: {:?}", said.status);
        assert!(said.stderr.contains(expected) && !said.stderr.contains("panicked"), "{expected} in {}", said.stderr);
        assert!(!folder.path("learned/tools.yaml").exists());
    }
}

#[test]
fn hostile_texts_are_learned_from_as_any_others() {
    let long = "word ".repeat(200_000);
    let listed = [
        json!({"name": "long", "description": long}),
        json!({"name": "银行", "description": "冻结丢失的银行卡"}),
        json!({"name": "فارسی", "description": "\u{202e}\u{0} control"}),
        json!({"name": "long2", "description": long}),
    ];
    let mut lines = Vec::new();
    for number in 0..12 {
        lines.push(json!({"query": format!("我的银行卡丢了 {number}"), "tools": ["银行"]}));
        lines.push(json!({"query": format!("کارت من گم شده است {number}"), "tools": ["فارسی", "long"]}));
        lines.push(
            json!({"query": format!("\u{1b}[31m \"]}}] ignore \u{0}\n---\n- tool: x {number}"), "tools": ["long2"]}),
        );
    }
    lines.push(json!({"query": long, "tools": ["long"]}));
    let folder = folder(&listed, &lines);
    let said = learn(&folder, &["--iterations", "2"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert!(!said.stderr.contains('\u{1b}'), "{}", said.stderr);
    let again = learn(&folder, &["--iterations", "2"]);
    assert_eq!(again.status, Some(0), "what was written can be read: {}", again.stderr);
}

#[test]
fn a_damaged_file_of_representations_is_told_and_left_alone() {
    let folder = folder(&tools(), &samples());
    std::fs::create_dir(folder.path("learned")).unwrap();
    std::fs::write(folder.path("learned/tools.yaml"), "tools:\n- tool: a\n  pattern: []\n").unwrap();
    let said = learn(&folder, &[]);
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("tools.yaml:3:3: unknown key `pattern`; did you mean `patterns`?"), "{}", said.stderr);
    assert!(text(&folder, "learned/tools.yaml").contains("pattern: []"));
}

#[test]
fn traces_of_calls_that_worked_are_samples_too() {
    let trace = |sample: &Value| {
        json!({
            "id": "t", "started_at": "2026-01-01T00:00:00Z", "endpoint": "/v1/chat/completions", "model": "m", "upstream": "u",
            "policy": "default", "mode": "guard", "stream": false, "status": 200, "verdict": "clean", "tools_offered": [],
            "attempts": [], "record": [], "usage": {}, "duration_ms": 1.0, "overhead_ms": 1.0,
            "executions": [{
                "call": {"id": "c", "name": sample["tools"][0], "arguments": "{}"}, "toolset": "bank", "operation": "GET /",
                "outcome": "success", "status": 200, "duration_ms": 1.0,
            }],
            "request": {"messages": [{"role": "user", "content": sample["query"]}]},
        })
    };
    let mut traces: Vec<Value> = samples().iter().map(trace).collect();
    traces[0]["verdict"] = "faulty".into();
    let folder = folder(&tools(), &samples());
    std::fs::write(folder.path("traces.jsonl"), to_lines(&traces)).unwrap();
    let traced = ["learn", "representations", "--tools", "tools.jsonl", "--traces", "traces.jsonl", "--out", "traced"];
    let said = folder.run(&[&traced[..], &["--toolset", "bank"]].concat(), b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("1 traces have no verified outcome"), "{}", said.stderr);
    let report: Value = serde_json::from_slice(&folder.read("traced/report.json")).unwrap();
    assert_eq!((&report["samples"], &report["toolset"]), (&json!(44), &json!("bank")));
    assert!(text(&folder, "traced/bank.yaml").contains("source: learned extractive"));
}

/// Proposes for every tool the first three words of its first requests.
fn proposal(request: &Received) -> Reply {
    let data: Value = serde_json::from_str(request.messages()[1]["content"].as_str().unwrap()).unwrap();
    let tool = data["tool"].as_str().unwrap();
    let answer = match data["requests"].as_array() {
        Some(requests) => {
            let case = |request: &Value| request.as_str().unwrap().split(' ').take(3).collect::<Vec<_>>().join(" ");
            json!([{"description": format!("Wishes that {tool} fulfils."), "cases": requests.iter().take(3).map(case).collect::<Vec<_>>()}])
        }
        None => data["patterns"].clone(),
    };
    answer::text(&answer.to_string())
}

fn with_upstream(folder: &Folder, upstream: &Server) {
    let config = crate::support::config(&upstream.url("/v1"));
    let config = format!("{config}api_key = \"sk-secret\"\n[prices.gpt-test]\nprompt = 2.0\ncompletion = 8.0\n");
    std::fs::write(folder.path("callwright.toml"), config).unwrap();
}

const LLM: [&str; 4] = ["--proposer", "llm", "--model", "gpt-test"];

async fn learn_with_model(folder: Folder, options: &'static [&'static str]) -> (Folder, Said) {
    tokio::task::spawn_blocking(move || {
        let said = learn(&folder, &[&LLM[..], options].concat());
        (folder, said)
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_models_proposals_have_their_cost_reported_before_and_after() {
    let upstream = Server::scripted(|_, request| proposal(request)).await;
    let folder = folder(&tools(), &samples());
    with_upstream(&folder, &upstream);
    let (folder, said) = learn_with_model(folder, &["--iterations", "2"]).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("at most 24 requests to gpt-test"), "{}", said.stderr);
    let asked = upstream.received();
    assert!(
        !asked.is_empty() && asked.iter().all(|request| request.header("authorization") == Some("Bearer sk-secret"))
    );
    let report = report(&folder);
    assert_eq!(
        report["cost"],
        json!({"requests": asked.len(), "prompt_tokens": 20 * asked.len(), "completion_tokens": 5 * asked.len()})
    );
    assert!(said.stderr.contains(&format!("{} requests", asked.len())), "{}", said.stderr);
    let learned = text(&folder, "learned/tools.yaml");
    assert!(learned.contains("source: learned gpt-test") && learned.contains("I lost my"), "{learned}");
    assert!(!learned.contains("sk-secret") && !said.stderr.contains("sk-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_write_while_a_run_lasts_is_kept_too() {
    let folder = folder(&tools(), &samples());
    let learned = folder.path("learned/tools.yaml");
    let upstream = Server::scripted(move |_, request| {
        std::fs::write(&learned, "tools:\n- tool: lookup_alpha\n  patterns:\n  - description: Written meanwhile.\n")
            .unwrap();
        proposal(request)
    })
    .await;
    with_upstream(&folder, &upstream);
    let (folder, said) = learn_with_model(folder, &["--iterations", "1"]).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let learned = text(&folder, "learned/tools.yaml");
    assert!(learned.contains("Written meanwhile.") && learned.contains("source: learned gpt-test"), "{learned}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_asks_nobody_and_writes_nothing() {
    let upstream = Server::scripted(|_, request| proposal(request)).await;
    let folder = folder(&tools(), &samples());
    with_upstream(&folder, &upstream);
    let (folder, said) = learn_with_model(folder, &["--estimate"]).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert!(
        said.stderr.contains("at most 120 requests") && said.stderr.contains("at the configured prices"),
        "{}",
        said.stderr
    );
    assert!(upstream.received().is_empty() && !folder.path("learned/tools.yaml").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_only_refuses_changes_nothing_and_is_explained() {
    let refusal = answer::completion(json!({"role": "assistant", "content": null, "refusal": "I will not."}), "stop");
    let upstream = Server::always(Reply::json(200, &refusal)).await;
    let folder = folder(&tools(), &samples());
    with_upstream(&folder, &upstream);
    let (folder, said) = learn_with_model(folder, &["--iterations", "1"]).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let report = report(&folder);
    assert_eq!(report["after"], report["before"]);
    assert!(report["failures"][0]["reason"].as_str().unwrap().contains("I will not."), "{report}");
    assert!(said.stderr.contains("I will not."), "{}", said.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_goes_on_to_the_same_bytes() {
    let whole = folder(&tools(), &samples());
    let upstream = Server::scripted(|_, request| proposal(request)).await;
    with_upstream(&whole, &upstream);
    let (whole, said) = learn_with_model(whole, &[]).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let mut all: Vec<Value> = upstream.received().iter().map(Received::json).collect();

    let killed = folder(&tools(), &samples());
    let start = |killed: &Folder, upstream: &Server| {
        with_upstream(killed, upstream);
        killed.start(&[&LEARN[..], &LLM[..]].concat())
    };
    let kills = Kills { journal: "learned/.journal.jsonl", start: &start, play: proposal };
    let (mut answered, deaths) = kills.until_the_end(&killed).await;
    assert!(deaths > 2 && !killed.path("learned/.journal.jsonl").exists(), "{deaths}");
    for file in ["learned/tools.yaml", "learned/report.json"] {
        assert_eq!(text(&killed, file), text(&whole, file), "{file}");
    }
    all.sort_by_key(Value::to_string);
    answered.sort_by_key(Value::to_string);
    assert_eq!(answered, all, "each request is answered once, as without an interruption");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_stops_before_it_exceeds_its_budget() {
    let upstream = Server::scripted(|_, request| proposal(request)).await;
    let folder = folder(&tools(), &samples());
    with_upstream(&folder, &upstream);
    let (folder, said) = learn_with_model(folder, &["--max-requests", "1", "--iterations", "1"]).await;
    assert!(said.stderr.contains("the budget of 1 requests is spent"), "{}", said.stderr);
    assert_eq!(upstream.received().len(), 1);
    let request = upstream.received()[0].json();
    assert_eq!(request["max_tokens"], 4096);
    let form = &request["response_format"]["json_schema"]["schema"]["properties"]["patterns"];
    assert!(form["maxItems"].is_u64() && form["items"]["properties"]["cases"]["maxItems"].is_u64(), "{form}");
    // 4,096 tokens of an answer cost .033.
    let (folder, said) = learn_with_model(folder, &["--budget", "0.001", "--iterations", "1"]).await;
    assert!(said.stderr.contains("could exceed the budget of money"), "{}", said.stderr);
    let (_, said) = learn_with_model(folder, &["--budget", "1", "--iterations", "1"]).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
}

/// Requests that none of the tools serves.
fn small_talk() -> Vec<String> {
    let begins = ["good morning", "good evening", "thanks a lot", "nice to meet you", "that is funny"];
    let ends = ["my friend", "to you", "dear assistant", "again", "everybody"];
    begins.iter().flat_map(|begin| ends.iter().map(move |end| format!("{begin} {end}"))).collect()
}

#[test]
fn requests_that_no_tool_serves_teach_to_find_none() {
    let talk = small_talk();
    let (held, talk) = talk.split_at(1);
    let mut lines = samples();
    let wish = lines.pop().unwrap();
    lines.extend(talk.iter().map(|query| json!({"query": query, "tools": []})));
    let folder = folder(&tools(), &lines);
    let test = [wish.clone(), json!({"query": held[0], "tools": []}), lines[0].clone()];
    std::fs::write(folder.path("test.jsonl"), to_lines(&test)).unwrap();
    let said = learn(&folder, &["--test", "test.jsonl", "--jobs", "2"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("on 2 samples of --test (1 others were learned from)"), "{}", said.stderr);
    let report = report(&folder);
    let measured = &report["test"];
    assert_eq!((&measured["samples"], &measured["seen"]), (&json!(2), &json!(1)));
    assert_eq!(measured["learned"], json!({"first_right": 100.0, "macro_f1": 100.0, "no_tool": 100.0}), "{report}");
    assert_eq!(measured["plain"]["no_tool"], 0.0);
    assert!(report["classifier"]["no_tool"].as_f64().unwrap() > 50.0, "{report}");

    std::fs::write(folder.path("asked.jsonl"), to_lines(&test[..2])).unwrap();
    let retrieve = ["retrieve", "--tools", "tools.jsonl", "--representations", "learned", "--in", "asked.jsonl"];
    let said = folder.run(&retrieve, b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let ranked: Vec<Value> =
        said.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(ranked[0]["ranked"][0], wish["tools"][0]);
    assert_eq!(ranked[1]["ranked"], json!([]));
    let said = folder.run(&[&retrieve[..], &["--embedding", "none"]].concat(), b"");
    assert!(said.stderr.contains("the learned classifier is not used"), "{}", said.stderr);
}

#[test]
fn a_run_without_lessons_has_its_own_status_and_changes_nothing() {
    // Each request is labelled with either tool.
    let lines: Vec<Value> = (0..40)
        .map(|number| json!({"query": format!("do it now {}", number / 2), "tools": [WISHES[number % 2].0]}))
        .collect();
    let folder = folder(&tools(), &lines);
    let said = learn(&folder, &["--threshold", "100"]);
    assert_eq!(said.status, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("nothing was learned"), "{}", said.stderr);
    assert!(!folder.path("learned/tools.yaml").exists() && folder.path("learned/report.json").exists());
}

#[test]
fn a_classifier_of_another_run_is_refused() {
    let mut lines = samples();
    lines.extend(small_talk().iter().map(|query| json!({"query": query, "tools": []})));
    let folder = folder(&tools(), &lines);
    assert_eq!(learn(&folder, &[]).status, Some(0));
    let classifier = folder.path("learned/tools.classifier.json");
    let text = std::fs::read_to_string(&classifier).unwrap();
    std::fs::write(&classifier, text.replacen("\"bias\":", "\"bias\":1", 1)).unwrap();
    std::fs::write(folder.path("asked.jsonl"), b"{\"query\": \"x\"}\n").unwrap();
    let retrieve = ["retrieve", "--tools", "tools.jsonl", "--representations", "learned", "--in", "asked.jsonl"];
    let said = folder.run(&retrieve, b"");
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("tools.classifier.json") && said.stderr.contains("copy both"), "{}", said.stderr);
}
