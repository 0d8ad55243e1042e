//! Tests of all spellings of an object in all notations that contain one.

use crate::repair::rescue::testing::wrong;

/// Texts before and after calls as data.
const AROUND_CALLS: &[(&str, &str)] = &[
    ("", ""),
    ("[", "]"),
    ("```json\n", "\n```"),
    ("```\n[", "]\n```"),
    ("Here is the call:\n", ""),
    ("I will look that up for you.\n\n```json\n", "\n```\n"),
    ("I will look that up for you.\n\n", ""),
    ("<tool_call>\n", "\n</tool_call>"),
    ("<tool_call>", ""),
    ("<tool_call>[", "]</tool_call>"),
    ("<tool_calls>[", "]</tool_calls>"),
    ("<TOOLCALL>[", "]</TOOLCALL>"),
    ("<function_call> ", ""),
    ("<function_calls>\n", "\n</function_calls>"),
    ("```\n<tool_call>\n", "\n</tool_call>\n```"),
    ("[TOOL_CALLS] [", "]</s>"),
    ("[TOOL_CALLS]", ""),
    ("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"),
    ("<|python_tag|>", "<|eom_id|>"),
    ("<|tool_call|>[", "]<|/tool_call|>"),
    ("<|action_start|><|plugin|>\n", "<|action_end|>"),
    ("<|START_ACTION|>[\n    ", "\n]<|END_ACTION|>"),
    ("<|function_call|>", "<|message_sep|>"),
    ("[unused11][", "][unused12]"),
    ("Action:\n```json\n[", "]\n```"),
    ("Action: ", ""),
    ("```tool_call\n", "\n```"),
    ("<tool_code>", "</tool_code>"),
    (" functools[", "]"),
    ("<|assistant|>", ""),
    ("\u{feff}", ""),
    ("The model's answer follows.\n\n<tool_call>\n", "\n</tool_call>\n\nThat is all."),
];

/// One call in many spellings.
const CALLS: &[&str] = &[
    r#"{"name": "get_weather", "arguments": {"city": "Paris", "days": 3, "hourly": true}}"#,
    r#"{"name":"get_weather","arguments":{"city":"Paris","days":3,"hourly":true}}"#,
    r#"{"name": "get_weather", "parameters": {"city": "Paris", "days": 3, "hourly": true}}"#,
    r#"{"arguments": {"city": "Paris", "days": 3, "hourly": true}, "name": "get_weather"}"#,
    r#"{'name': 'get_weather', 'arguments': {'city': 'Paris', 'days': 3, 'hourly': True}}"#,
    r#"{"name": "get_weather", "arguments": {"city": "Paris", "days": 3, "hourly": True}}"#,
    r#"{"name": "get_weather", "arguments": {"city": "Paris", "days": 3, "hourly": true,},}"#,
    r#"{"name": "get\_weather", "arguments": {"city": "Paris", "days": 3, "hourly": true}}"#,
    r#"{"name": "get_weather", "arguments": "{\"city\": \"Paris\", \"days\": 3, \"hourly\": true}"}"#,
    r#"{"name": "get_weather", "arguments": '{"city": "Paris", "days": 3, "hourly": true}'}"#,
    r#"{name: "get_weather", arguments: {city: "Paris", days: 3, hourly: true}}"#,
    r#"{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris", "days": 3, "hourly": true}}}"#,
    r#"{"type": "function", "name": "get_weather", "parameters": {"city": "Paris", "days": 3, "hourly": true}}"#,
    r#"{"name": "functions.get_weather", "arguments": {"city": "Paris", "days": 3, "hourly": true}}"#,
    r#"{"name": "getWeather", "arguments": {"city": "Paris", "days": 3, "hourly": true}}"#,
    r#"{"tool_name": "get_weather", "parameters": {"city": "Paris", "days": 3, "hourly": true}}"#,
    r#"{"id": "a1", "name": "get_weather", "arguments": {"city": "Paris", "days": 3, "hourly": true}}"#,
    r#"{"get_weather": {"city": "Paris", "days": 3, "hourly": true}}"#,
    "{\n    \"name\": \"get_weather\",\n    \"arguments\": {\n        \"city\": \"Paris\",\n        \"days\": 3,\n        \"hourly\": true\n    }\n}",
    "{\r\n  \"name\": \"get_weather\",\r\n  \"arguments\": {\"city\": \"Paris\", \"days\": 3, \"hourly\": true}\r\n}",
];

