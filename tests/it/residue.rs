//! Marks of chat templates and copies of calls in the text beside native calls: they do not reach the client, and other
//! text does.

use crate::support::answer::{call, call_begin, call_piece, completion, finish, role, text_chunk};
use crate::support::request::{streamed, with_tools};
use crate::support::{Proxy, Reply, Server, config, policy};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

const COPY: &str = "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Paris</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>";

/// Residue of different families.
const RESIDUE: [&str; 14] = [
    "<function",
    "<tool_call>\n<function=get_weather>",
    "</parameter>\n</function>\n</tool_call>",
    "</answer>",
    "[TOOL_CALLS]",
    "<|tool_call>",
    "<tool_call|>",
    "<｜DSML｜function_calls",
    "<|channel|>commentary",
    "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
    "<|tool_call_end|><|tool_calls_section_end|>",
    "<|im_end|>",
    "<|im_end|>\n<|im_start|>assistant",
    COPY,
];

/// Texts that only show marks, or that are no marks.
const SHOWN: [&str; 7] = [
    "The mark is `<tool_call>`",
    "Like this:\n```\n<tool_call>",
    "> <|im_end|>",
    "Use <code>x</code>",
    "It begins with <|im_end|> and then the text.",
    "See [1] and a[0]",
    "I look at <tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>",
];

fn whole(content: &str) -> Reply {
    let message =
        json!({"role": "assistant", "content": content, "tool_calls": [call("call_1", "get_weather", PARIS)]});
    Reply::json(200, &completion(message, "tool_calls"))
}

/// Returns a stream with `before` in pieces of so many characters, a call, and `after` in one piece.
fn stream(before: &str, after: &str, size: usize) -> Reply {
    let letters: Vec<char> = before.chars().collect();
    let mut chunks = vec![role()];
    chunks.extend(letters.chunks(size).map(|piece| text_chunk(&piece.iter().collect::<String>())));
    chunks.push(call_begin(0, "call_1", "get_weather"));
    chunks.push(call_piece(0, PARIS));
    chunks.extend(Some(text_chunk(after)).filter(|_| !after.is_empty()));
    chunks.push(finish("tool_calls"));
    Reply::events(&chunks)
}

/// Returns the content that the client of a stream gets, with its one call checked.
async fn content_of(proxy: &Proxy) -> String {
    let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
    let choice = assembled.choice();
    let function = &choice.calls[0]["function"];
    assert_eq!((choice.calls.len(), choice.finish_reason.as_deref()), (1, Some("tool_calls")));
    assert_eq!((&function["name"], &function["arguments"]), (&json!("get_weather"), &json!(PARIS)));
    choice.content.clone()
}

#[tokio::test]
async fn residue_of_a_whole_answer_does_not_reach_the_client() {
    for residue in RESIDUE {
        let replies = vec![whole(&format!("I look.\n\n{residue}")), whole(residue)];
        let upstream = Server::replying(replies).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for expected in [json!("I look."), Value::Null] {
            let answer = proxy.client().chat(&with_tools("Weather?")).await;
            assert_eq!((answer.verdict(), &answer.message()["content"]), ("repaired", &expected), "{residue}");
            assert_eq!(answer.message()["tool_calls"], json!([call("call_1", "get_weather", PARIS)]));
        }
        assert_eq!(upstream.received().len(), 2);
        let traces = proxy.traces_after_stop().await;
        assert_eq!(traces[0]["attempts"][0]["repairs"][0]["kind"], "residue_removed");
    }
}

#[tokio::test]
async fn residue_of_a_stream_does_not_reach_the_client() {
    for residue in RESIDUE {
        // Behind a call, marks are held, and whole calls are not: the client has no text to wait for.
        let behind = if residue == COPY { "" } else { residue };
        let mut replies = vec![stream("", behind, 1), stream("I look.", behind, 3)];
        replies.extend([1, 5, 1000].map(|size| stream(&format!("I look.\n\n{residue}"), "", size)));
        replies.extend([1, 1000].map(|size| stream(residue, "\n", size)));
        let count = replies.len();
        let upstream = Server::replying(replies).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for (case, expected) in ["", "I look.", "I look.", "I look.", "I look.", "", ""].into_iter().enumerate() {
            assert_eq!(content_of(&proxy).await.trim(), expected, "{case}: {residue}");
        }
        assert_eq!(upstream.received().len(), count);
    }
}

#[tokio::test]
async fn shown_marks_and_other_text_reach_the_client_as_they_came() {
    for text in SHOWN {
        let replies = vec![whole(text), stream(text, "", 1), stream(text, "", 1000), stream("", text, 1)];
        let upstream = Server::replying(replies).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((answer.verdict(), &answer.message()["content"]), ("clean", &json!(text)));
        for _ in 0..3 {
            assert_eq!(content_of(&proxy).await, text);
        }
    }
}

#[tokio::test]
async fn a_policy_keeps_the_residue() {
    let text = format!("I look.\n\n{COPY}<|im_end|>");
    let upstream = Server::replying(vec![whole(&text), stream(&text, "", 1)]).await;
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    let rules = policy::file("ruled", "repair:\n  residue: false");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &rules)]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), &answer.message()["content"]), ("clean", &json!(text)));
    assert_eq!(content_of(&proxy).await, text);
}

#[tokio::test]
async fn many_calls_of_a_text_are_all_made() {
    let city = |number: usize| format!("City {number}");
    let text: String =
        (0..60).map(|number| format!("<get_weather>\n<city>{}</city>\n</get_weather>\n\n", city(number))).collect();
    let upstream = Server::replying(vec![crate::support::answer::text(&text)]).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let message = proxy.client().chat(&with_tools("Weather?")).await.message();
    let calls = message["tool_calls"].as_array().unwrap();
    let cities = calls.iter().map(|call| {
        let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        arguments["city"].as_str().unwrap().to_owned()
    });
    assert_eq!(cities.collect::<Vec<_>>(), (0..60).map(city).collect::<Vec<_>>());
}
