//! A text that may be a call or be about one: the model confirms it, or the client receives the original text.

use crate::support::answer::{self, call, completion, finish, one_call, role, text_chunk};
use crate::support::request::{streamed, with_tools};
use crate::support::{Proxy, Reply, Server, config, policy};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;
const BARE: &str = r#"{"name": "get_weather", "arguments": {"city": "Paris"}}"#;

fn marked() -> String {
    format!("<tool_call>\n{BARE}\n</tool_call>")
}

fn booking() -> String {
    let parameter = |name: &str, value: &str| format!("<parameter name=\"{name}\">{value}</parameter>\n");
    let parameters = parameter("hotel", "Ritz") + &parameter("nights", "2");
    format!("<invoke name=\"book_room\">\n{parameters}</invoke>")
}

async fn guarding(replies: Vec<Reply>, rules: &str) -> (Server, Proxy) {
    guarding_with(replies, rules, "").await
}

async fn guarding_with(replies: Vec<Reply>, rules: &str, keys: &str) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let config = config(&upstream.url("/v1")) + keys + &policy::table("ruled");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", rules))]).await;
    (upstream, proxy)
}

fn names(message: &Value) -> Vec<String> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls.map(|call| call["function"]["name"].as_str().unwrap().to_owned()).collect()
}

fn body_of(text: &str) -> Value {
    completion(json!({"role": "assistant", "content": text}), "stop")
}

/// Texts that explain, decline or announce a call, in several languages and notations. Their structure does not
/// distinguish them.
fn unsure_texts() -> Vec<String> {
    let fenced = format!("```json\n{BARE}\n```");
    let code = "get_weather(city=\"Paris\")";
    vec![
        format!("Das führe ich niemals aus:\n\n{}", marked()),
        format!("Ce serait :\n\n{fenced}"),
        format!("次のようになります：\n\n{code}"),
        format!("Сейчас сделаю.\n\n{BARE}"),
        format!("Soll ich das ausführen?\n\n{}", marked()),
        format!("## Beispiel\n\n{}", marked()),
        format!("İşte örnek:\n\n```python\n{code}\n```\n\nBöyle çalışır."),
    ]
}

#[tokio::test]
async fn a_text_whose_call_stays_unconfirmed_arrives_byte_by_byte() {
    for text in unsure_texts() {
        let (upstream, proxy) = guarding(vec![Reply::json(200, &body_of(&text)), answer::text("")], "").await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((answer.text(), answer.verdict()), (body_of(&text).to_string(), "text"), "{text}");
        let requests = upstream.received();
        assert_eq!(requests.len(), 2, "{text}");
        let messages = requests[1].messages();
        assert_eq!(messages[1]["content"], json!(text), "the answer goes back as it came");
        let request = messages[2]["content"].as_str().unwrap();
        assert!(messages[2]["role"] == "user" && request.contains("get_weather"), "{request}");
        let metrics = proxy.metrics().await;
        assert_eq!(metrics.sum("unsure_answers_total", &[("result", "declined")]), 1.0);
        let traces = proxy.traces_after_stop().await;
        assert_eq!(traces[0]["attempts"][0]["diagnoses"][0]["facts"]["reason"], "unsure");
        assert_eq!(
            (&traces[0]["attempts"][1]["purpose"], &traces[0]["verdict"]),
            (&json!("confirmation"), &json!("text"))
        );
    }
}

#[tokio::test]
async fn a_second_unsure_text_and_a_failing_upstream_confirm_nothing() {
    for second in [
        answer::text(&unsure_texts()[0]),
        Reply::json(500, &json!({"error": {"message": "busy"}})),
        answer::text("No."),
    ] {
        let text = &unsure_texts()[0];
        let replies = vec![Reply::json(200, &body_of(text)), second.clone(), second.clone(), second];
        let (_upstream, proxy) = guarding(replies, "").await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((answer.text(), answer.verdict()), (body_of(text).to_string(), "text"));
    }
}

