//! `callwright retrieve` as called by a script: tools and requests as input, rankings as output, and messages about
//! unusable input.

use crate::support::verb::{Folder, Said, gunzip, gzip, json_lines, to_lines};
use serde_json::{Value, json};

fn tools() -> Vec<Value> {
    vec![
        json!({"name": "getForecast", "description": "Tells the weather of the next days.", "parameters":
            {"type": "object", "properties": {"city": {"type": "string", "description": "Where."}}}}),
        json!({"name": "cancel_order", "description": "Cancels an order.", "unknown": true}),
        json!({"name": "list_orders", "description": "Lists the orders of a customer."}),
        json!({"name": "empty"}),
    ]
}

fn folder() -> Folder {
    Folder::with(&[("tools.jsonl", &to_lines(&tools()))])
}

fn retrieve(lines: &[u8], options: &[&str]) -> Said {
    folder().run(&[&["retrieve", "--tools", "tools.jsonl"], options].concat(), lines)
}

fn asked(queries: &[&str]) -> Vec<u8> {
    to_lines(&queries.iter().map(|query| json!({"query": query})).collect::<Vec<_>>())
}

fn ranked(said: &Said) -> Vec<Vec<String>> {
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    said.lines().iter().map(|line| serde_json::from_value(line["ranked"].clone()).unwrap()).collect()
}

#[test]
fn each_request_has_its_line_with_the_documented_members() {
    let said = retrieve(&asked(&["cancel my order", ""]), &["-k", "2"]);
    let lines = said.lines();
    assert_eq!(lines[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["query", "ranked"]);
    assert_eq!(lines[0], json!({"query": "cancel my order", "ranked": ["cancel_order", "list_orders"]}));
    assert_eq!(lines[1], json!({"query": "", "ranked": []}), "nothing is asked for");
    assert!(said.stderr.contains("4 tools") && said.stderr.contains("2 requests"), "{}", said.stderr);
    assert!(said.stderr.contains("1 of them without any tool"), "{}", said.stderr);
}

#[test]
fn meaning_finds_what_words_alone_do_not() {
    let query = asked(&["will it rain tomorrow?"]);
    assert_eq!(ranked(&retrieve(&query, &["-k", "1"])), [["getForecast"]]);
    assert_eq!(ranked(&retrieve(&query, &["--embedding", "none"])), [Vec::<String>::new()]);
}

#[test]
fn a_tool_that_is_named_comes_first_and_details_say_so() {
    let said = retrieve(&asked(&["cancel the order, but first getForecast"]), &["--details"]);
    let [line] = said.lines().try_into().unwrap();
    assert_eq!(line["ranked"][0], "getForecast");
    assert_eq!(line["why"][0]["named"], true);
    let second = &line["why"][1];
    assert!(second["named"] == false && second["words"].as_f64().unwrap() > 0.0, "{second}");
    assert!(second["meaning"].is_number() && second["closest"].as_f64().unwrap() > 0.3, "{second}");
}

#[test]
fn what_was_learned_counts_and_its_pattern_is_named() {
    let folder = folder();
    std::fs::create_dir(folder.path("learned")).unwrap();
    let file = "tools:\n- tool: empty\n  patterns:\n  - description: Questions about lost luggage.\n    cases: [my suitcase is gone]\n";
    std::fs::write(folder.path("learned/tools.yaml"), file).unwrap();
    let arguments = ["retrieve", "--tools", "tools.jsonl", "--representations", "learned", "--details"];
    let said = folder.run(&arguments, &asked(&["where is my suitcase"]));
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let [line] = said.lines().try_into().unwrap();
    assert_eq!(
        (&line["ranked"][0], &line["why"][0]["pattern"]),
        (&json!("empty"), &json!("Questions about lost luggage."))
    );
    assert!(said.stderr.contains("1 of them with a representation"), "{}", said.stderr);
    std::fs::write(folder.path("learned/tools.yaml"), "tools: [{tool: 1}").unwrap();
    let said = folder.run(&arguments, &asked(&["x"]));
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("tools.yaml"), "{}", said.stderr);
}