const EXPECTED: &[(&str, &str)] = &[("get_weather", r#"{"city":"Paris","days":3,"hourly":true}"#)];

/// Texts before and after the arguments of a call.
const AROUND_ARGUMENTS: &[(&str, &str)] = &[
    ("get_weather\n", ""),
    ("get_weather ", ""),
    ("get_weather: ", ""),
    ("get_weather(", ")"),
    ("get_weather(**", ")"),
    ("functions.get_weather\n", ""),
    ("<function=get_weather>", "</function>"),
    ("<function=get_weather>\n", "\n</function>\n"),
    ("<invoke name=\"get_weather\">", "</invoke>"),
    ("[TOOL_CALLS]get_weather[ARGS]", "</s>"),
    ("[TOOL_CALLS]get_weather", ""),
    ("[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]", ""),
    (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n",
        "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>", "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ("<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>", "<|tool_call_end|>"),
    ("<|recipient|>get_weather\n<|content|>", "<|stop|>"),
    (">>>get_weather\n", ""),
    ("<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>", "<|call|>"),
    ("to=functions.get_weather ", ""),
    ("Action: get_weather\nAction Input: ", ""),
    ("Thought: I must look.\nAction: get_weather\nAction Input: ", "\nObservation:"),
    ("Action: get_weather\nAction Input:\n```json\n", "\n```"),
    ("✿FUNCTION✿: get_weather\n✿ARGS✿: ", ""),
    ("<tool>get_weather</tool><tool_input>", "</tool_input>"),
    ("Tool: get_weather\nArguments: ", ""),
    ("**Function:** get_weather\n**Parameters:** ", "\n"),
    ("<tool_call>get_weather\n", "</tool_call>"),
    ("<|START_OF_FUNCTION_CALL|>get_weather:\n", "<|END_OF_FUNCTION_CALL|>"),
    ("<|reserved_special_token_249|>get_weather\n", ""),
    ("```tool_code\nget_weather(**", ")\n```"),
];

/// The arguments of one call in many spellings.
const ARGUMENTS: &[&str] = &[
    r#"{"city": "Paris", "days": 3, "hourly": true}"#,
    r#"{"city":"Paris","days":3,"hourly":true}"#,
    r#"{'city': 'Paris', 'days': 3, 'hourly': True}"#,
    r#"{"city": "Paris", "days": 3, "hourly": true,}"#,
    "{\n  \"city\": \"Paris\",\n  \"days\": 3,\n  \"hourly\": true\n}",
    "{city: \"Paris\", days: 3, hourly: true}",
    "{\"city\": \"Paris\", // where\n \"days\": 3, \"hourly\": true}",
];

fn check_all(around: &[(&str, &str)], writings: &[&str]) {
    let mut all = Vec::new();
    for (before, after) in around {
        for writing in writings {
            all.extend(wrong(&format!("{before}{writing}{after}"), EXPECTED));
        }
    }
    let count = around.len() * writings.len();
    assert!(all.is_empty(), "{} of {count}:\n{}", all.len(), all.join("\n\n"));
}

#[test]
fn every_writing_of_a_call_is_read_in_every_notation() {
    check_all(AROUND_CALLS, CALLS);
}

#[test]
fn every_writing_of_arguments_is_read_in_every_notation() {
    check_all(AROUND_ARGUMENTS, ARGUMENTS);
}

#[test]
fn two_calls_may_stand_behind_each_other_in_every_notation() {
    let mut all = Vec::new();
    let twice = [("get_weather", r#"{"city":"Paris"}"#), ("get_weather", r#"{"city":"Rome"}"#)];
    for (before, after) in AROUND_ARGUMENTS {
        let one = format!("{before}{{\"city\": \"Paris\"}}{after}");
        let other = format!("{before}{{\"city\": \"Rome\"}}{after}");
        all.extend(wrong(&format!("{one}\n{other}"), &twice));
    }
    for (before, after) in AROUND_CALLS.iter().filter(|(_, after)| !after.contains("That is all")) {
        let call = |city: &str| format!("{{\"name\": \"get_weather\", \"arguments\": {{\"city\": \"{city}\"}}}}");
        all.extend(wrong(&format!("{before}{},\n{}{after}", call("Paris"), call("Rome")), &twice));
        all.extend(wrong(&format!("{before}{}{after}\n{before}{}{after}", call("Paris"), call("Rome")), &twice));
    }
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n\n"));
}
