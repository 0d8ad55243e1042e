use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::repair::rescue::{Reading, Situation, rescue};
use callwright_scanner::testing::{TOOLS, tool_set};

static STARTS: LazyLock<Starts> = LazyLock::new(|| Starts::of(&tool_set(TOOLS)));

fn rules(evidence: Evidence) -> HoldRules {
    HoldRules { evidence, json_wanted: false, max_bytes: 4096 }
}

/// Returns the part of the text that is released before its end if it arrives character by character. The same part
/// must be released if it arrives at once.
fn flows_under(text: &str, rules: HoldRules) -> &str {
    let mut hold = Hold::new(&STARTS, rules);
    let mut released = 0;
    for (at, letter) in text.char_indices() {
        let next = hold.push(letter.encode_utf8(&mut [0; 4]));
        assert!(next >= released && next <= at + letter.len_utf8());
        released = next;
    }
    assert_eq!(Hold::new(&STARTS, rules).push(text), released, "{text:?}");
    &text[..released]
}

fn flows(text: &str) -> &str {
    flows_under(text, rules(Evidence::Amid))
}

/// Returns the part of the text that is released before its end if marks are held and calls are not.
fn flows_before_marks(text: &str) -> &str {
    let begun = || Hold::new(&STARTS, rules(Evidence::Off)).with_residue(true);
    let (mut hold, mut released) = (begun(), 0);
    for (at, letter) in text.char_indices() {
        let next = hold.push(letter.encode_utf8(&mut [0; 4]));
        assert!(next >= released && next <= at + letter.len_utf8(), "{text:?}");
        released = next;
    }
    assert_eq!(begun().push(text), released, "{text:?}");
    &text[..released]
}

#[test]
fn marks_at_the_end_are_held_until_other_text_follows() {
    for (before, marks) in [
        ("I look. ", "<|im_end|>"),
        ("I look.\n\n", "</function>\n</tool_call>\n"),
        ("", "<｜DSML｜function_calls"),
        ("a ", "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"),
        ("a ", "<function=get_weather>\n</function>"),
        ("a ", "]<]minimax[>[</invoke>"),
        ("a ", "[TOOL_CALLS]"),
        ("a < b and c", "<"),
        ("Use <b>bold</b>, [x](y) and a[0", "]"),
        ("<|im_end|> x ", "</s>"),
    ] {
        let text = format!("{before}{marks}");
        assert_eq!(flows_before_marks(&text), before);
        let more = format!("{text} and so on");
        assert_eq!(flows_before_marks(&more), more);
    }
    let many = "<|im_end|>".repeat(200);
    assert!(flows_before_marks(&many).len() >= many.len() - 512, "a bounded part is held");
}

#[test]
fn only_text_that_may_be_a_copy_is_held_beside_a_native_call() {
    for (text, sent) in [("I look.\n<tool_call>{\"na", 8), ("I look.", 7), ("I look.\n</s>", 8), ("get_wea", 7)] {
        let mut hold = Hold::new(&STARTS, rules(Evidence::Amid)).with_residue(true);
        hold.push(text);
        assert_eq!((hold.switch_off(), hold.seen()), (sent, text.len()), "{text:?}");
        assert_eq!(hold.give_up(), text.len());
        let mut plain = Hold::new(&STARTS, rules(Evidence::Amid));
        plain.push(text);
        assert_eq!(plain.switch_off(), text.len());
    }
}

#[test]
fn prose_flows() {
    for text in [
        "It rains in Oslo, and get_weather said so.",
        "- one\n- two\n1. three\n2) four\n* five **bold** [link](x) [1]\n\n# Title\n> quoted {\"name\":",
        "[x] done\n[ ] open\n[Oslo](https://example.com)\n{city}\n{ \"city\": 1 }\n(an aside)\n\"a quotation\"\n'tis",
        "```json\n{\"city\": \"Oslo\", \"rain\": true}\n```\nSo it rains.",
        "```python\nimport os\nget_weather(city=\"Oslo\")\n```\n",
        "Call get_weather(city=\"Oslo\") or `<tool_call>` to know.",
        "get_weather is the tool for that.\nget_weather: it forecasts.\nget_weather(city) gives a forecast.",
        "<b>bold</b> a < b <tool <|x|> x == y: z = 1: [a]\n",
        "{\"name\": \"Bob\", \"age\": 7} is Bob.",
        "[{\"name\": \"Bob\", \"mail\": \"x\"}] is a list.",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "<think>I could say {\"name\": \"get_weather\" or <tool_call></think>It rains.",
    ] {
        assert_eq!(flows(text), text);
    }
}

