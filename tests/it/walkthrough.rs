//! The walk-through of `docs/operations.md` as a new operator follows it: with its own texts, the real binary and a
//! scripted provider.

use std::path::Path;
use std::process::Command;

use crate::support::answer::one_call;
use crate::support::prometheus::program;
use crate::support::request::with_tools;
use crate::support::verb::{Folder, Said};
use crate::support::{Proxy, Received, Reply, Server};
use callwright_test_macros::requires;
use serde_json::json;

const KEY: &str = "sk-walk";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the first block of this language in the walk-through.
fn block(language: &str) -> String {
    let page = std::fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap_or_else(|| panic!("no block of {language}"));
    rest.split_once("```").unwrap().0.to_owned()
}

/// Returns the configuration of step 2, unchanged except for the provider and free ports.
fn configuration(provider: &Server) -> String {
    let written = block("toml");
    let address = "https://api.openai.com/v1";
    assert!(written.contains(address) && written.contains("${OPENAI_API_KEY}"), "{written}");
    let listeners = "\n[server]\nlisten = \"127.0.0.1:0\"\noperator_listen = \"127.0.0.1:0\"\n";
    written.replace(address, &provider.url("/v1")) + listeners
}

/// Returns the policies of step 2, which are copied from the repository.
fn policies() -> Vec<(String, String)> {
    let files = std::fs::read_dir(root().join("policies")).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|file| {
            let name = file.file_name().unwrap().to_str().unwrap();
            (format!("policies/{name}"), std::fs::read_to_string(&file).unwrap())
        })
        .collect()
}

fn provider(_: usize, received: &Received) -> Reply {
    match received.target.as_str() {
        "/v1/models" => Reply::json(200, &json!({"object": "list", "data": []})),
        _ => one_call("getWeather", r#"{"City":"Oslo","days":"3"}"#),
    }
}

/// Runs a verb in a folder with the configuration, while the provider responds.
async fn run(files: &[(String, String)], arguments: Vec<String>) -> Said {
    let folder = Folder::with(&[]);
    for (name, text) in files {
        let path = folder.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.replace("${OPENAI_API_KEY}", KEY)).unwrap();
    }
    let ran = move || folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), b"");
    let said = tokio::task::spawn_blocking(ran).await.unwrap();
    assert_eq!(said.status, Some(0), "{}{}", String::from_utf8_lossy(&said.stdout), said.stderr);
    said
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn from_nothing_to_a_guarded_agent() {
    let provider = Server::scripted(provider).await;
    let mut files = policies();
    files.push(("callwright.toml".to_owned(), configuration(&provider)));
    files.push(("request.json".to_owned(), with_tools("Weather?").to_string()));

    let doctor = run(&files, words("doctor --format json")).await;
    assert!(doctor.lines().iter().all(|finding| finding["status"] != "fail"));

    let borrowed: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let proxy =
        Proxy::start_with_files_and_environment(configuration(&provider), &borrowed, &[("OPENAI_API_KEY", KEY)]).await;
    let operator = proxy.operator().url("").trim_start_matches("http://").to_owned();
    run(&files, words(&format!("health --ready --operator {operator}"))).await;
    let explained = run(&files, words("policy explain --request request.json --format json")).await;
    assert_eq!(explained.lines()[0]["policy"], "default");

    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.verdict(), "repaired");
    assert_eq!(provider.last_request().header("authorization"), Some("Bearer sk-walk"));
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("turns_total", &[("mode", "guard"), ("verdict", "repaired")]), 1.0);
}

#[requires(prometheus)]
#[test]
fn the_scrape_configuration_of_the_walk_through_is_one() {
    let promtool = program("promtool");
    let written = block("yaml").replace(".../callwright", root().to_str().unwrap());
    let folder = Folder::with(&[("prometheus.yml", written.as_bytes())]);
    let told = Command::new(promtool).args(["check", "config"]).arg(folder.path("prometheus.yml")).output().unwrap();
    let text = String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{text}");
    assert!(written.contains("job_name: callwright"), "the alerts go by this name");
    assert!(text.contains("2 rule files found"), "{text}");
}
