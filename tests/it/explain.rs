//! `callwright explain` as called by a script: failures as input, passages as output, and messages about unusable
//! input.

use crate::support::verb::{Folder, Said, gunzip, to_lines};
use serde_json::{Value, json};

const WEATHER: &str = "# Weather\n\nForecasts of up to 4100 places.\n\n## Request Error Codes\n\n| Code | Meaning |\n|---|---|\n\
    | 4100 | The city is not known; use its English name. |\n| 4101 | The date is more than ten days ahead. |\n\n\
    ## Stream Close Codes\n\n| Code | Meaning |\n|---|---|\n| 4100 | The stream was idle for a minute. |\n";

fn folder() -> Folder {
    let folder = Folder::with(&[]);
    std::fs::create_dir(folder.path("docs")).unwrap();
    std::fs::write(folder.path("docs/weather.md"), WEATHER).unwrap();
    folder
}

fn explain(lines: &[u8], options: &[&str]) -> Said {
    folder().run(&[&["explain", "--docs", "docs"], options].concat(), lines)
}

fn failure(id: impl Into<Value>, body: impl Into<Value>) -> Value {
    json!({"id": id.into(), "api": "weather", "status": 400, "body": body.into()})
}

/// Returns the passages for one failure.
fn passages(line: &Value) -> Vec<String> {
    let said = explain(&to_lines(std::slice::from_ref(line)), &[]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let [found] = said.lines().try_into().unwrap();
    serde_json::from_value(found["passages"].clone()).unwrap()
}

#[test]
fn each_failure_has_its_line_with_the_documented_members() {
    let lines = [failure("a", json!({"code": 4101})), failure(2, json!({"code": 9999}))];
    let said = explain(&to_lines(&lines), &[]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let found = said.lines();
    assert_eq!(found[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "passages"]);
    assert!(found[0]["passages"][0].as_str().unwrap().contains("more than ten days ahead"), "{}", found[0]);
    assert_eq!(found[1], json!({"id": 2, "passages": []}), "nothing is claimed");
    assert!(said.stderr.contains("2 failures") && said.stderr.contains("1 explained"), "{}", said.stderr);
}

#[test]
fn details_say_where_and_how_sure() {
    let said = explain(&to_lines(&[failure("a", json!({"code": 4101}))]), &["--details"]);
    let [found] = said.lines().try_into().unwrap();
    assert_eq!(found["sources"][0], "weather.md > Weather > Request Error Codes");
    assert!(found["scores"][0].as_f64().unwrap() > 0.9, "{found}");
}

#[test]
fn what_was_called_tells_two_meanings_of_a_code_apart() {
    let mut line = failure("a", json!({"code": 4100}));
    line["operation"] = "stream-close".into();
    assert!(passages(&line)[0].contains("idle for a minute"));
    line["operation"] = "request".into();
    assert!(passages(&line)[0].contains("city is not known"));
}

#[test]
fn bodies_of_every_kind_are_read() {
    let deep = (0..200).fold(json!({"code": 4101}), |inner, _| json!([inner]));
    for (body, explained) in [
        (json!("ERROR 4101: refused"), true),
        (json!("{\"error\": {\"code\": \"4101\"}}"), true),
        (json!([{"errorCode": "ERR-4101"}]), true),
        (json!(""), false),
        (json!(null), false),
        (json!(4101.5), false),
        (json!({}), false),
        // Nested too deeply for JSON, so it is read as text.
        (deep, true),
    ] {
        assert_eq!(!passages(&failure("a", body.clone())).is_empty(), explained, "{body}");
    }
}

#[test]
fn a_body_of_ten_megabytes_is_read_in_part() {
    let rows: Vec<Value> = (0..100_000).map(|row| json!({"row": row, "text": "x".repeat(80)})).collect();
    let body = json!({"code": 4101, "rows": rows});
    assert!(passages(&failure("a", body))[0].contains("ten days"));
}

#[test]
fn files_of_documentation_that_cannot_be_read_are_named() {
    let folder = folder();
    std::fs::write(folder.path("docs/broken.json"), "[{\"code\": 1, \"message\": \"x\"}").unwrap();
    let said = folder.run(&["explain", "--docs", "docs"], &to_lines(&[failure("a", json!({"code": 4101}))]));
    assert_eq!((said.status, said.lines().len()), (Some(0), 1));
    assert!(said.stderr.contains("broken.json: EOF while parsing a list at line 1"), "{}", said.stderr);
}

#[test]
fn lines_that_cannot_be_used_are_named_and_left_out() {
    let lines = [
        b"{\"id\":1,\"api\":\"wether\",\"body\":{}}\n".to_vec(),
        b"{\"api\":\"weather\",\"body\":{}}\n".to_vec(),
        b"{\"id\":3,\"body\":{}}\n".to_vec(),
        b"{\"id\":4,\"api\":7}\n".to_vec(),
        b"{\"id\":5,\"api\":\"weather\",\xff\n".to_vec(),
        b"nonsense\n".to_vec(),
        to_lines(&[failure("good", json!({"code": 4101}))]),
    ];
    let said = explain(&lines.concat(), &[]);
    assert_eq!(said.status, Some(1));
    assert_eq!(said.lines().len(), 1);
    let told = [
        "standard input:1: `wether` names no documentation of docs; there is weather",
        "standard input:2: there is no `id`",
        "standard input:3: there is no `api`",
        "standard input:4: the line is not a failure",
        "standard input:5: the line is not UTF-8",
        "standard input:6: the line is not valid JSON",
        "6 of 7 lines could not be used",
    ];
    for message in told {
        assert!(said.stderr.contains(message), "{message} is missing in:\n{}", said.stderr);
    }
}

#[test]
fn an_unreadable_member_is_omitted_with_one_warning_per_api() {
    let line = |id: u32, status: &str| {
        format!("{{\"id\":{id},\"api\":\"weather\",\"status\":{status},\"operation\":7,\"body\":{{\"code\":4101}}}}\n")
    };
    let lines = [line(1, "-503"), line(2, "\"bad\""), line(3, "null"), line(4, "99999")].concat();
    let said = explain(lines.as_bytes(), &[]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert!(said.lines().iter().all(|line| line["passages"][0].as_str().unwrap().contains("ten days")));
    assert_eq!(said.stderr.matches("is no HTTP status").count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains("`status` -503 is no HTTP status; lines of `weather` are read without it"));
    assert_eq!(said.stderr.matches("is no name of an operation").count(), 1, "{}", said.stderr);
}

#[test]
fn documentation_is_read_in_every_format() {
    let folder = folder();
    let files = [
        (
            "tables.rst",
            "Errors\n======\n\n====  ======\nCode  Cause\n====  ======\n8001  The kiln is cold.\n====  ======\n",
        ),
        (
            "cells.adoc",
            "= Errors\n\n[options=\"header\"]\n|===\n| Code\n| Cause\n\n| 8001\n| The kiln is cold.\n|===\n",
        ),
        ("list.yaml", "errors:\n  - code: 8001\n    cause: The kiln is cold.\n"),
        ("texts.properties", "error.8001=The kiln is cold.\nerror.8002=The clay is dry.\nerror.8003=No glaze.\n"),
        ("data.txt", "{\"8001\": \"The kiln is cold.\", \"8002\": \"The clay is dry.\"}"),
    ];
    let mut lines = Vec::new();
    for (name, text) in files {
        std::fs::write(folder.path(&format!("docs/{name}")), text).unwrap();
        let api = name.split('.').next().unwrap();
        lines.push(json!({"id": name, "api": api, "body": {"code": 8001}}));
    }
    let said = folder.run(&["explain", "--docs", "docs"], &to_lines(&lines));
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    for line in said.lines() {
        let first = line["passages"][0].as_str().unwrap_or_default();
        assert!(first.contains("The kiln is cold.") && !first.contains("clay"), "{line}");
    }
}

#[test]
fn members_that_all_failures_share_are_not_explained() {
    let folder = folder();
    let api = "# Errors\n\n| Code | Meaning |\n|---|---|\n| kiln_failed | The kiln reports a failure of any kind. |\n\
        | no_clay | There is no clay in the mixer. |\n| no_glaze | The glaze tank is empty. |\n";
    std::fs::write(folder.path("docs/kiln.md"), api).unwrap();
    let body = |detail: &str| json!({"type": "kiln_failed", "detail": detail});
    let mut lines: Vec<Value> = ["lid", "door", "fan", "vent", "coil", "brick", "shelf", "probe", "relay"]
        .iter()
        .enumerate()
        .map(|(id, part)| json!({"id": id, "api": "kiln", "body": body(&format!("Rejected by the {part}"))}))
        .collect();
    std::fs::write(folder.path("in.jsonl"), to_lines(&lines)).unwrap();
    let said = folder.run(&["explain", "--docs", "docs", "--in", "in.jsonl", "--embedding", "none"], b"");
    assert!(said.lines().iter().all(|line| line["passages"] == json!([])), "{:?}", said.lines());
    lines.truncate(1);
    std::fs::write(folder.path("in.jsonl"), to_lines(&lines)).unwrap();
    let said = folder.run(&["explain", "--docs", "docs", "--in", "in.jsonl", "--embedding", "none"], b"");
    assert!(said.lines()[0]["passages"][0].as_str().unwrap().contains("of any kind"), "{:?}", said.lines());
}

#[test]
fn a_folder_without_documentation_is_an_error_with_the_fix() {
    let folder = Folder::with(&[("readme.bin", b"x")]);
    for docs in ["missing", "."] {
        let said = folder.run(&["explain", "--docs", docs], b"");
        assert_eq!(said.status, Some(1), "{}", said.stderr);
        assert!(said.stderr.contains(docs) && said.stderr.contains("name a folder"), "{}", said.stderr);
    }
}

#[test]
fn compressed_output_and_order_are_kept() {
    let folder = folder();
    let lines: Vec<Value> = (0..600).map(|id| failure(id, json!({"code": 4100 + id % 2}))).collect();
    std::fs::write(folder.path("in.jsonl"), to_lines(&lines)).unwrap();
    let said = folder.run(&["explain", "--docs", "docs", "--in", "in.jsonl", "--out", "out.jsonl.gz"], b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let ids: Vec<u64> = crate::support::verb::json_lines(&gunzip(&folder.read("out.jsonl.gz")))
        .iter()
        .map(|line| line["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, (0..600).collect::<Vec<_>>());
}

#[test]
fn a_missing_model_is_an_error_that_names_what_is_missing() {
    let said = explain(b"", &["--embedding", "no-model"]);
    assert_eq!(said.status, Some(1));
    // The machine determines which of the two is missing first.
    assert!(said.stderr.contains("no-model") || said.stderr.contains("ONNX Runtime"), "{}", said.stderr);
}