#[test]
fn text_is_held_from_where_a_call_may_have_begun() {
    for (before, held) in [
        ("", "<tool_call>\n{"),
        ("I look it up. ", "<tool_call>{\"name\": \"get_weather\"}</tool_call> and more"),
        ("One moment.\n", "{\"name\": \"get_weather\", \"arguments\": {"),
        ("", "{\"arguments\": {\"name\": 1, \"x\": [2]}, \"name\": \"get"),
        ("", "[{\"type\": \"function\", \"function\": {\"name\": \"x\", \"arguments\""),
        ("Call:\n", "```json\n{\"name\": \"get_weather\""),
        ("", "```\n<tool_call>"),
        ("", "get_weather(city=\"Oslo\")"),
        ("", "[get_weather(city=\"Oslo\"), orders.cancel("),
        ("Sure!\n", "- `getWeather(city='x')`\nand then"),
        ("", "**functions.get_weather**("),
        ("", "print(get_weather(city=\"Oslo\"))\n"),
        ("", "get_weather\n{\"city\": \"Oslo\"}\n"),
        ("", "{\"get_weather\": {\"city\": \"Oslo\"}}"),
        ("", "[\"get_weather\", {\"city\""),
        ("", "[get_weather, city=\"Oslo\"]"),
        ("", "[`get_weather(city=\"Oslo\")`]"),
        ("", "\\[get_weather(city=\"Oslo\")"),
        ("", "{'name': 'get_weather', 'city': 'Oslo'"),
        ("", "[{'get_weather(city=\"Oslo\")'"),
        ("", "get_weather(city=\"Oslo\") + get_weather("),
        ("Let me see.", "get_weather\n{\"city\": \"Oslo\"}"),
        ("The call: ", "get\\_weather(city=\"Oslo\")\n"),
        ("result = ", "get_weather(city=\"Oslo\")\n"),
        ("Thought: rain\n", "Action: get_weather\nAction Input: {}"),
        ("<think>hm</think>\n", "get_weather(city=\"Oslo\")"),
        ("hm {\"name\": \"get_weather\", \"arguments\": 1}\n</think>", "get_weather("),
        ("It rains", ""),
        ("It rains ", "<too"),
        ("", "get_wea"),
        ("", "1"),
        ("", "``"),
        ("", "await"),
    ] {
        let text = format!("{before}{held}");
        assert_eq!(flows(&text), before, "{text}");
    }
}

#[test]
fn evidence_says_what_is_held() {
    let (marked, bare) = ("<tool_call>", "get_weather(city=");
    for (evidence, held) in [
        (Evidence::Off, [false, false]),
        (Evidence::Marked, [true, false]),
        (Evidence::Alone, [true, true]),
        (Evidence::Amid, [true, true]),
    ] {
        assert_eq!(
            [flows_under(marked, rules(evidence)).is_empty(), flows_under(bare, rules(evidence)).is_empty()],
            held
        );
    }
    let announced = "Here is the call:\n";
    let told = "I look it up for you.\n";
    let flows = |before: &str| flows_under(&format!("{before}{bare}"), rules(Evidence::Alone)).len() - before.len();
    assert_eq!([flows(announced), flows(told)], [0, bare.len()], "prose leaves nothing to be held but marks");
    let json = HoldRules { json_wanted: true, ..rules(Evidence::Amid) };
    let data = "{\"name\": \"get_weather\", \"arguments\"";
    assert_eq!([flows_under(data, json), flows_under(bare, json)], [data, ""]);
}

#[test]
fn a_hold_is_bounded_and_the_next_one_begins_anew() {
    let text = format!("<tool_call>{}\n\nx <tool_call>{}", "a".repeat(5000), "b".repeat(100));
    let released = flows(&text);
    assert!(released.ends_with("\n\nx "), "{released}");
    let mut hold = Hold::new(&STARTS, rules(Evidence::Amid));
    hold.push(&text);
    assert_eq!(hold.overflows(), 1);
    let endless = format!("```{}", " ".repeat(2 * MAX_TAG));
    assert_eq!(flows(&endless), endless);
}