#[tokio::test]
async fn a_call_that_the_model_confirms_is_made_natively_or_in_text() {
    for second in [one_call("get_weather", PARIS), answer::text(&marked()), answer::text(BARE)] {
        for text in unsure_texts() {
            let (upstream, proxy) = guarding(vec![answer::text(&text), second.clone()], "").await;
            let answer = proxy.client().chat(&with_tools("Weather?")).await;
            assert_eq!(
                (names(&answer.message()), answer.verdict()),
                (vec!["get_weather".to_owned()], "corrected"),
                "{text}"
            );
            assert_eq!(upstream.received().len(), 2);
            assert_eq!(proxy.metrics().await.sum("unsure_answers_total", &[("result", "confirmed")]), 1.0);
        }
    }
}

/// Returns the events of a text in pieces of `size` characters.
fn pieces(text: &str, size: usize) -> Reply {
    let letters: Vec<char> = text.chars().collect();
    let texts = letters.chunks(size).map(|piece| text_chunk(&piece.iter().collect::<String>()));
    Reply::events(&[role()].into_iter().chain(texts).chain([finish("stop")]).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_stream_gives_the_whole_text_or_the_call_but_never_both() {
    for text in unsure_texts() {
        for size in [1, 4, 9, 1000] {
            let request = || streamed(with_tools("Weather?"));
            let declined = || pieces("Nein, das war nur ein Beispiel.", size);
            let (_upstream, proxy) = guarding(vec![pieces(&text, size), declined()], "").await;
            let stream = proxy.client().chat_stream(&request()).await.assemble().await;
            let choice = stream.choice();
            assert_eq!((choice.content.as_str(), choice.finish_reason.as_deref()), (text.as_str(), Some("stop")));
            assert!(choice.calls.is_empty(), "{text}");

            let (_upstream, proxy) = guarding(vec![pieces(&text, size), pieces(&marked(), size)], "").await;
            let stream = proxy.client().chat_stream(&request()).await.assemble().await;
            let choice = stream.choice();
            assert_eq!((choice.calls.len(), choice.finish_reason.as_deref()), (1, Some("tool_calls")), "{text}");
            assert!(text.starts_with(&choice.content) && !choice.content.contains("city"), "{}", choice.content);
        }
    }
}

#[tokio::test]
async fn policy_and_limits_say_what_becomes_of_an_unsure_text() {
    let text = &unsure_texts()[0];
    for (rules, calls) in [
        ("repair: {rescue: {unsure: text}}", 0),
        ("repair: {rescue: {unsure: call}}", 1),
        ("limits: {static_feedback: 0}", 0),
        ("limits: {upstream_requests: 1}", 0),
    ] {
        let (upstream, proxy) = guarding(vec![answer::text(text)], rules).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((names(&answer.message()).len(), upstream.received().len()), (calls, 1), "{rules}");
        assert_eq!(answer.verdict(), if calls == 0 { "text" } else { "repaired" }, "{rules}");
    }
    let native = "tool_calls = \"native\"\n";
    let bare = &unsure_texts()[3];
    let (upstream, proxy) = guarding_with(vec![answer::text(bare)], "repair: {rescue: {native: amid}}", native).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), upstream.received().len()), ("text", 1), "auto is `text` towards a native upstream");
    assert_eq!(proxy.metrics().await.sum("unsure_answers_total", &[("result", "text")]), 1.0);
}

#[tokio::test]
async fn a_native_upstream_confirms_reserved_marks_that_end_an_answer() {
    let native = "tool_calls = \"native\"\n";
    for (text, requests) in [
        (format!("Сейчас сделаю:\n\n{}", marked()), 2),
        (format!("Now I look.\ncourt\n{}\n</function_calls>", booking()), 2),
        (format!("## Beispiel\n\n{}\n\nSo geht es.", marked()), 1),
        (format!("Example:\n\n```xml\n{}\n```", marked()), 1),
        (format!("Voici :\n\n```tool_call\n{BARE}\n```"), 1),
        (format!("It prints:\n\n> {}", marked().replace('\n', "\n> ")), 1),
    ] {
        for (second, calls) in [(answer::text(""), 0), (answer::text(&booking()), 1)] {
            let (upstream, proxy) = guarding_with(vec![Reply::json(200, &body_of(&text)), second], "", native).await;
            let answer = proxy.client().chat(&with_tools("Weather?")).await;
            assert_eq!(upstream.received().len(), requests, "{text}");
            if requests == 2 && calls == 1 {
                assert_eq!(names(&answer.message()), ["book_room"], "{text}");
            } else {
                assert_eq!((answer.text(), answer.verdict()), (body_of(&text).to_string(), "text"), "{text}");
            }
        }
        // A text that was cut off may go on after the marks.
        let cut = completion(json!({"role": "assistant", "content": text}), "length");
        let (upstream, proxy) = guarding_with(vec![Reply::json(200, &cut)], "", native).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((answer.text(), upstream.received().len()), (cut.to_string(), 1), "{text}");
    }
}

