//! Unknown names that mean an offered tool with other words: listed first by their vectors, without cost for valid calls.

use crate::support::answer::{self, one_call};
use crate::support::request::plain;
use crate::support::{Proxy, Received, Reply, Server, config, guarded};
use serde_json::{Value, json};

/// One component for each of these groups of words, and one for all others.
const GROUPS: [&[&str]; 2] = [&["delete", "remove", "erase"], &["account", "user"]];

fn vector(text: &str) -> Value {
    let mut components = vec![0.01; GROUPS.len() + 1];
    for word in text.split(' ') {
        let group = GROUPS.iter().position(|group| group.contains(&word)).unwrap_or(GROUPS.len());
        components[group] += 1.0;
    }
    json!(components)
}

/// An embeddings endpoint that treats the words of a group as synonyms.
async fn embeddings() -> Server {
    Server::scripted(|_, received| {
        let body = received.json();
        let texts = body["input"].as_array().unwrap().iter().map(|text| vector(text.as_str().unwrap()));
        let data: Vec<Value> =
            texts.enumerate().map(|(index, vector)| json!({"index": index, "embedding": vector})).collect();
        Reply::json(200, &json!({"object": "list", "data": data, "model": "synonyms"}))
    })
    .await
}

fn request() -> Value {
    let tool = |name: &str, parameter: &str| {
        let properties = json!({parameter: {"type": "string"}});
        let parameters = json!({"type": "object", "properties": properties, "required": [parameter]});
        json!({"type": "function", "function": {"name": name, "description": "", "parameters": parameters}})
    };
    let mut request = plain("Remove the account of Ada");
    request["tools"] = json!([tool("delete_user", "user"), tool("erase_invoices", "month")]);
    request
}

/// Returns the feedback that the model received about its last call.
fn feedback(received: &Received) -> String {
    received.last_message()["content"].as_str().unwrap().to_owned()
}

async fn proxy(upstream: &Server, embedding: &str) -> Proxy {
    Proxy::start(config(&upstream.url("/v1")) + embedding).await
}

#[tokio::test]
async fn a_clean_call_requests_no_vector_and_a_name_waits_for_none() {
    let right = || one_call("delete_user", r#"{"user":"Ada"}"#);
    let wrong = || one_call("erase_account", r#"{"user":"Ada"}"#);
    let misspelt = one_call("delete_usr", r#"{"user":"Ada"}"#);
    let upstream = Server::replying([right(), misspelt, right(), wrong(), right(), wrong(), right()]).await;
    let embeddings = embeddings().await;
    let settings = format!(
        "\n[embedding]\nkind = \"endpoint\"\n[embedding.endpoint]\nbase_url = \"{}\"\nmodel = \"synonyms\"\ndimensions = 3\n",
        embeddings.url("/v1")
    );
    let proxy = proxy(&upstream, &settings).await;
    let (client, request) = (proxy.client(), request());
    assert_eq!(client.chat(&request).await.verdict(), "clean");
    assert_eq!(client.chat(&request).await.verdict(), "corrected");
    assert!(feedback(&upstream.received()[2]).contains("The closest is `delete_user`"), "by its spelling");
    assert_eq!(embeddings.received().len(), 0, "neither a clean call nor a misspelt name needs a vector");

    assert_eq!(client.chat(&request).await.verdict(), "corrected");
    let before = feedback(&upstream.received()[4]);
    guarded("vectors of the names", async {
        while embeddings.received().len() < 2 {
            tokio::time::sleep(crate::support::POLL).await;
        }
    })
    .await;
    // The endpoint's response is still in transit.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let requests = embeddings.received().len();
    assert_eq!(client.chat(&request).await.verdict(), "corrected");
    let after = feedback(&upstream.received()[6]);
    assert!(before.contains("offered: `erase_invoices`, `delete_user`"), "{before}");
    assert!(
        after.contains("offered: `delete_user`, `erase_invoices`"),
        "the second time the vectors are there: {after}"
    );
    assert_eq!(embeddings.received().len(), requests, "each name was embedded once");
}

#[tokio::test]
async fn a_built_in_synonym_is_listed_first_and_never_put_in() {
    let upstream = Server::replying([one_call("delete_person", r#"{"user":"Ada"}"#), answer::text("I cannot.")]).await;
    let proxy = proxy(&upstream, "").await;
    let answer = proxy.client().chat(&request()).await;
    assert_eq!(answer.message()["content"], "I cannot.");
    let told = feedback(&upstream.received()[1]);
    assert!(told.contains("offered: `delete_user`"), "{told}");
    let trace = proxy.traces_after_stop().await.remove(0);
    assert_eq!(trace["attempts"][0]["diagnoses"][0]["code"], "E2");
    assert_eq!(trace["attempts"][0]["repairs"], json!([]));
}
