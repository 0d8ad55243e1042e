//! Tests of distorted notations: missing, doubled or renamed tags, calls on a plain line, and invented results.

use crate::repair::rescue::hold::{Hold, HoldRules, Starts};
use crate::repair::rescue::testing::{check_text, read, tools, wrong};
use crate::repair::rescue::{Reading, Situation, rescue};
use callwright_types::rules::Evidence;

type Cases = &'static [(&'static str, &'static [(&'static str, &'static str)])];

const PARIS: (&str, &str) = ("get_weather", r#"{"city":"Paris"}"#);
const OSLO: (&str, &str) = ("get_weather", r#"{"city":"Oslo","days":"3"}"#);
const MAIL: (&str, &str) = ("send-mail", r#"{"to":"a@b.c","body":"ls -l"}"#);
const PING: (&str, &str) = ("ping", "{}");

const CALLS: Cases = &[
    // Namespaces, bars, blanks and suffixes around names.
    ("<house:tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</house:tool_call>", &[PARIS]),
    ("<my_function_calls><invoke name=\"ping\"></invoke></my_function_calls>", &[PING]),
    (
        "<||ABCD||tool_calls>\n<||ABCD||invoke name=\"get_weather\">\n<||ABCD||parameter name=\"city\" string=\"true\">Paris</||ABCD||parameter>\n</||ABCD||invoke>\n</||ABCD||tool_calls>",
        &[PARIS],
    ),
    (
        "< | ABCD | invoke name=\"get_weather\">\n< | ABCD | parameter name=\"city\">Paris</ | ABCD | parameter>\n</ | ABCD | invoke>",
        &[PARIS],
    ),
    (
        "<tool_calls:q7>\n<tool_call:q7>get_weather<tool_sep:q7>\n<arg_key:q7>city</arg_key:q7>\n<arg_value:q7>Paris</arg_value:q7>\n</tool_call:q7>\n</tool_calls:q7>",
        &[PARIS],
    ),
    // Blanks, quotes and brackets of tags.
    ("<functionname=\"get_weather\"><paramname=\"city\">Paris</param></function>", &[PARIS]),
    ("<function=\"get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>", &[PARIS]),
    ("<function=get_weather\n<parameter=city>\nParis\n</parameter>\n</function>", &[PARIS]),
    ("{\"function=\"get_weather\">\n<parameter=city>\nParis\n</parameter>\n</function>", &[PARIS]),
    // End tags that are missing or different.
    ("<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n3\n</function>", &[OSLO]),
    ("<function name=\"get_weather\"><param name=\"city\">Paris</param>", &[PARIS]),
    ("<function=get_weather>\n<parameter=city>Paris</city>\n</function>", &[PARIS]),
    ("<tool_call>get_weather city=\"Paris\" /></invoke>", &[PARIS]),
    ("<tool_call>ping</arg_value>\n", &[PING]),
    ("<tool_call>get_weather\n<arg_key>city</arg_value>\n<arg_value>Paris</arg_value>\n</tool_call>", &[PARIS]),
    ("<tool_call>get_weather\ncity</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>", &[PARIS]),
    (
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
        &[OSLO],
    ),
    // The name in an unexpected position.
    ("<function=name>\nget_weather\n<parameter=city>\nParis\n</parameter>\n</function>", &[PARIS]),
    ("<function=name>\nget_weather\n</parameter>\n<parameter=city>\nParis\n</parameter>\n</function>", &[PARIS]),
    ("<invoke name=\"name\">get_weather</name><parameter name=\"city\">Paris</parameter></invoke>", &[PARIS]),
    ("<tool_call>\n<tool_name>get_weather</tool_name>\n<city>Paris</city>\n</tool_call>", &[PARIS]),
    ("<tool_call>\n<get_weather>\n<city>Paris</city>\n</get_weather>\n</tool_call>", &[PARIS]),
    ("<invoke>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</invoke>", &[PARIS]),
    (
        "<tool_name>send-mail</tool_name>\n<parameter=to>a@b.c</parameter>\n<parameter=body>ls -l</parameter>\n<tool_name>get_weather</tool_name>\n<parameter=arguments>\n{\"city\": \"Paris\"}}",
        &[MAIL, PARIS],
    ),
    ("<function=get_weather>\n<parameter=properties>\n{\"city\": \"Paris\"}\n</parameter>\n</function>", &[PARIS]),
    // Prose within the pair of tags.
    (
        "<tool_call>I look it up now.\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>",
        &[PARIS],
    ),
    // Values in the syntax of a program.
    (
        "<function=get_weather><parameter=city>Rome</parameter><parameter=spot>{'lat': 1.5, 'lon': None}</parameter><parameter=tags>['a', 'b']</parameter></function>",
        &[("get_weather", r#"{"city":"Rome","spot":{"lat":1.5,"lon":null},"tags":["a","b"]}"#)],
    ),
    // Parentheses, and a quote of another kind.
    ("<|tool_call>call:get_weather(city:<|\"|>Paris<|\"|>)<tool_call|>", &[PARIS]),
    ("<|tool_call>call:get_weather{city:'Paris'<|\"|>}<tool_call|>", &[PARIS]),
    ("<|tool_call>call:get_weather(city=<|\"|>Paris<|\"|>)<tool_call|>", &[PARIS]),
    // One of the two quotes, or the word before the name.
    ("<|tool_call>call:get_weather{city:Paris<|\"|>}<tool_call|>", &[PARIS]),
    ("<|tool_call>call:get_weather{city:<|\"|>Paris}<tool_call|>", &[PARIS]),
    ("<start_function_call>call:get_weather{city:Paris<escape>}<end_function_call>", &[PARIS]),
    (
        "<|tool_call>call:send-mail{body:at 10: Paris, in place: x<|\"|>,to:a<|\"|>}<tool_call|>",
        &[("send-mail", r#"{"body":"at 10: Paris, in place: x","to":"a"}"#)],
    ),
    (
        "<|tool_call>call:get_weather{city:Oslo, Norway<|\"|>,tags:[a<|\"|>,<|\"|>b<|\"|>],days:3}<tool_call|>",
        &[("get_weather", r#"{"city":"Oslo, Norway","tags":["a","b"],"days":3}"#)],
    ),
    ("<|tool_call>get_weather(city=\"Paris\")<tool_call|>", &[PARIS]),
    ("<|tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}<tool_call|>", &[PARIS]),
    // The number of the call and the type of its arguments, joined to its name.
    ("<|tool_call_begin|>get_weather_1<|tool_call_argument_begin|>{\"city\": \"Paris\"}<|tool_call_end|>", &[PARIS]),
    (
        "<|tool_call_begin|>functions.get_weather_12<|tool_call_argument_begin|>{\"city\": \"Paris\"}<|tool_call_end|>",
        &[PARIS],
    ),
    (
        "<|tool_call_begin|>functions-get_weather-1<|tool_call_argument_begin|>{\"city\": \"Paris\"}<|tool_call_end|>",
        &[PARIS],
    ),
    ("<|channel|>commentary to=functions.get_weatherjson<|message|>{\"city\": \"Paris\"}<|call|>", &[PARIS]),
    ("<|channel|>commentary to=functions.get_weather:0 json<|message|>{\"city\": \"Paris\"}<|call|>", &[PARIS]),
    ("<|channel|>functions.get_weather<|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>", &[PARIS]),
    (
        "<|start|>assistant<|channel|>commentary <|constrain|>json to=functions.get_weather<|message|>{\"city\": \"Paris\"}<|call|>",
        &[PARIS],
    ),
    // A pair of tags in a value.
    (
        "<invoke name=\"send-mail\"><parameter name=\"body\"><parameter>x</parameter></parameter><parameter name=\"to\">a</parameter></invoke>",
        &[("send-mail", r#"{"body":"<parameter>x</parameter>","to":"a"}"#)],
    ),
    (
        "<tool_call>\n<function=send-mail>\n<parameter=to>\na\n</parameter>\n<parameter=body>\nsay <parameter=p>x</parameter></parameter>\n</function>\n</tool_call>",
        &[("send-mail", r#"{"to":"a","body":"say <parameter=p>x</parameter>"}"#)],
    ),
    // Strings that Python joins.
    ("<|tool_call_start|>[get_weather(city='Pa' 'ris')]<|tool_call_end|>", &[PARIS]),
    ("[get_weather(city=(\"Pa\"\n  'ris'))]", &[PARIS]),
    // Objects in a row, and a wrapper with one call.
    ("{\"tool_calls\": {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}}", &[PARIS]),
    (
        "{\"name\": \"ping\", \"arguments\": {}}{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}",
        &[PING, PARIS, ("get_weather", r#"{"city":"Rome"}"#)],
    ),
    (
        "[TOOL_CALLS]get_weather{\"city\": \"Paris\"}{\"city\": \"Rome\"}",
        &[PARIS, ("get_weather", r#"{"city":"Rome"}"#)],
    ),
    // Calls without brackets.
    ("get_weather city=\"Paris\"", &[PARIS]),
    ("get_weather --city=\"Oslo\" --days=3", &[OSLO]),
    ("get_weather/city>Paris", &[PARIS]),
    ("get_weather/city>Paris\nmcp__files__read/path>a.txt", &[PARIS, ("mcp__files__read", r#"{"path":"a.txt"}"#)]),
    // A code fence named after the tool.
    ("```get_weather\n{\"city\": \"Paris\"}\n```", &[PARIS]),
    ("```ping {}\n```", &[PING]),
];

/// Calls that are ambiguous, or contain a part that cannot be parsed.
const FAULTS: &[&str] = &[
    "<function name=\"get_weather\"><param name=\"city\">Oslo</param><param name=\"city\">Rome</param></function>",
    "<tool_call>send-mail\n<arg_key>to</arg_key>\n<arg_value>a</arg_value></arg_value>\n</tool_call>",
    "<function=send-mail>\n<parameter=to>\na\n</parameter>\n</function>\nb\n</parameter>\n</function>",
    "<invoke name=\"send-mail\"><parameter name=\"body\">a<parameter name=\"to\">b</parameter></parameter></invoke>",
    "<|tool_call>call:send-mail{to:a,body:<|\"|>b}<|\"|>c<tool_call|>",
    "<|tool_call>call:send-mail{body:<|\"|>b,to:c}<tool_call|>",
    "<|tool_call>call:get_weather{city:Oslo,tags:[a,b<|\"|>]}<tool_call|>",
    "<|tool_call_begin|>functions.no_such_tool_1<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "[get_weather(city='Pa' 'ris' x)]",
    "[get_weather(city='King''s Lynn')]",
    "<invoke name=\"send-mail\"><parameter name=\"body\">a<parameter name=\"to\">b</parameter></invoke>",
];

const TEXTS: &[&str] = &[
    "<tool_response>\n<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>\n</tool_response>\nThat is what it says.",
    "<result>\n<function>\n{\"name\": \"ping\", \"arguments\": {}}",
    "<get_weather>Paris</get_weather> is the element.",
    "get_weather is good (really), as city = \"Paris\" shows.",
    "```python\nping {}\nx = 1\n```",
    "send-mail/body>\n",
];

#[test]
fn distorted_calls_are_read() {
    let all: Vec<String> = CALLS.iter().filter_map(|(text, expected)| wrong(text, expected)).collect();
    assert!(all.is_empty(), "{} of {}:\n{}", all.len(), CALLS.len(), all.join("\n\n"));
}

#[test]
fn nothing_of_them_flows_before_they_are_read() {
    let starts = Starts::of(tools());
    let rules = HoldRules { evidence: Evidence::Amid, json_wanted: false, max_bytes: 1 << 16 };
    let mut all = Vec::new();
    for (text, _) in CALLS {
        let Reading::Calls(whole) = read(text) else { continue };
        let mut hold = Hold::new(&starts, rules);
        let sent = text.chars().map(|letter| hold.push(&letter.to_string())).last().unwrap_or_default();
        let rest = rescue(text, tools(), &Situation { sent, ..Situation::with(Evidence::Amid) });
        let calls = |reading: &Reading| match reading {
            Reading::Calls(rescued) => rescued.calls.iter().map(|call| call.arguments.clone()).collect(),
            _ => Vec::new(),
        };
        let is_same = calls(&Reading::Calls(whole)) == calls(&rest);
        all.extend((!is_same).then(|| format!("{sent} bytes flowed of:\n{text}\n{rest:?}")));
    }
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n\n"));
}

#[test]
fn two_readings_are_a_fault() {
    for text in FAULTS {
        assert!(!matches!(read(text), Reading::Calls(_)), "{:?} in:\n{text}", read(text));
    }
}

#[test]
fn what_only_looks_like_a_call_stays_text() {
    for text in TEXTS {
        check_text(text);
    }
}