#[tokio::test]
async fn of_several_choices_none_is_confirmed() {
    let text = &unsure_texts()[0];
    let mut body = body_of(text);
    let second = json!({"index": 1, "message": {"role": "assistant", "content": "Hm."}, "finish_reason": "stop"});
    body["choices"].as_array_mut().unwrap().push(second);
    let (upstream, proxy) = guarding(vec![Reply::json(200, &body)], "").await;
    let mut request = with_tools("Weather?");
    request["n"] = json!(2);
    let answer = proxy.client().chat(&request).await;
    assert_eq!((answer.text(), answer.verdict(), upstream.received().len()), (body.to_string(), "text", 1));
}

/// Returns a conversation whose last message before the response contains `text`, in the given role.
fn containing(role: &str, text: &str) -> Value {
    let mut request = with_tools("Summarise the page.");
    let page = format!("Welcome!\n{text}\nSee you soon.");
    request["messages"] = match role {
        "tool" => json!([
            {"role": "user", "content": "Summarise the page."},
            {"role": "assistant", "content": null, "tool_calls": [call("a", "book_room", "{\"room_id\":1,\"day\":\"2026-01-01\"}")]},
            {"role": "tool", "tool_call_id": "a", "content": json!({"page": page}).to_string()},
        ]),
        "system" => json!([{"role": "system", "content": page}, {"role": "user", "content": "Summarise it."}]),
        _ => json!([{"role": "user", "content": page}]),
    };
    request
}

#[tokio::test]
async fn a_quotation_is_never_a_call_without_confirmation() {
    let code = "get_weather(city=\"Paris\")".to_owned();
    for quoted in [marked(), BARE.to_owned(), code, format!("```json\n{BARE}\n```")] {
        for role in ["system", "user", "tool"] {
            // With prose around it: it is text, and no confirmation is requested.
            let text = format!("The page says this.\n\n{quoted}");
            let (upstream, proxy) = guarding(vec![Reply::json(200, &body_of(&text))], "").await;
            let answer = proxy.client().chat(&containing(role, &quoted)).await;
            assert_eq!((answer.text(), answer.verdict()), (body_of(&text).to_string(), "text"), "{role}: {quoted}");
            assert_eq!(upstream.received().len(), 1, "{role}: {quoted}");

            // Alone, it may be a genuine call, so the model is queried.
            let replies = vec![Reply::json(200, &body_of(&quoted)), answer::text("It only quotes a call.")];
            let (upstream, proxy) = guarding(replies, "").await;
            let answer = proxy.client().chat(&containing(role, &quoted)).await;
            assert_eq!((answer.text(), answer.verdict()), (body_of(&quoted).to_string(), "text"), "{role}: {quoted}");
            assert_eq!(upstream.received().len(), 2, "{role}: {quoted}");

            // An upstream with native calls would have delivered a real call natively.
            let (upstream, proxy) = guarding_with(vec![answer::text(&quoted)], "", "tool_calls = \"native\"\n").await;
            let answer = proxy.client().chat(&containing(role, &quoted)).await;
            assert_eq!((answer.verdict(), upstream.received().len()), ("text", 1), "{role}: {quoted}");

            // The same as a stream.
            for size in [1, 9] {
                let (_upstream, proxy) = guarding(vec![pieces(&text, size)], "").await;
                let request = streamed(containing(role, &quoted));
                let stream = proxy.client().chat_stream(&request).await.assemble().await;
                assert_eq!((stream.choice().content.as_str(), stream.choice().calls.len()), (text.as_str(), 0));
            }
        }
    }
}

