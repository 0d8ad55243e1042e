//! TLS on both listeners: negotiated protocols, the certificate after a change of files, and connections that must not
//! disturb others.

use crate::support::answer::{self, finish, role, text_chunk};
use crate::support::config::config_with_server;
use crate::support::metrics::Metrics;
use crate::support::request::{plain, streamed};
use crate::support::tls::{Authority, Issued};
use crate::support::verb::{Folder, Said};
use crate::support::{Assembled, Client, Gate, POLL, Proxy, Reply, Server, guarded};
use http::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CLIENT_TLS: &str = r#"tls = { certificate = "cert.pem", key = "key.pem" }"#;
const OPERATOR_TLS: &str = r#"operator_tls = { certificate = "cert.pem", key = "key.pem" }"#;

fn config(upstream: &Server, server: &str) -> String {
    config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server)
}

fn files(issued: &Issued) -> [(&'static str, &str); 2] {
    [("cert.pem", issued.certificate.as_str()), ("key.pem", issued.key.as_str())]
}

/// Starts a proxy with this certificate on the client listener. No client trusts it yet.
async fn secured(upstream: &Server, issued: &Issued) -> Proxy {
    Proxy::start_with_files(config(upstream, CLIENT_TLS), &files(issued)).await
}

async fn failures(proxy: &Proxy, reason: &str) -> f64 {
    proxy.metrics_now().await.sum("tls_handshake_failures_total", &[("listener", "client"), ("reason", reason)])
}

async fn expiry(proxy: &Proxy) -> f64 {
    proxy.metrics_now().await.sum("tls_certificate_expiry_seconds", &[("listener", "client")])
}

/// Returns the beginning of a year as Unix time.
fn beginning(year: i16) -> f64 {
    let day = jiff::civil::date(year, 1, 1).to_zoned(jiff::tz::TimeZone::UTC).unwrap();
    day.timestamp().as_second() as f64
}

fn models(_: usize, received: &crate::support::Received) -> Reply {
    if received.method == "GET" {
        return Reply::json(200, &serde_json::json!({"object": "list", "data": []}));
    }
    if received.json()["stream"] == true {
        return Reply::events(&answer::text_chunks("in secret"));
    }
    answer::text("in secret")
}

#[tokio::test]
async fn both_versions_of_http_go_over_tls_whole_and_streamed() {
    let (upstream, authority) = (Server::scripted(models).await, Authority::new());
    let proxy = secured(&upstream, &authority.issue()).await;
    let url = proxy.client().url("");
    assert!(url.starts_with("https://"), "{url}");
    let trusted = || reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    for (version, http1) in [(Version::HTTP_2, false), (Version::HTTP_11, true)] {
        let client = Client::built(&url, |builder| {
            let builder = builder.tls_certs_only([trusted()]);
            if http1 { builder.http1_only() } else { builder }
        });
        let answer = client.try_get("/v1/models").await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, version));
        let answer = client.chat(&plain("Hello")).await;
        assert_eq!((answer.message()["content"].as_str(), answer.verdict()), (Some("in secret"), "text"));
        let mut stream = client.chat_stream(&streamed(plain("Hello"))).await;
        assert_eq!(stream.assemble().await.choice().content, "in secret");
    }
    // Old TLS versions and clients without TLS are refused.
    let old = Client::built(&url, |builder| {
        builder.tls_certs_only([trusted()]).tls_version_max(reqwest::tls::Version::TLS_1_2)
    });
    old.try_get("/v1/models").await.unwrap();
    let stranger = Client::trusting(&url, &Authority::new().pem());
    assert!(stranger.try_get("/v1/models").await.is_err());
    proxy.metric_reaches("tls_handshake_failures_total", &[("listener", "client"), ("reason", "refused")], 1.0).await;
    assert_eq!(expiry(&proxy).await, beginning(4096));
    proxy.stop().await;
}

#[tokio::test]
async fn new_connections_see_changed_files_and_old_ones_continue() {
    let gate = Gate::closed();
    let held = gate.clone();
    let upstream = Server::scripted(move |_, received| match received.json()["stream"] == true {
        true => Reply::stream()
            .event(&role())
            .event(&text_chunk("before "))
            .wait(&held)
            .event(&text_chunk("and after"))
            .event(&finish("stop"))
            .done(),
        false => answer::text("hi"),
    })
    .await;
    let (before, after) = (Authority::new(), Authority::new());
    let proxy = secured(&upstream, &before.issue_valid((1975, 2060))).await;
    let url = proxy.client().url("");
    let client = Client::trusting(&url, &before.pem());
    let mut stream = client.chat_stream(&streamed(plain("Hello"))).await;
    let mut events = vec![stream.next().await.unwrap(), stream.next().await.unwrap()];
    assert_eq!(expiry(&proxy).await, beginning(2060));

    let next = after.issue_valid((1975, 2070));
    for (file, text) in files(&next) {
        proxy.write(file, text);
    }
    proxy.metric_reaches("tls_reloads_total", &[("result", "success")], 1.0).await;
    assert_eq!(expiry(&proxy).await, beginning(2070));
    let renewed = Client::trusting(&url, &after.pem());
    assert_eq!(renewed.chat(&plain("Hello")).await.message()["content"], "hi");
    assert!(Client::trusting(&url, &before.pem()).try_get("/v1/models").await.is_err(), "the old certificate is shown");

    gate.open();
    events.extend(stream.rest().await);
    assert_eq!(Assembled::of_events(&events).choice().content, "before and after");
    assert_eq!(client.chat(&plain("Again")).await.message()["content"], "hi", "a connection that was open stays so");
    proxy.stop().await;
}