#[test]
fn what_is_given_up_flows_and_later_calls_are_held_again() {
    let mut hold = Hold::new(&STARTS, rules(Evidence::Amid));
    assert_eq!(hold.push("ab\nget_wea"), 3);
    assert_eq!(hold.give_up(), 10);
    assert_eq!(hold.push("ther(city=1)\n<tool_call>"), 23);
    assert_eq!(hold.switch_off(), 34);
    assert_eq!(hold.push("<tool_call>"), 45);
}

/// Generates fragments of calls and of text that resembles calls.
fn fragment() -> impl Strategy<Value = String> {
    let known = [
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        "[TOOL_CALLS]",
        "```",
        "```json\n",
        "~~~",
        "\n",
        "\n\n",
        " ",
        "- ",
        "1. ",
        "> ",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "\"",
        "'",
        "`",
        "**",
        ":",
        ": ",
        "=",
        " = ",
        ",",
        "\"name\": ",
        "\"arguments\": ",
        "name",
        "get_weather",
        "getWeather",
        "orders.cancel",
        "functions.",
        "print(",
        "await ",
        "city",
        "\"Oslo\"",
        "Action:",
        "The rain.",
        "ü",
        "—",
        "✿FUNCTION✿",
        "<|python_tag|>",
        "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}",
    ];
    prop::sample::select(known.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(5), failure_persistence: None, cases: 3000, ..ProptestConfig::default() })]

    /// The released length is a function of the text so far, and never decreases.
    #[test]
    fn the_pieces_of_a_text_do_not_matter(
        fragments in prop::collection::vec(fragment(), 0..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        evidence in prop::sample::select(vec![Evidence::Off, Evidence::Marked, Evidence::Alone, Evidence::Amid]),
        json_wanted in any::<bool>(),
        max_bytes in 1_usize..80,
    ) {
        let text = fragments.concat();
        let rules = HoldRules { evidence, json_wanted, max_bytes };
        let released = flows_under(&text, rules).len();
            let mut at: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        at.sort_unstable();
        at.push(text.len());
        let mut hold = Hold::new(&STARTS, rules);
        let mut start = 0;
        for end in at {
            let flows = hold.push(&text[start..end]);
            prop_assert_eq!(flows, Hold::new(&STARTS, rules).push(&text[..end]));
            start = end;
        }
        prop_assert_eq!(hold.released(), released);
    }
}

#[test]
fn calls_that_are_read_from_a_whole_text_are_read_from_a_stream() {
    let book = tool_set(TOOLS);
    let (call, code) = (r#"{"name": "get_weather", "arguments": {"city": "Oslo"}}"#, "get_weather(city=\"Oslo\")");
    let written = [
        call.to_owned(),
        format!("[{call}, {call}]"),
        format!("```json\n{call}\n```"),
        format!("```\n{code}\n```"),
        format!("<tool_call>\n{call}\n</tool_call>"),
        format!("```xml\n<tool_call>\n{call}\n</tool_call>\n```"),
        format!("[TOOL_CALLS][{call}]"),
        format!("<|python_tag|>{call}"),
        "<function=get_weather>{\"city\": \"Oslo\"}</function>".to_owned(),
        format!("```tool_code\nprint({code})\n```"),
        code.to_owned(),
        format!("[{code}]"),
        format!("- {code}"),
        format!("1. `{code}`"),
        "get_weather\n{\"city\": \"Oslo\"}".to_owned(),
        "{\"get_weather\": {\"city\": \"Oslo\"}}".to_owned(),
        "Action: get_weather\nAction Input: {\"city\": \"Oslo\"}".to_owned(),
        "{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}".to_owned(),
        format!("{{\"tool_calls\": [{call}]}}"),
        "{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"arguments\": \"{\\\"city\\\": \\\"Oslo\\\"}\"}}".to_owned(),
    ];
    for before in ["", "Here is the call:\n", "I look it up.\n\n", "<think>hm {</think>\n\n"] {
        for text in &written {
            let text = format!("{before}{text}");
            let read = |sent| match rescue(&text, &book, &Situation { sent, ..Situation::with(Evidence::Amid) }) {
                Reading::Calls(rescued) => rescued.calls.into_iter().map(|call| (call.name, call.arguments)).collect(),
                _ => Vec::new(),
            };
            let whole = read(0);
            assert!(!whole.is_empty(), "{text}");
            assert_eq!(read(flows(&text).len()), whole, "{text}");
        }
    }
}