#[tokio::test]
async fn possible_request_content_in_another_form_is_confirmed_once() {
    let of_model = |text: &str| {
        json!([{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": text},
            {"role": "user", "content": "And once more?"}])
    };
    let of_page = |text: &str| {
        json!([{"role": "user", "content": "Summarise."},
            {"role": "assistant", "content": null, "tool_calls": [call("a", "read_page", "{}")]},
            {"role": "tool", "tool_call_id": "a", "content": text}])
    };
    let code = "get_weather(city='Paris')";
    for messages in
        [of_model(&marked()), of_page(code), of_page(&json!(BARE).to_string().replace("city", "\\u0063ity"))]
    {
        for native in ["", "tool_calls = \"native\"\n"] {
            let mut request = with_tools("");
            request["messages"] = messages.clone();
            for second in [answer::text(&marked()), one_call("get_weather", PARIS)] {
                let (upstream, proxy) = guarding_with(vec![answer::text(&invoked()), second], "", native).await;
                let answer = proxy.client().chat(&request).await;
                assert_eq!((names(&answer.message()), answer.verdict()), (vec!["get_weather".to_owned()], "corrected"));
                assert_eq!(upstream.received().len(), 2, "{messages}");
            }
            let text = body_of(&invoked());
            let (upstream, proxy) = guarding_with(vec![Reply::json(200, &text), answer::text("")], "", native).await;
            let answer = proxy.client().chat(&request).await;
            assert_eq!((answer.text(), answer.verdict()), (text.to_string(), "text"), "{messages}");
            assert_eq!(upstream.received().len(), 2, "{messages}");
        }
    }
}

/// Returns the call of the other tests in a notation that they do not use.
fn invoked() -> String {
    "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\n</function_calls>"
        .to_owned()
}

#[tokio::test]
async fn inventions_behind_a_call_are_neither_content_nor_a_call() {
    for invented in [
        "<tool_response>\nsunny\n</tool_response>\nIt is sunny.",
        "Observation: sunny\nThought: done\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>",
        "<|im_start|>user\nThanks! And Rome?",
    ] {
        let text = format!("{}\n{invented}", marked());
        let (_upstream, proxy) = guarding(vec![answer::text(&text)], "").await;
        let message = proxy.client().chat(&with_tools("Weather?")).await.message();
        assert_eq!(names(&message), ["get_weather"], "{text}");
        assert!(message["content"].as_str().unwrap_or_default().trim().is_empty(), "{message}");
    }
}

#[tokio::test]
async fn calls_of_several_notations_are_delivered_together() {
    let text = format!("{}\n\nget_weather(city=\"Rome\")\n\n{}", marked(), marked());
    let (_upstream, proxy) = guarding(vec![answer::text(&text)], "").await;
    let message = proxy.client().chat(&with_tools("Weather?")).await.message();
    let arguments: Vec<&str> = message["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["function"]["arguments"].as_str().unwrap())
        .collect();
    assert_eq!(arguments, [r#"{"city":"Paris"}"#, r#"{"city":"Rome"}"#], "the duplicate is dropped");
}

#[tokio::test]
async fn an_expression_is_no_value_unless_policy_says_so() {
    let text = "get_weather(city=user.city)";
    let (upstream, proxy) = guarding(vec![answer::text(text), one_call("get_weather", PARIS)], "").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((names(&answer.message()).len(), answer.verdict()), (1, "corrected"));
    let feedback = upstream.received()[1].messages()[2]["content"].as_str().unwrap().to_owned();
    assert!(feedback.contains("expression"), "{feedback}");
    let (_upstream, proxy) = guarding(vec![answer::text(text)], "repair: {rescue: {expressions: source}}").await;
    let message = proxy.client().chat(&with_tools("Weather?")).await.message();
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], r#"{"city":"user.city"}"#);
}

#[tokio::test]
async fn equal_native_calls_are_noted_and_both_delivered() {
    let twice = [call("a", "get_weather", PARIS), call("b", "get_weather", PARIS)];
    let (_upstream, proxy) = guarding(vec![answer::calls(&twice)], "").await;
    assert_eq!(names(&proxy.client().chat(&with_tools("Weather?")).await.message()).len(), 2);
    let traces = proxy.traces_after_stop().await;
    assert_eq!(traces[0]["attempts"][0]["advice"][0]["code"], "E5");
}
