//! `callwright scan` as called by a script: lines as input, verdicts as output, and messages about unusable lines.

use std::io::{BufRead, BufReader, Read, Write};

use crate::support::verb::{Folder, Said, gunzip, gzip, json_lines, to_lines};
use serde_json::{Value, json};

fn weather() -> Value {
    let parameters = json!({"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"type": "string", "enum": ["celsius", "kelvin"]}}});
    json!({"type": "function", "function": {"name": "get_weather", "parameters": parameters}})
}

fn tools() -> Vec<u8> {
    to_lines(&[json!({"id": "weather", "tools": [weather()], "gold": 1}), json!({"id": 7, "tools": []})])
}

fn call(name: &str, arguments: impl Into<Value>) -> Value {
    json!({"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments.into()}})
}

fn answer(id: impl Into<Value>, calls: &[Value]) -> Value {
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    json!({"id": id.into(), "question": "weather", "message": message})
}

/// Scans these lines from standard input for the questions of [`tools`].
fn scan(lines: &[u8]) -> Said {
    scan_with(lines, &[])
}

fn scan_with(lines: &[u8], options: &[&str]) -> Said {
    let folder = Folder::with(&[("tools.jsonl", &tools())]);
    folder.run(&[&["scan", "--tools", "tools.jsonl"], options].concat(), lines)
}

/// Returns the only verdict for this line.
fn verdict(line: &Value) -> Value {
    let said = scan(&to_lines(std::slice::from_ref(line)));
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let [verdict] = said.lines().try_into().unwrap();
    verdict
}

#[test]
fn each_verdict_has_its_line_with_the_documented_members() {
    let lines = [
        answer("right", &[call("get_weather", r#"{"city":"Oslo"}"#)]),
        answer(2, &[call("getWeather", "{\"City\":\"Oslo\",\n \"days\":\"3\"}")]),
        answer("wrong", &[call("get_weather", "{}"), call("get_weather", r#"{"city":"Rome"}"#)]),
        json!({"id": "said", "question": "weather", "message": {"role": "assistant", "content": "It rains."}, "model": "m"}),
    ];
    let said = scan(&to_lines(&lines));
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let found = said.lines();
    let right = json!({"id": "right", "verdict": "clean", "calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}],
        "diagnoses": [], "actions": []});
    assert_eq!(found[0], right);
    let repaired = json!({"id": 2, "verdict": "repaired", "calls": [{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}],
        "diagnoses": [], "actions": ["renamed tool \"getWeather\" to \"get_weather\"", "/city: renamed \"City\" to \"city\"",
        "/days: \"3\" became 3"]});
    assert_eq!(found[1], repaired);
    assert_eq!((&found[2]["verdict"], found[2]["calls"].as_array().unwrap().len()), (&json!("faulty"), 2));
    let diagnosis = found[2]["diagnoses"][0].as_object().unwrap();
    assert_eq!(diagnosis.keys().collect::<Vec<_>>(), ["code", "call", "path", "message"]);
    assert_eq!((&diagnosis["code"], &diagnosis["call"]), (&json!("E3.4"), &json!(0)));
    assert_eq!(found[3], json!({"id": "said", "verdict": "text", "calls": [], "diagnoses": [], "actions": []}));
}

#[test]
fn unknown_parameters_are_faults_unless_a_policy_notes_them() {
    let line = answer("a", &[call("get_weather", r#"{"city":"Oslo","reason":"a trip"}"#)]);
    assert_eq!(verdict(&line)["diagnoses"][0]["code"], "E3");
    let lines = to_lines(std::slice::from_ref(&line));
    for (rules, expected) in [("scan: {unknown_parameters: refuse}", "faulty"), ("on_exhausted: pass", "clean")] {
        let policy = format!("name: own\n{rules}\n");
        let folder = Folder::with(&[("tools.jsonl", &tools()), ("own.yaml", policy.as_bytes())]);
        let said = folder.run(&["scan", "--tools", "tools.jsonl", "--policy", "own.yaml"], &lines);
        assert_eq!((said.status, &said.lines()[0]["verdict"]), (Some(0), &json!(expected)), "{}", said.stderr);
    }
}

#[test]
fn a_standard_error_summary_counts_verdicts_codes_and_repairs() {
    let lines = [
        answer("a", &[call("get_weather", r#"{"city":"Oslo","days":"3"}"#)]),
        answer("b", &[call("launch_rocket", "{}")]),
        answer("c", &[]),
    ];
    let said = scan(&to_lines(&lines));
    for part in [
        "3 answers with 2 calls", "a second", "verdicts: faulty 2, repaired 1", "E6 no_answer 1", "E2 tool_unknown 1",
        "type_coerced 1",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    assert!(!said.stderr.contains('\u{1b}'), "no colours and no bar where there is no terminal");
}

#[test]
fn lines_may_bring_their_own_tools() {
    let line = json!({"id": "a", "tools": [weather()], "message": {"tool_calls": [call("get_weather", "{}")]}});
    let said = Folder::with(&[]).run(&["scan"], &to_lines(std::slice::from_ref(&line)));
    assert_eq!((said.status, &said.lines()[0]["verdict"]), (Some(0), &json!("faulty")), "{}", said.stderr);
    let mut both = answer("b", &[call("get_weather", r#"{"city":"Oslo"}"#)]);
    both["tools"] = json!([]);
    assert_eq!(verdict(&both)["diagnoses"][0]["code"], "E2", "the line's own tools count");
}

#[test]
fn files_and_streams_may_be_compressed() {
    let lines = to_lines(&[answer("a", &[call("get_weather", r#"{"city":"Oslo"}"#)]), answer("b", &[])]);
    // Two concatenated members form one file (RFC 1952, section 2.2).
    let (first, second) = lines.split_at(lines.len() / 2);
    let members = [gzip(first), gzip(second)].concat();
    let folder = Folder::with(&[
        ("tools.jsonl.gz", &gzip(&tools())),
        ("in.jsonl.gz", &members),
        ("misnamed.jsonl", &members),
        ("in.jsonl", &lines),
    ]);
    let scan = |input: &str, output: &str, standard: &[u8]| {
        let said = folder.run(&["scan", "--tools", "tools.jsonl.gz", "--in", input, "--out", output], standard);
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        said
    };
    let expected = scan("in.jsonl", "-", b"").stdout;
    assert_eq!(json_lines(&expected).len(), 2);
    assert_eq!(scan("-", "-", &members).stdout, expected);
    assert_eq!(scan("misnamed.jsonl", "-", b"").stdout, expected);
    scan("in.jsonl.gz", "out.jsonl.gz", b"");
    assert_eq!(gunzip(&folder.read("out.jsonl.gz")), expected);
    scan("in.jsonl.gz", "out.jsonl", b"");
    assert_eq!(folder.read("out.jsonl"), expected);
    let piped = folder.run(&["scan", "--tools", "-", "--in", "in.jsonl"], &tools());
    assert_eq!(piped.stdout, expected, "{}", piped.stderr);
}

#[test]
fn verdicts_stand_in_the_order_of_the_answers() {
    let lines: Vec<Value> = (0..3000)
        .map(|number| {
            let arguments =
                if number % 10 == 0 { format!("{{\"city\":{}}}", "[".repeat(number)) } else { "{}".to_owned() };
            answer(number, &[call("getWeather", arguments)])
        })
        .collect();
    let input = to_lines(&lines);
    let expected: Vec<Value> = (0..3000).map(Value::from).collect();
    let ids: Vec<Value> = scan_with(&input, &[]).lines().into_iter().map(|line| line["id"].clone()).collect();
    assert_eq!(ids, expected);
}

#[test]
fn what_comes_through_a_pipe_is_answered_as_it_comes() {
    let folder = Folder::with(&[("tools.jsonl", &tools())]);
    let mut child = folder.start(&["scan", "--tools", "tools.jsonl"]);
    let (mut stdin, mut verdicts) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
    for number in 0..3 {
        stdin.write_all(&to_lines(&[answer(number, &[])])).unwrap();
        let line: Value = serde_json::from_str(&verdicts.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["id"], number);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn lines_that_cannot_be_used_are_named_and_the_run_goes_on() {
    let good = to_lines(&[answer("good", &[call("get_weather", r#"{"city":"Oslo"}"#)])]);
    let with = |member: &str, value: Value| {
        let mut line = answer("x", &[]);
        line[member] = value;
        format!("{line}\n").into_bytes()
    };
    let cases: [(&[u8], &str); 12] = [
        (b"no json\n", "not valid JSON: see column 2"),
        (b"{\"id\":\n", "the line ends in the middle of its JSON; a record must be on one line"),
        (b"[]\n", "not a JSON object"),
        (b"{\"id\":\"\xff\"}\n", "not UTF-8 from byte 8 on; convert the file"),
        (&with("id", Value::Null), "no `id`; give each line"),
        (&with("id", json!(["a"])), "no `id`"),
        (&with("message", Value::Null), "no `message`; give"),
        (&with("message", json!("hi")), "`message` is not an object; give"),
        (&with("question", json!("wether")), "no question `wether` in the --tools file; add a line with that `id`"),
        (&with("question", Value::Null), "neither `tools` nor a `question`; give one of them"),
        (&with("tools", json!({})), "`tools` is not a list; give"),
        (b"\x00\n", "not valid JSON"),
    ];
    let mut input = b"\n".to_vec();
    for (bad, _) in &cases {
        input.extend_from_slice(bad);
        input.extend_from_slice(&good);
    }
    let said = scan(&input);
    assert_eq!((said.status, said.lines().len()), (Some(1), cases.len()));
    let told: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("standard input:")).collect();
    assert_eq!(told.len(), cases.len(), "{}", said.stderr);
    for (number, ((_, expected), told)) in cases.iter().zip(told).enumerate() {
        assert!(told.starts_with(&format!("standard input:{}: ", 2 * number + 2)) && told.contains(expected), "{told}");
    }
    assert!(said.stderr.contains("callwright: 12 of 24 lines could not be used"), "{}", said.stderr);
}

#[test]
fn lines_of_the_tools_that_cannot_be_used_are_named_too() {
    let tools = b"{\"id\":\"weather\"}\n{\"tools\":[]}\n{\"id\":\"weather\",\"tools\":[]}\nx\n{\"id\":\"weather\",\"tools\":[]}\n";
    let folder = Folder::with(&[("t.jsonl", tools), ("in.jsonl", &to_lines(&[answer("a", &[])]))]);
    let said = folder.run(&["scan", "--tools", "t.jsonl", "--in", "in.jsonl"], b"");
    assert_eq!((said.status, said.lines().len()), (Some(1), 1));
    for expected in [
        "t.jsonl:1: there are no `tools`; give",
        "t.jsonl:2: there is no `id`; give",
        "t.jsonl:4: the line is not valid JSON",
        "t.jsonl:5: the id `weather` is already used on line 3",
        "4 of 5 lines",
    ] {
        assert!(said.stderr.contains(expected), "{expected}: {}", said.stderr);
    }
}

#[test]
fn a_line_of_absurd_length_is_passed_over() {
    let folder = Folder::with(&[("tools.jsonl", &tools())]);
    let mut child = folder.start(&["scan", "--tools", "tools.jsonl"]);
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let piece = vec![b'x'; 1024 * 1024];
        (0..65).for_each(|_| stdin.write_all(&piece).unwrap());
        stdin.write_all(b"\n").unwrap();
        stdin.write_all(&to_lines(&[answer("behind", &[])])).unwrap();
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!((output.status.code(), json_lines(&output.stdout).len()), (Some(1), 1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("standard input:1: the line is longer than 64 MiB; write each record on its own line"),
        "{errors}"
    );
}

#[test]
fn files_that_cannot_be_used_end_the_run_with_a_way_out() {
    let lines = to_lines(&[answer("a", &[])]);
    let cut = gzip(&lines.repeat(1000));
    let folder = Folder::with(&[("tools.jsonl", &tools()), ("in.jsonl", &lines), ("cut.gz", &cut[..cut.len() / 2])]);
    std::fs::create_dir(folder.path("folder")).unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["--tools", "tools.jsonl", "--in", "absent.jsonl"], "cannot read absent.jsonl: "),
        (&["--tools", "absent.jsonl", "--in", "in.jsonl"], "cannot read absent.jsonl: "),
        (&["--tools", "tools.jsonl", "--in", "folder"], "cannot read folder: is a directory; name a file"),
        (&["--tools", "tools.jsonl", "--in", "cut.gz"], "its compression is damaged or truncated"),
        (
            &["--tools", "tools.jsonl", "--in", "in.jsonl", "--out", "in.jsonl"],
            "in.jsonl is an input and would be overwritten",
        ),
        (&["--tools", "tools.jsonl", "--in", "in.jsonl", "--out", "./tools.jsonl"], "would be overwritten; give"),
        (&["--tools", "tools.jsonl", "--in", "in.jsonl", "--out", "absent/out"], "cannot write absent/out: "),
        (
            &["--tools", "-", "--in", "-"],
            "standard input cannot be both the tools and the answers; give one of them as a file",
        ),
    ];
    for (arguments, expected) in cases {
        let said = folder.run(&[&["scan"], arguments].concat(), b"");
        assert_eq!(said.status, Some(1), "{arguments:?}");
        assert!(said.stderr.contains(expected), "{arguments:?}: {}", said.stderr);
    }
    assert_eq!((folder.read("in.jsonl"), folder.read("tools.jsonl")), (lines, tools()));
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let folder = Folder::with(&[("tools.jsonl", &tools())]);
    let mut child = folder.start(&["scan", "--tools", "tools.jsonl"]);
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let writer = std::thread::spawn(move || {
        let lines = to_lines(&[answer("a", &[])]).repeat(100);
        while stdin.write_all(&lines).is_ok() {}
    });
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    assert!(line.ends_with('\n'));
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((child.wait().unwrap().code(), errors.as_str()), (Some(0), ""));
    writer.join().unwrap();
}

#[test]
fn the_rules_are_those_of_the_policy() {
    let lines = to_lines(&[answer("a", &[call("get_weather", r#"{"city":"Oslo","days":"3"}"#)])]);
    let policy = b"mode: off\nrepair: {values: false}\n";
    let folder = Folder::with(&[
        ("tools.jsonl", &tools()),
        ("careful.yaml", policy),
        ("bad.yaml", b"repair:\n  valus: false\n"),
    ]);
    let scan = |policy: &str| folder.run(&["scan", "--tools", "tools.jsonl", "--policy", policy], &lines);
    let careful = scan("careful.yaml");
    assert_eq!(careful.lines()[0]["diagnoses"][0]["code"], "E4.1", "{}", careful.stderr);
    let bad = scan("bad.yaml");
    assert_eq!(bad.status, Some(1));
    assert!(bad.stderr.contains("bad.yaml:2:3: unknown key `valus`; did you mean `values`?"), "{}", bad.stderr);
    assert!(scan("absent.yaml").stderr.contains("cannot read absent.yaml"));
}

#[test]
fn the_conversation_and_the_request_bear_on_judgement() {
    let tool = |name: &str, text: &str| json!({"type": "function", "function": {"name": name, "description": text}});
    let tools = json!([tool("get_weather", "Weather forecast for a city"), tool("book_room", "Books a hotel room")]);
    let user = json!({"role": "user", "content": "Weather forecast for the city of Oslo"});
    let line = |id: &str, messages: Value| {
        let message = json!({"tool_calls": [call("book_room", r#"{"city":"Oslo"}"#)]});
        json!({"id": id, "tools": tools, "message": message, "messages": messages})
    };
    let earlier = json!({"role": "assistant", "tool_calls": [call("book_room", r#"{"city":"Oslo"}"#)]});
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": "booked"});
    let mut unknown = line("unknown", Value::Null);
    unknown.as_object_mut().unwrap().remove("messages");
    let lines = to_lines(&[line("new", json!([user])), line("again", json!([user, earlier, result])), unknown]);
    let codes = |rules: &[u8]| {
        let folder = Folder::with(&[("policy.yaml", rules)]);
        let said = folder.run(&["scan", "--policy", "policy.yaml"], &lines);
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        said.lines().iter().map(|line| line["diagnoses"][0]["code"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(codes(b"scan: {faults: {E5: feedback}}"), [json!(null), json!("E5"), json!(null)]);
    let relevant = codes(b"scan: {faults: {E2.1: feedback}, relevance: {share: 0.5, coverage: 0.5}}");
    assert_eq!(relevant, [json!("E2.1"), json!("E2.1"), json!(null)]);
}

#[test]
fn text_is_read_as_the_request_lets_it_be_read() {
    let said = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>"#;
    let verdict_with = |member: &str, value: Value| {
        let mut line = json!({"id": 1, "question": "weather", "message": {"content": said}});
        line[member] = value;
        verdict(&line)["verdict"].clone()
    };
    assert_eq!(verdict_with("x", Value::Null), "repaired");
    assert_eq!(verdict_with("tool_choice", json!("none")), "text");
    let other = json!({"type": "function", "function": {"name": "book_room"}});
    assert_ne!(verdict_with("tool_choice", other), "repaired", "it is not the tool that may be called");
    let bare = |member: &str, value: Value| {
        let said = r#"{"name": "get_weather", "arguments": {"city": "Oslo"}}"#;
        let mut line = json!({"id": 1, "question": "weather", "message": {"content": said}});
        line[member] = value;
        verdict(&line)["verdict"].clone()
    };
    assert_eq!(bare("x", Value::Null), "repaired");
    assert_eq!(bare("response_format", json!({"type": "json_object"})), "text");
    let cut = json!({"id": 1, "question": "weather", "finish_reason": "length",
        "message": {"content": r#"{"name": "get_weather", "arguments": {"city": "Os"#}});
    assert_ne!(verdict(&cut)["verdict"], "repaired", "what was cut off is not completed");
    let amid = to_lines(&[json!({"id": 1, "question": "weather",
        "message": {"content": format!("I look it up.\n\nget_weather(city=\"Oslo\")\n\nOne moment, please.")}})]);
    let line = |options: &[&str]| scan_with(&amid, options).lines()[0].clone();
    let (unsure, native) = (line(&[]), line(&["--native-tool-calls"]));
    assert_eq!((&unsure["verdict"], &unsure["diagnoses"][0]["reason"]), (&json!("faulty"), &json!("unsure")));
    assert_eq!(native["verdict"], "text");
}

#[test]
fn arguments_keep_their_numbers_and_non_objects_stay_text() {
    let arguments = |text: &str| verdict(&answer("a", &[call("get_weather", text)]))["calls"][0]["arguments"].clone();
    for text in ["[1]", "nonsense \u{7}", "{\"city\":", "\"{\"", "5"] {
        assert_eq!(arguments(text), text);
    }
    let said = scan(&to_lines(&[answer(
        "a",
        &[call("get_weather", "{\"city\":\"Oslo\",\r\n\"x\":123456789012345678901234567890.10}")],
    )]));
    let line = String::from_utf8(said.stdout).unwrap();
    assert!(line.contains(r#""x":123456789012345678901234567890.10}"#) && line.lines().count() == 1, "{line}");
}

#[test]
fn hostile_lines_have_a_verdict_each() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let own_tools = |tools: &str| format!(r#"{{"id":1,"tools":{tools},"message":{{"content":"{{\"name\":\"f\"}}"}}}}"#);
    let schema = |schema: &str| {
        own_tools(&format!(r#"[{{"type":"function","function":{{"name":"f","parameters":{schema}}}}}]"#))
    };
    let lines = [
        format!(r#"{{"id":1,"question":"weather","message":{{"content":{}}}}}"#, deep(100_000)),
        format!(r#"{{"id":1,"question":"weather","message":{{"tool_calls":[{}]}}}}"#, deep(100_000)),
        format!(r#"{{"id":1,"question":"weather","x":{},"message":{{"content":"hi"}}}}"#, deep(100_000)),
        answer(1, &[call("get_weather", deep(100_000))]).to_string(),
        answer(1, &[call("get_weather", format!("{{\"city\":{}}}", deep(500)))]).to_string(),
        answer(1, &vec![call("get_weather", "{}"); 4096]).to_string(),
        r#"{"id":1,"question":"weather","message":{"content":"\ud800 half","tool_calls":[{"function":{"name":"\udfff","arguments":"{\"city\":\"\\ud800\"}"}}]}}"#.to_owned(),
        r#"{"id":1,"id":2,"question":"weather","message":{"tool_calls":[{"function":{"name":"get_weather","arguments":"{\"city\":\"a\",\"city\":1}"}}]}}"#.to_owned(),
        r#"{"id":1,"question":7,"message":{"tool_calls":[null,5,{"type":"custom","custom":{"name":"x"}}]}}"#.to_owned(),
        r#"{"id":1e5,"question":"weather","message":{}}"#.to_owned(),
        own_tools("[null,5,{},[],{\"type\":\"function\"}]"),
        own_tools(&deep(100_000)),
        schema(&deep(100_000)),
        schema(r##"{"$ref":"#"}"##),
        schema(r#"{"type":"object","properties":{"a":{"pattern":"(a*)*$"}}}"#),
    ];
    let said = scan(format!("{}\n", lines.join("\n")).as_bytes());
    assert_eq!((said.status, said.lines().len()), (Some(0), lines.len()), "{}", said.stderr);
    let many = scan(format!("{}\n", answer(1, &vec![call("get_weather", "{}"); 4097])).as_bytes());
    assert!(many.status == Some(1) && many.stderr.contains("more than 4096 calls"), "{}", many.stderr);
}

/// Returns an answer in Responses with one call, with the members of its request.
fn response(request: &Value, name: &str, arguments: &str) -> Value {
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": name, "arguments": arguments});
    let mut line = json!({"id": 1, "message": {"output": [call], "status": "completed"}});
    line.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
    line
}

#[test]
fn tools_in_other_places_than_the_list_are_those_of_a_turn() {
    let schema = json!({"type": "object", "properties": {"customer_id": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["customer_id"], "additionalProperties": false});
    let orders = json!({"type": "function", "name": "list_orders", "parameters": schema});
    let spaced = json!({"type": "namespace", "name": "mcp__crm", "tools": [orders]});
    let user = json!({"role": "user", "content": "Orders?"});
    let additional = json!({"type": "additional_tools", "role": "developer", "tools": [orders]});
    let found = json!({"type": "tool_search_output", "call_id": "s", "status": "completed", "tools": [spaced]});
    let judged = |request: &Value, name: &str, arguments: &str| {
        let verdict = verdict(&response(request, name, arguments));
        (verdict["verdict"].as_str().unwrap().to_owned(), verdict["calls"][0]["arguments"].clone())
    };
    let right = json!({"customer_id": "c1", "limit": 5});
    for request in [
        json!({"tools": [], "input": [additional, user]}),
        json!({"input": [user, found]}),
        json!({"tools": [{"type": "function", "name": "ping"}], "input": [user, found]}),
        json!({"tools": [spaced], "input": [user]}),
    ] {
        let clean = (String::from("clean"), right.clone());
        assert_eq!(judged(&request, "list_orders", &right.to_string()), clean, "{request}");
        let repaired = judged(&request, "list_orders", r#"{"customerId":"c1","limit":"5"}"#);
        assert_eq!(repaired, ("repaired".to_owned(), right.clone()), "{request}");
        for (name, arguments) in [("list_orders", "{}"), ("cancel_order", "{}")] {
            assert_eq!(judged(&request, name, arguments).0, "faulty", "{name} {request}");
            let mut open = request.clone();
            open["previous_response_id"] = json!("resp_1");
            let expected = if name == "list_orders" { "faulty" } else { "clean" };
            assert_eq!(judged(&open, name, arguments).0, expected, "{name} {open}");
        }
    }
    // Members of the caller with other values open nothing.
    let own = json!({"tools": [orders], "input": [user], "prompt": "Orders?"});
    assert_eq!(judged(&own, "cancel_order", "{}").0, "faulty");
    // The cache of compiled tools distinguishes lines with the same list.
    let lines = [
        response(&json!({"tools": [], "input": [user, found]}), "list_orders", &right.to_string()),
        response(&json!({"tools": [], "input": [user]}), "list_orders", &right.to_string()),
        response(&json!({"tools": [], "input": [additional, user]}), "list_orders", &right.to_string()),
    ];
    let said = scan(&to_lines(&lines));
    let verdicts: Vec<Value> = said.lines().iter().map(|line| line["verdict"].clone()).collect();
    assert_eq!(verdicts, ["clean", "faulty", "clean"], "{}", said.stderr);
}

#[test]
fn names_that_a_conversation_announces_are_no_faults() {
    let tool = json!({"name": "ping", "input_schema": {"type": "object"}});
    let line = |name: &str, content: Value| {
        let call = json!({"type": "tool_use", "id": "a", "name": name, "input": {}});
        json!({"id": 1, "tools": [tool], "messages": [{"role": "user", "content": content}],
            "message": {"type": "message", "role": "assistant", "content": [call], "stop_reason": "tool_use"}})
    };
    let reference = json!([{"type": "tool_search_tool_result", "tool_use_id": "s", "content":
        [{"type": "tool_reference", "tool_name": "list_orders"}]}, {"type": "text", "text": "Orders?"}]);
    let reminder = json!("<system-reminder>\nDeferred:\nlist_orders\n</system-reminder>");
    for content in [reference, reminder] {
        assert_eq!(verdict(&line("list_orders", content.clone()))["verdict"], "clean", "{content}");
        assert_eq!(verdict(&line("cancel_order", content.clone()))["verdict"], "faulty", "{content}");
    }
}

#[test]
fn a_namespace_decides_between_tools_of_one_name() {
    let tool = |namespace: &str, id: &str| {
        let schema = json!({"type": "object", "properties": {id: {"type": "string"}}, "required": [id],
            "additionalProperties": false});
        json!({"type": "namespace", "name": namespace, "tools": [{"type": "function", "name": "get", "parameters": schema}]})
    };
    let request = json!({"tools": [tool("a", "customer_id"), tool("b", "customerId")], "input": "Hi"});
    let mut line = response(&request, "get", r#"{"customer_id":"c1"}"#);
    for (namespace, expected) in [("a", "clean"), ("b", "repaired")] {
        line["message"]["output"][0]["namespace"] = json!(namespace);
        assert_eq!(verdict(&line)["verdict"], expected, "{namespace}");
    }
}