#[tokio::test]
async fn a_pair_that_does_not_fit_never_replaces_one_that_does() {
    let (upstream, authority) = (Server::scripted(models).await, Authority::new());
    let proxy = secured(&upstream, &authority.issue_valid((1975, 2060))).await;
    let url = proxy.client().url("");
    let next = authority.issue_valid((1975, 2070));
    let steps = [
        ("cert.pem", "-----BEGIN CERTIFICATE-----\nAAAA", "`server.tls.certificate`"),
        ("cert.pem", next.certificate.as_str(), "is not the key of the first certificate"),
        ("key.pem", "", "holds no PEM private key"),
    ];
    for (failed, (file, text, said)) in (1..).map(f64::from).zip(steps) {
        proxy.write(file, text);
        proxy.metric_reaches("tls_reloads_total", &[("result", "failure")], failed).await;
        let log = proxy.log();
        assert!(log.contains(said) && log.contains("not reloaded") && log.contains(file), "{log}");
        assert_eq!(expiry(&proxy).await, beginning(2060));
        let client = Client::trusting(&url, &authority.pem());
        assert_eq!(client.chat(&plain("Hello")).await.message()["content"], "in secret");
    }
    proxy.write("key.pem", &next.key);
    proxy.metric_reaches("tls_reloads_total", &[("result", "success")], 1.0).await;
    assert_eq!(expiry(&proxy).await, beginning(2070));
    assert!(!proxy.log().contains("PRIVATE KEY-----\n"), "{}", proxy.log());
    proxy.stop().await;
}

#[tokio::test]
async fn rubbish_or_silence_in_a_handshake_delays_no_other_client() {
    const EACH: usize = 40;
    let (upstream, authority) = (Server::scripted(models).await, Authority::new());
    let proxy = Proxy::start_with_files(config(&upstream, CLIENT_TLS), &files(&authority.issue())).await;
    let proxy = proxy.trusting(&authority.pem());
    let address = proxy.client().url("").trim_start_matches("https://").to_owned();
    // The beginning of a record that announces 512 bytes, without the bytes.
    let unfinished: &[u8] = &[22, 3, 1, 2, 0, 1];
    let mut open = Vec::new();
    for bytes in [&b""[..], unfinished, b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n", &[0xff; 4096]] {
        for _ in 0..EACH {
            let mut socket = TcpStream::connect(&address).await.unwrap();
            // Writing fails if the connection was refused already.
            let _ = socket.write_all(bytes).await;
            open.push(socket);
        }
    }
    drop(TcpStream::connect(&address).await.unwrap());
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "in secret");
    let count = |reason: &'static str, wanted: usize| {
        let labels = [("listener", "client"), ("reason", reason)];
        let proxy = &proxy;
        async move { proxy.metric_reaches("tls_handshake_failures_total", &labels, wanted as f64).await }
    };
    count("protocol", 2 * EACH).await;
    count("timeout", 2 * EACH).await;
    count("closed", 1).await;
    for mut socket in open {
        let mut rest = Vec::new();
        // A reset is equivalent to an orderly end.
        let _ = guarded("waiting for the connection to be closed", socket.read_to_end(&mut rest)).await;
        assert!(!rest.starts_with(b"HTTP"), "an answer without TLS");
    }
    assert_eq!(failures(&proxy, "refused").await, 0.0);
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "in secret");
    proxy.stop().await;
}

