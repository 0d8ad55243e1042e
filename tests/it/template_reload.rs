//! Templates of the operator take effect while the proxy runs: a valid one immediately, an invalid one never.

use crate::support::answer::{one_call, text};
use crate::support::request::with_tools;
use crate::support::{POLL, Proxy, Server, config, guarded};

/// Returns the feedback to the model about a call without its required parameter.
async fn feedback(proxy: &Proxy, upstream: &Server) -> String {
    proxy.client().chat(&with_tools("Weather in Paris?")).await;
    let last = upstream.received().pop().unwrap().last_message();
    last["content"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_changed_template_is_told_and_a_bad_one_is_not() {
    let upstream = Server::scripted(|_, received| match received.last_message()["role"].as_str() {
        Some("tool") => text("I do not know."),
        _ => one_call("get_weather", r#"{"days":3}"#),
    })
    .await;
    let configuration =
        config(&upstream.url("/v1")) + "\n[feedback]\ntemplates = \"words\"\nreload_quiet_milliseconds = 20\n";
    let file = "words/parameter_missing.jinja";
    let proxy = Proxy::start_with_files(configuration, &[(file, "Manque: {{ facts.name }}.")]).await;
    let told = feedback(&proxy, &upstream).await;
    assert!(told.contains("- Manque: city.") && told.contains("Call again"), "{told}");
    proxy.write(file, "{{ facts.nonsense }}");
    proxy.write("words/constraint.jinja", "Never mind.");
    guarded("the mistake in the log", async {
        while !proxy.log().contains("parameter_missing.jinja, line 1") {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert!(feedback(&proxy, &upstream).await.contains("- Manque: city."));
    proxy.write(file, "Fehlt: {{ facts.name }}.");
    guarded("the new template", async {
        while !feedback(&proxy, &upstream).await.contains("- Fehlt: city.") {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}
