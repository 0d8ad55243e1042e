//! Rescues calls from arbitrary text in arbitrary situations, with several sets of tools: every rescued call names an
//! offered tool, its arguments are a JSON object, the spans are ordered, within the text and on character boundaries,
//! and no call is rescued that the situation forbids.
//!
//! Input: one byte of flags, one byte for the length of the text that the client has already received, then the text.
#![no_main]

use std::collections::HashSet;
use std::sync::LazyLock;

use callwright_types::rules::{Evidence, Expressions, RepairRules, ScanRules};
use callwright_judge::feedback;
use callwright_judge::repair::rescue::decision::Delivery;
use callwright_judge::repair::rescue::{Reading, Rescued, Situation, rescue};
use callwright_judge::repair::{Spoken, judge_message};
use callwright_judge::scanner::{Context, ToolSet};
use callwright_fuzz::tool_set;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

fuzz_target!(|input: &[u8]| {
    let [flags, sent, text @ ..] = input else { return };
    let text = String::from_utf8_lossy(text);
    let tool_set = match flags & 3 {
        0 => &BOOKS[0],
        1 => &BOOKS[1],
        2 => &BOOKS[2],
        _ => &BOOKS[3],
    };
    let allowed: Vec<String> = tool_set.tools().iter().take(1).map(|tool| tool.name().to_owned()).collect();
    let situation = Situation {
        evidence: match flags >> 2 & 3 {
            0 => Evidence::Amid,
            1 => Evidence::Alone,
            2 => Evidence::Marked,
            _ => Evidence::Off,
        },
        allowed: (flags & 16 != 0).then_some(&allowed),
        cut_off: flags & 32 != 0,
        json_wanted: flags & 64 != 0,
        sent: boundary(&text, usize::from(*sent)),
        delivery: if flags & 128 != 0 { Delivery::Native } else { Delivery::Text },
        expressions: if flags & 128 != 0 { Expressions::Source } else { Expressions::Refuse },
        budget: None,
    };
    match rescue(&text, tool_set, &situation) {
        Reading::Text => {}
        Reading::NoCall(diagnosis) | Reading::Unfinished(diagnosis) => {
            assert_ne!(situation.evidence, Evidence::Off);
            assert!(!feedback::no_call(&diagnosis, tool_set).is_empty());
        }
        Reading::Calls(rescued) => check(&text, tool_set, &situation, &rescued),
    }
    let spoken = Spoken { text: Some(&text), calls: &[], situation };
    let judged = judge_message(&spoken, tool_set, &ScanRules::default(), &RepairRules::default(), &Context::default());
    let _ = judged.verdict();
});

fn check(text: &str, tool_set: &ToolSet, situation: &Situation<'_>, rescued: &Rescued) {
    assert!(!rescued.calls.is_empty());
    assert!(rescued.evidence <= situation.evidence && situation.evidence != Evidence::Off);
    let mut ids = HashSet::new();
    for call in &rescued.calls {
        let meant = tool_set.get(&call.name).or_else(|| match tool_set.literal(&call.name).as_slice() {
            [only] => Some(*only),
            _ => None,
        });
        let meant = meant.unwrap_or_else(|| panic!("`{}` is not offered", call.name));
        assert!(situation.allowed.is_none_or(|allowed| allowed.iter().any(|name| name == meant.name())), "not allowed");
        assert!(
            serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok(),
            "arguments are no object: {}",
            call.arguments
        );
        assert!(ids.insert(&call.id), "two calls have one id");
    }
    let mut end = situation.sent;
    for span in &rescued.spans {
        assert!(end <= span.start && span.start < span.end && text.get(span.clone()).is_some(), "{span:?}");
        end = span.end;
    }
    assert!(!rescued.spans.is_empty());
    assert!(rescued.text.len() <= text.len());
}

/// Returns the last character boundary at or before byte `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// No tools; a few usual ones; names that are short, similar, or keywords of a language; names in many scripts and with
/// many separators.
static BOOKS: LazyLock<[ToolSet; 4]> = LazyLock::new(|| {
    let weather = json!({"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["celsius", "fahrenheit"]},
        "tags": {"type": "array", "items": {"type": "string"}}, "place": {"type": "object"}}});
    let pair = json!({"type": "object", "properties": {"a": {}, "b": {"type": "number"}}});
    [
        tool_set([]),
        tool_set([
            ("get_weather", weather.clone()),
            ("math.add", pair.clone()),
            ("ping", json!({"type": "object", "properties": {}})),
            ("search", json!({"type": "object", "additionalProperties": true})),
        ]),
        tool_set(
            ["f", "g", "F", "ff", "print", "name", "arguments", "json", "if", "a.b.c"].map(|name| (name, pair.clone())),
        ),
        tool_set(
            [
                "天气",
                "naïve-name",
                "x__y",
                "a b",
                "",
                "`",
                "{",
                "<tool_call>",
                "get-weather",
                "getWeather",
                "\u{202e}x",
            ]
            .map(|name| (name, weather.clone())),
        ),
    ]
});