#[tokio::test]
async fn unusable_files_prevent_the_start_and_expired_ones_do_not() {
    let (upstream, authority) = (Server::scripted(models).await, Authority::new());
    let refusal = Proxy::refusal(&config(&upstream, CLIENT_TLS)).await;
    assert!(refusal.contains("`server.tls.certificate`") && refusal.contains("cannot be read"), "{refusal}");
    let refusal = Proxy::refusal(&config(&upstream, r#"operator_tls = { certificate = "cert.pem" }"#)).await;
    assert!(refusal.contains("`server.operator_tls.certificate`: a certificate needs its private key"), "{refusal}");

    let proxy = secured(&upstream, &authority.issue_expired()).await;
    let log = proxy.log();
    assert!(log.contains("WARN") && log.contains("server.tls: the certificate expired at 2002-01-01"), "{log}");
    assert_eq!(expiry(&proxy).await, beginning(2002));
    proxy.stop().await;
}

/// Runs a verb with copies of the proxy's configuration and its files.
async fn verb(proxy: &Proxy, arguments: &[&str]) -> Said {
    let folder = Folder::with(&[]);
    for file in ["callwright.toml", "cert.pem", "key.pem", "authority.pem"] {
        if let Ok(bytes) = std::fs::read(proxy.directory().join(file)) {
            std::fs::write(folder.path(file), bytes).unwrap();
        }
    }
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let run = move || folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), b"");
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn the_operator_side_may_ask_for_certificates_of_its_clients() {
    let (upstream, authority) = (Server::scripted(models).await, Authority::new());
    let server = r#"operator_tls = { certificate = "cert.pem", key = "key.pem", client_ca = "authority.pem" }"#;
    let (issued, own) = (authority.issue(), authority.pem());
    let [certificate, key] = files(&issued);
    let proxy =
        Proxy::start_with_files(config(&upstream, server), &[certificate, key, ("authority.pem", own.as_str())]).await;
    let url = proxy.operator().url("");
    let showing = |issued: &Issued| {
        let identity = reqwest::Identity::from_pem(format!("{}{}", issued.key, issued.certificate).as_bytes()).unwrap();
        let trusted = reqwest::Certificate::from_pem(own.as_bytes()).unwrap();
        Client::built(&url, |builder| builder.tls_certs_only([trusted]).identity(identity))
    };
    let known = showing(&authority.issue());
    assert_eq!(known.get("/healthz").await.status, 200);
    for stranger in
        [Client::trusting(&url, &own), showing(&Authority::new().issue()), showing(&authority.issue_expired())]
    {
        assert!(stranger.try_get("/healthz").await.is_err());
    }
    let refused = async || {
        Metrics::parse(&known.get("/metrics").await.text())
            .sum("tls_handshake_failures_total", &[("listener", "operator"), ("reason", "client_certificate")])
    };
    // A client learns of its refusal before the proxy counts it.
    guarded("three refused clients", async {
        while refused().await < 3.0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert_eq!(refused().await, 3.0);
    assert_eq!(
        proxy.client().chat(&plain("Hello")).await.message()["content"],
        "in secret",
        "the client side is plain"
    );

    let asked = ["health", "--operator", url.as_str()];
    let said = verb(&proxy, &asked).await;
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("--client-certificate"), "{}", said.stderr);
    let shown = [&asked[..], &["--client-certificate", "cert.pem", "--client-key", "key.pem"]].concat();
    let said = verb(&proxy, &shown).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    proxy.stop().await;
}

#[tokio::test]
async fn verbs_use_tls_and_report_when_certificates_expire() {
    let (upstream, authority) = (Server::scripted(models).await, Authority::new());
    // The verb must find the address in the configuration.
    let server = format!("{CLIENT_TLS}\n{OPERATOR_TLS}");
    let proxy = Proxy::start_with_files(config(&upstream, &server), &files(&authority.issue())).await;
    let operator = proxy.operator().url("").trim_start_matches("https://").to_owned();
    let listens = format!("operator_listen = {operator:?}");
    let configuration = config(&upstream, &server).replace(r#"operator_listen = "127.0.0.1:0""#, &listens);
    std::fs::write(proxy.directory().join("callwright.toml"), configuration).unwrap();
    for path in [&["health"][..], &["health", "--ready"]] {
        let said = verb(&proxy, path).await;
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        assert!(String::from_utf8_lossy(&said.stdout).starts_with("https://"));
    }
    let found = async |issued: Issued| {
        for (file, text) in files(&issued) {
            proxy.write(file, text);
        }
        let said = verb(&proxy, &["doctor", "--format", "json"]).await;
        let findings = said.lines();
        let finding = findings.iter().find(|finding| finding["check"] == "server.operator_tls").unwrap().clone();
        assert!(findings.iter().any(|finding| finding["check"] == "server.tls"), "{findings:#?}");
        finding
    };
    let finding = found(authority.issue()).await;
    assert_eq!(finding["status"], "ok", "{finding}");
    assert!(finding["message"].as_str().unwrap().contains("expires at 4096-01-01T00:00:00Z, in "), "{finding}");
    let finding = found(authority.issue_expired()).await;
    assert_eq!(finding["status"], "fail", "{finding}");
    assert!(finding["fix"].as_str().unwrap().contains("renew it"), "{finding}");
    let finding = found(Issued { key: authority.issue().key, ..authority.issue() }).await;
    assert_eq!(finding["status"], "fail", "{finding}");
    assert!(finding["message"].as_str().unwrap().contains("is not the key"), "{finding}");
    proxy.stop().await;
}