#[test]
fn lines_that_cannot_be_used_are_named_and_left_out() {
    let folder = folder();
    let more = [
        to_lines(&tools()),
        to_lines(&[json!({"name": "empty"}), json!({"description": "x"}), json!(["x"])]),
        b"no json\n".to_vec(),
    ];
    std::fs::write(folder.path("tools.jsonl"), more.concat()).unwrap();
    let queries = [asked(&["order"]), b"{\"query\": 1}\n{}\n\xff\n".to_vec()].concat();
    let said = folder.run(&["retrieve", "--tools", "tools.jsonl"], &queries);
    assert_eq!(said.status, Some(1));
    assert_eq!(said.lines().len(), 1);
    let told = [
        "tools.jsonl:5: the tool `empty` is already defined in line 4",
        "tools.jsonl:6: there is no `name`",
        "tools.jsonl:7: the line is not a tool",
        "tools.jsonl:8: the line is not valid JSON",
        "standard input:2: the line is not a query",
        "standard input:3: there is no `query`",
        "standard input:4: the line is not UTF-8",
        "7 of 12 lines could not be used",
    ];
    for message in told {
        assert!(said.stderr.contains(message), "{message} is missing in:\n{}", said.stderr);
    }
}

#[test]
fn what_makes_no_sense_is_said_with_a_way_out() {
    let folder = folder();
    std::fs::write(folder.path("none.jsonl"), "\n").unwrap();
    for (arguments, status, told) in [
        (&["--tools", "none.jsonl"] as &[&str], 1, "the file contains no tool"),
        (&["--tools", "missing.jsonl"], 1, "missing.jsonl"),
        (&["--tools", "-"], 1, "standard input cannot be both"),
        (&["--tools", "tools.jsonl", "-k", "0"], 2, "zero"),
        (&["--tools", "tools.jsonl", "--in", "none.jsonl", "--out", "tools.jsonl"], 1, "would be overwritten"),
        (&["--tools", "tools.jsonl", "--representations", "nowhere"], 1, "nowhere"),
    ] {
        let said = folder.run(&[&["retrieve"], arguments].concat(), b"");
        assert_eq!(said.status, Some(status), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(told), "{arguments:?}: {}", said.stderr);
    }
}

#[test]
fn tools_of_every_kind_are_ranked() {
    let megabyte = "weather in every town. ".repeat(1024 * 1024 / 23);
    let tools = [
        json!({"name": "long", "description": megabyte}),
        json!({"name": "one", "description": "The same."}),
        json!({"name": "two", "description": "The same."}),
        json!({"name": "天气", "description": "查询天气"}),
        json!({"name": "ветер", "description": "Скорость ветра"}),
        json!({"name": "null", "description": null, "parameters": null}),
    ];
    let folder = Folder::with(&[("tools.jsonl.gz", &gzip(&to_lines(&tools)))]);
    let queries = ["same", "天气怎么样", "ветра", "weather town", "\u{0}\u{202e}", &"word ".repeat(200_000)];
    for options in [&[] as &[&str], &["--embedding", "none"]] {
        let said = folder.run(&[&["retrieve", "--tools", "tools.jsonl.gz"], options].concat(), &asked(&queries));
        let ranked = ranked(&said);
        let mut equals = ranked[0][..2].to_vec();
        equals.sort();
        assert_eq!(equals, ["one", "two"]);
        assert_eq!([&ranked[1][0], &ranked[2][0], &ranked[3][0]], ["天气", "ветер", "long"]);
        assert_eq!(ranked.len(), queries.len());
    }
}

#[test]
fn compressed_output_and_order_are_kept() {
    let folder = folder();
    let queries: Vec<String> = (0..600).map(|number| format!("order {number}")).collect();
    let lines: Vec<&str> = queries.iter().map(String::as_str).collect();
    std::fs::write(folder.path("in.jsonl"), asked(&lines)).unwrap();
    let arguments = ["retrieve", "--tools", "tools.jsonl", "--in", "in.jsonl", "--out", "out.jsonl.gz"];
    let said = folder.run(&arguments, b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let written = json_lines(&gunzip(&folder.read("out.jsonl.gz")));
    assert_eq!(written.iter().map(|line| line["query"].as_str().unwrap()).collect::<Vec<_>>(), lines);
}
