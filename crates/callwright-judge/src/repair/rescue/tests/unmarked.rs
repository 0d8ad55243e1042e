//! Tests of calls without markers: data, code, and names before their arguments.

use crate::repair::rescue::hold::{Hold, HoldRules, Starts};
use crate::repair::rescue::testing::{read, tools, wrong};
use crate::repair::rescue::{Reading, Rescued, Situation, rescue};
use callwright_types::rules::Evidence;

type Cases = &'static [(&'static str, &'static [(&'static str, &'static str)])];

const PARIS: (&str, &str) = ("get_weather", r#"{"city":"Paris"}"#);
const OSLO: (&str, &str) = ("get_weather", r#"{"city":"Oslo","days":3}"#);
const PING: (&str, &str) = ("ping", "{}");

const DATA: Cases = &[
    (r#"{"name": "get_weather", "arguments": {"city": "Paris"}}"#, &[PARIS]),
    (r#"{"name": "get_weather", "parameters": {"city": "Paris"}}"#, &[PARIS]),
    (r#"{"name": "get_weather", "args": {"city": "Oslo", "days": 3}}"#, &[OSLO]),
    (r#"{"type": "function", "function": {"name": "get_weather", "parameters": {"city": "Paris"}}}"#, &[PARIS]),
    (r#"{"type": "function", "name": "get_weather", "parameters": {"city": "Paris"}}"#, &[PARIS]),
    (r#"{"function_call": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}}"#, &[PARIS]),
    (
        r#"{"tool_calls": [{"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}}, {"id": "b", "type": "function", "function": {"name": "ping", "arguments": "{}"}}]}"#,
        &[PARIS, PING],
    ),
    (r#"{"tool_uses": [{"recipient_name": "functions.get_weather", "parameters": {"city": "Paris"}}]}"#, &[PARIS]),
    (r#"{"thought": "I need it.", "tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}"#, &[PARIS]),
    (r#"{"tool": "get_weather", "tool_input": {"city": "Paris"}}"#, &[PARIS]),
    (r#"{"action": "get_weather", "action_input": {"city": "Paris"}}"#, &[PARIS]),
    (r#"{"thoughts": {"text": "x"}, "command": {"name": "get_weather", "args": {"city": "Paris"}}}"#, &[PARIS]),
    (r#"{"get_weather": {"city": "Paris"}}"#, &[PARIS]),
    (r#"[{"get_weather": {"city": "Oslo", "days": 3}}, {"ping": {}}]"#, &[OSLO, PING]),
    (r#"[{"get_weather": "{\"city\": \"Paris\"}"}]"#, &[PARIS]),
    (r#"[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "ping", "arguments": {}}]"#, &[PARIS, PING]),
    (
        "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n{\"name\": \"ping\", \"arguments\": {}}",
        &[PARIS, PING],
    ),
    (r#"{"name": "get_weather", "parameters": {"city": "Paris"}}; {"name": "ping", "parameters": {}}"#, &[PARIS, PING]),
    ("```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```", &[PARIS]),
    ("Here is the call:\n\n```\n[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]\n```", &[PARIS]),
    ("{\n  \"name\": \"get_weather\",\n  \"arguments\": {\n    \"city\": \"Oslo\",\n    \"days\": 3\n  }\n}", &[OSLO]),
    (r#"{"name": "get_weather", "arguments": {"city": "Paris"}} {"name": "ping", "arguments": {}}"#, &[PARIS, PING]),
    (r#"{"name": "get_weather", "arguments": {"city": "Paris"}}{"name": "ping", "arguments": {}}"#, &[PARIS, PING]),
    (r#"{"function": "get_weather(city='Paris')"}"#, &[PARIS]),
    (r#"{"calls": ["get_weather(city='Paris')", "ping()"]}"#, &[PARIS, PING]),
    (r#"{"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}}"#, &[PARIS]),
    (
        r#"[{"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Paris"}}]"#,
        &[PARIS],
    ),
    (r#"{"command": "get_weather", "args": {"city": "Paris"}}"#, &[PARIS]),
    (r#"{"get_weather": {"arguments": {"city": "Paris"}}}"#, &[PARIS]),
    (r#"{"name": "get_weather", "arguments": {"arguments": {"city": "Paris"}}}"#, &[PARIS]),
    (r#"{"name": "get_weather", "arguments": {"city": "Paris"}, "confidence": 0.9}"#, &[PARIS]),
    // Almost JSON.
    ("{'name': 'get_weather', 'arguments': {'city': 'Paris'}}", &[PARIS]),
    (r#"{"name": "get_weather", "arguments": {"city": "Paris",},}"#, &[PARIS]),
    (
        r#"{"name": "get_weather", "arguments": {"city": "Rome", "hourly": True, "spot": None}}"#,
        &[("get_weather", r#"{"city":"Rome","hourly":true,"spot":null}"#)],
    ),
    (r#"{name: "get_weather", arguments: {city: "Paris"}}"#, &[PARIS]),
    (r#"{"name": "get\_weather", "arguments": {"city": "Paris"}}"#, &[PARIS]),
    (r#"{"name": "get_weather", "arguments": {"city": "Paris"}"#, &[PARIS]),
    (r#"[{"name": "get_weather", "arguments": {"city": "Paris"}}"#, &[PARIS]),
    (r#"{"name": "get_weather", "arguments": {"city": "Paris"}]"#, &[PARIS]),
    (r#"{“name”: “get_weather”, “arguments”: {“city”: “Paris”}}"#, &[PARIS]),
    ("{\"name\": \"get_weather\", // the tool\n \"arguments\": {\"city\": \"Paris\"}}", &[PARIS]),
    (r#"{"name": "get_weather", "arguments": "\"{\\\"city\\\": \\\"Paris\\\"}\""}"#, &[PARIS]),
    (r#"{"name": "get_weather", "arguments": [{"city": "Paris"}]}"#, &[PARIS]),
    (r#"{"name": "ping"}"#, &[PING]),
    (r#"{"name": "ping", "arguments": null}"#, &[PING]),
    (r#"{"name": "ping", "arguments": ""}"#, &[PING]),
    (r#"<|assistant|>{"name": "get_weather", "arguments": {"city": "Paris"}}"#, &[PARIS]),
    (
        r#"{"name": "send-mail", "arguments": {"to": "", "body": "{\"a\": [1}"}}"#,
        &[("send-mail", r#"{"to":"","body":"{\"a\": [1}"}"#)],
    ),
    (
        r#"{"name": "get_weather", "arguments": {"city": "東京 🗼 \u00e9\ud83d\ude00"}}"#,
        &[("get_weather", r#"{"city":"東京 🗼 é😀"}"#)],
    ),
    (
        "{\"name\": \"send-mail\", \"arguments\": {\"to\": \"a\", \"body\": \"one\ntwo\"}}",
        &[("send-mail", r#"{"to":"a","body":"one\ntwo"}"#)],
    ),
    (
        r#"{"name": "orders.cancel", "arguments": {"order_id": 12345678901234567890123, "reason": "x"}}"#,
        &[("orders.cancel", r#"{"order_id":12345678901234567890123,"reason":"x"}"#)],
    ),
    (
        r#"{"name": "functions.orders.cancel", "arguments": {"order_id": -0.10e5}}"#,
        &[("orders.cancel", r#"{"order_id":-0.10e5}"#)],
    ),
    (r#"{"name": "read", "arguments": {"path": "a/{b}.txt"}}"#, &[("mcp__files__read", r#"{"path":"a/{b}.txt"}"#)]),
];

const CODE: Cases = &[
    ("get_weather(city=\"Paris\")", &[PARIS]),
    ("[get_weather(city='Paris')]", &[PARIS]),
    ("[get_weather(city=\"Oslo\", days=3), ping()]", &[OSLO, PING]),
    ("get_weather(city=\"Paris\")\nping()", &[PARIS, PING]),
    ("get_weather(city=\"Paris\"); ping()", &[PARIS, PING]),
    ("get_weather(\"Oslo\", 3)", &[OSLO]),
    ("get_weather(\"Oslo\", days=3)", &[OSLO]),
    ("get_weather({\"city\": \"Paris\"})", &[PARIS]),
    ("get_weather(**{'city': 'Paris'})", &[PARIS]),
    (
        "get_weather(city='Rome', hourly=True, spot={'lat': 1.5, 'lon': -2}, tags=('a', 'b'))",
        &[("get_weather", r#"{"city":"Rome","hourly":true,"spot":{"lat":1.5,"lon":-2},"tags":["a","b"]}"#)],
    ),
    (
        "get_weather(city='Rome', tags=['x', [1, {'y': None}], ()])",
        &[("get_weather", r#"{"city":"Rome","tags":["x",[1,{"y":null}],[]]}"#)],
    ),
    ("get_weather(city=\"Côte d'Azur\")", &[("get_weather", r#"{"city":"Côte d'Azur"}"#)]),
    ("get_weather(city='Côte d\\'Azur')", &[("get_weather", r#"{"city":"Côte d'Azur"}"#)]),
    ("get_weather(city='King's Lynn', days=3)", &[("get_weather", r#"{"city":"King's Lynn","days":3}"#)]),
    ("send-mail(to=\"a@b.c\", body=\"\")", &[("send-mail", r#"{"to":"a@b.c","body":""}"#)]),
    (
        "orders.cancel(order_id=12345678901234567890123, reason=\"f(a=1) [or] {so}\")",
        &[("orders.cancel", r#"{"order_id":12345678901234567890123,"reason":"f(a=1) [or] {so}"}"#)],
    ),
    ("functions.get_weather(city=\"Paris\")", &[PARIS]),
    ("default_api.get_weather(city=\"Paris\")", &[PARIS]),
    ("mcp__files__read(path='a/{b}.txt')", &[("mcp__files__read", r#"{"path":"a/{b}.txt"}"#)]),
    ("send-mail(to='a', body=\"\"\"one\n\"two\"\n\"\"\")", &[("send-mail", r#"{"to":"a","body":"one\n\"two\"\n"}"#)]),
    ("get\\_weather(city=\"Paris\")", &[PARIS]),
    ("print(get_weather(city=\"Paris\"))", &[PARIS]),
    ("result = get_weather(city=\"Paris\")", &[PARIS]),
    ("await get_weather(city=\"Paris\")", &[PARIS]),
    ("`get_weather(city=\"Paris\")`", &[PARIS]),
    ("```python\nget_weather(city=\"Paris\")\n```", &[PARIS]),
    ("1. get_weather(city=\"Paris\")\n2. ping()", &[PARIS, PING]),
    ("Function call: get_weather(city=\"Paris\")", &[PARIS]),
    ("Call: get_weather(city=\"Paris\")<bot_end> \nThought: The tool tells the weather of a city.", &[PARIS]),
    ("[get_weather(city=\"Paris\")] [ping()]", &[PARIS, PING]),
    ("get_weather(city=\"Oslo\" days=3)", &[OSLO]),
    ("get_weather(city => \"Oslo\", days => 3)", &[OSLO]),
    ("get_weather(city: \"Oslo\", days: 3)", &[OSLO]),
    ("<answer>[get_weather(city=\"Paris\")]</answer>", &[PARIS]),
    ("<answer>\nget_weather(city=\"Paris\")\n</answer>", &[PARIS]),
    ("<final_answer> get_weather(city=\"Paris\")", &[PARIS]),
    ("Sure, I will check.\n\nget_weather(city=\"Paris\")", &[PARIS]),
    ("get_weather(city=\"Paris\"", &[PARIS]),
    ("[get_weather(city=\"Paris\")", &[PARIS]),
    ("[get_weather(city=\"Paris\"), ping()", &[PARIS, PING]),
    ("get_weather(\n    city=\"Oslo\",\n    days=3,\n)", &[OSLO]),
    ("orders.cancel(order_id=2**10 + 1)", &[("orders.cancel", r#"{"order_id":1025}"#)]),
    ("ping()", &[PING]),
    // No language has numbers with leading zeros, so the schema determines the type.
    ("get_weather(city=\"Oslo\", days=03)", &[OSLO]),
    ("get_weather(city=007)", &[("get_weather", r#"{"city":"007"}"#)]),
];

const NAMED: Cases = &[
    ("get_weather\n{\"city\": \"Paris\"}", &[PARIS]),
    ("get_weather {\"city\": \"Paris\"}", &[PARIS]),
    ("get_weather: {\"city\": \"Oslo\", \"days\": 3}", &[OSLO]),
    ("get_weather\n```json\n{\"city\": \"Paris\"}\n```", &[PARIS]),
    ("get_weather\n```python\ntool_call(city='Paris')\n```", &[PARIS]),
    ("<|assistant|>get_weather\n{\"city\": \"Paris\"}", &[PARIS]),
    (
        "orders.cancel\n{\"order_id\": 12345678901234567890123}",
        &[("orders.cancel", r#"{"order_id":12345678901234567890123}"#)],
    ),
];

const TEXTS: &[&str] = &[
    "You can use `get_weather(city=\"Paris\")` to get the weather (if you like).",
    "You can get the weather with this call, for example:\n\nget_weather(city=\"Paris\")",
    "Here is how you would call it:\n```python\nget_weather(city=\"Paris\")\n```",
    "I tried get_weather(city=\"Paris\") and it failed.",
    "Would you like me to run get_weather(city=\"Paris\")?",
    "The function get_weather(city) returns a forecast.",
    "get_weather(city: str, days: int = 1) -> dict",
    "def get_weather(city):\n    return forecast(city)",
    // The definition of a tool.
    r#"{"name": "get_weather", "description": "Weather.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}"#,
    r#"{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}"#,
    r#"[{"type": "function", "function": {"name": "get_weather", "description": "Weather.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]"#,
    r#"{"name": "get_weather", "description": "Tells the weather."}"#,
    // Answers in JSON.
    r#"{"name": "Paris", "population": 2100000}"#,
    r#"{"name": "Paris", "arguments": {"for": ["museums"], "against": ["crowds"]}}"#,
    r#"{"name": "ping", "id": 7, "status": "ok"}"#,
    r#"{"city": "Paris", "days": 3}"#,
    r#"[{"name": "Ada", "parameters": {"height": 1.7}}]"#,
    r#"{"action": "Final Answer", "action_input": "It is sunny."}"#,
    r#"{"get_weather": "is the right tool"}"#,
    r#"{"tools": [{"name": "get_weather"}, {"name": "orders.cancel"}]}"#,
    r#"{"get_weather": {"hits": 3, "took": 12}}"#,
    // Templates of calls.
    "get_weather(city, days)",
    "get_weather(city=city, days=days)",
    "- `get_weather(city=\"...\")`",
    "The available tools are:\n\n1. get_weather(city, days)\n2. ping()\n\nWhich one would you like me to use?",
    "I can look that up. Shall I go on with this call?\n\nget_weather(city=\"Paris\")",
    "No function call is needed. For reference: {\"name\": \"ping\", \"arguments\": {}}",
    // Programs.
    "```python\nfor city in cities:\n    get_weather(city=city)\n    print(city)\n```",
    "```python\nimport tools\n\nget_weather(city=\"Paris\")\nprint(\"done\")\n```",
    "```js\nconst x = await fetch(url);\nget_weather(\"Paris\");\n```",
    // Quotations, and lists of the available tools.
    "> get_weather(city=\"Paris\")\n\nThat is what you wrote.",
    "- get_weather(city, days): the forecast\n- ping(): a sign of life",
    "| call | result |\n|---|---|\n| get_weather(city=\"Paris\") | sunny |",
    "<think>get_weather(city=\"Paris\") would do.</think>It is sunny (I think).",
    "The request was {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}} and it failed.",
    "I cannot help with that: get_weather(city=\"Paris\") is not applicable here.",
    "",
    "Just (some) text [with] {brackets}.",
];

fn check_all(cases: Cases, notations: &[&str]) {
    let mut all: Vec<String> = cases.iter().filter_map(|(text, expected)| wrong(text, expected)).collect();
    for (text, _) in cases {
        if let Reading::Calls(rescued) = read(text) {
            all.extend(
                (!notations.contains(&rescued.notation)).then(|| format!("{} is read as {}", text, rescued.notation)),
            );
        }
    }
    assert!(all.is_empty(), "{} of {}:\n{}", all.len(), cases.len(), all.join("\n\n"));
}

#[test]
fn data_spells_calls_in_many_shapes() {
    check_all(DATA, &["json"]);
}

#[test]
fn code_calls_functions() {
    check_all(CODE, &["python"]);
}

#[test]
fn names_stand_before_their_arguments() {
    check_all(NAMED, &["named_json", "python"]);
}

#[test]
fn texts_about_calls_are_texts() {
    let wrong: Vec<String> = TEXTS
        .iter()
        .map(|text| (text, read(text)))
        .filter(|(_, reading)| *reading != Reading::Text)
        .map(|(text, reading)| format!("{text}\n{reading:?}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), TEXTS.len(), wrong.join("\n\n"));
}

#[test]
fn nothing_of_a_call_without_marks_flows_before_it_is_read() {
    let starts = Starts::of(tools());
    let rules = HoldRules { evidence: Evidence::Amid, json_wanted: false, max_bytes: 1 << 16 };
    let mut all = Vec::new();
    // Keys in typographic quotes are parsed, but not held.
    for (text, _) in DATA.iter().chain(CODE).chain(NAMED).filter(|(text, _)| !text.contains('“')) {
        let Reading::Calls(whole) = read(text) else { continue };
        let mut hold = Hold::new(&starts, rules);
        let sent = text.chars().map(|letter| hold.push(&letter.to_string())).last().unwrap_or_default();
        let rest = match rescue(text, tools(), &Situation { sent, ..Situation::with(Evidence::Amid) }) {
            Reading::Calls(rest) => rest,
            other => {
                all.push(format!("{sent} bytes flowed of:\n{text}\n{other:?}"));
                continue;
            }
        };
        let names = |rescued: &Rescued| rescued.calls.iter().map(|call| call.arguments.clone()).collect::<Vec<_>>();
        let is_right = names(&whole) == names(&rest) && rest.spans.iter().all(|span| span.start >= sent);
        all.extend((!is_right).then(|| format!("{sent} bytes flowed of:\n{text}\n{rest:?}")));
    }
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n\n"));
}

#[test]
fn the_evidence_says_what_stands_around_a_call() {
    let evidence = |text: &str| match read(text) {
        Reading::Calls(rescued) => Some(rescued.evidence),
        _ => None,
    };
    assert_eq!(evidence("<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>"), Some(Evidence::Marked));
    assert_eq!(evidence("ping()"), Some(Evidence::Alone));
    assert_eq!(evidence("Here is the call:\n```\nping()\n```"), Some(Evidence::Amid));
    assert_eq!(evidence("<answer>\nping()\n</answer>"), Some(Evidence::Alone));
    assert_eq!(evidence("I will look whether it is there.\n\nping()"), Some(Evidence::Amid));
    assert_eq!(evidence("For example:\n\nping()"), None);
}

#[test]
fn weaker_evidence_than_asked_for_makes_no_call() {
    let texts = ["<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>", "ping()", "I will look.\n\nping()"];
    let levels = [Evidence::Off, Evidence::Marked, Evidence::Alone, Evidence::Amid];
    for (rank, text) in texts.iter().enumerate() {
        for (level, evidence) in levels.into_iter().enumerate() {
            let is_call = matches!(rescue(text, tools(), &Situation::with(evidence)), Reading::Calls(_));
            assert_eq!(is_call, level > rank, "{text} at {evidence:?}");
        }
    }
}

#[test]
fn json_that_was_asked_for_is_an_answer() {
    let wanted = Situation { json_wanted: true, ..Situation::with(Evidence::Amid) };
    let text = r#"{"name": "ping", "arguments": {}}"#;
    assert_eq!(rescue(text, tools(), &wanted), Reading::Text);
    let marked = format!("<tool_call>{text}</tool_call>");
    assert!(matches!(rescue(&marked, tools(), &wanted), Reading::Calls(_)));
}

#[test]
fn words_that_may_be_marks_flow_where_no_call_follows() {
    let starts = Starts::of(tools());
    let rules = HoldRules { evidence: Evidence::Amid, json_wanted: false, max_bytes: 1 << 16 };
    for text in [
        ">>> total = 1\n>>> total + 1\n2\n",
        "Action: fix the pump, and then the valve.\n",
        "A <tool> is made of steel.\n",
        "call: me on Monday, please.\n",
        "commentary to=the reader, page 3.\n",
        "<|recipient|>all\n<|content|>It is sunny.\n",
    ] {
        let mut hold = Hold::new(&starts, rules);
        let flowed = text.chars().map(|letter| hold.push(&letter.to_string())).last();
        assert_eq!(flowed, Some(text.len()), "{text}");
    }
}

/// Each quote could open a string within the previous one. Fuzzing found this input, which did not terminate.
#[test]
fn quotes_within_quotes_are_followed_to_a_bound() {
    let many = |piece: &str| piece.repeat(4000);
    for text in [
        format!("[{}\u{20}``<tool_call>````````aliases.hel.er].model = \"vendor/large\"\n", many("`")),
        format!("['{}", many("\"'")),
        format!("[`{}]", many("`'\"")),
        format!("get_weather({}", many("'[")),
        format!("{}get_weather(city='Oslo'){}", many("'\""), many("\"'")),
    ] {
        assert!(!matches!(read(&text), Reading::Calls(_)), "{}", &text[..20]);
    }
}
