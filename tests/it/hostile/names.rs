//! Host names that resolve to private addresses: immediately, later, or among others.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callwright_executor::Lookup;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::shop::{Setup, answered, refused, unreachable};
use crate::support::{Reply, Server};

/// A resolver that returns a sequence of address lists, and repeats the last one.
#[derive(Clone)]
struct Script {
    turns: Vec<Vec<&'static str>>,
    asked: Arc<AtomicUsize>,
}

impl Script {
    fn new(turns: &[&[&'static str]]) -> Self {
        Self { turns: turns.iter().map(|turn| turn.to_vec()).collect(), asked: Arc::default() }
    }
}

impl Lookup for Script {
    fn lookup(&self, _name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst).min(self.turns.len() - 1);
        let addresses = self.turns[turn].iter().map(|address| address.parse().unwrap()).collect();
        Box::pin(async move { Ok(addresses) })
    }
}

/// Checks that the trap's port is refused under this name with these addresses.
async fn is_refused(name: &str, addresses: &[&'static str]) {
    let trap = Server::always(Reply::json(200, &json!({"inside": true}))).await;
    let setup = Setup::at(format!("http://{name}:{}", trap.port())).resolving(Script::new(&[addresses]));
    let reason = refused(setup.call(json!({})).await);
    assert!(reason.contains("executor.allowed_addresses"), "{reason}");
    assert!(trap.received().is_empty(), "the trap was reached");
}

#[tokio::test]
async fn a_public_name_with_a_loopback_address() {
    is_refused("api.example.com", &["127.0.0.1"]).await;
}

#[tokio::test]
async fn a_name_that_spells_the_address_it_has() {
    is_refused("127.0.0.1.example.com", &["127.0.0.1"]).await;
}

#[tokio::test]
async fn a_name_below_localhost() {
    is_refused("app.localhost", &["127.0.0.1", "::1"]).await;
}

#[tokio::test]
async fn the_name_localhost_with_a_trailing_dot() {
    is_refused("localhost.", &["127.0.0.1"]).await;
}

#[tokio::test]
async fn a_name_with_only_private_addresses() {
    is_refused("api.example.com", &["10.0.0.1", "192.168.0.1", "fd00::1"]).await;
}

#[tokio::test]
async fn a_name_with_a_mapped_address() {
    is_refused("api.example.com", &["::ffff:127.0.0.1"]).await;
}

#[tokio::test]
async fn a_name_with_a_translated_address() {
    is_refused("api.example.com", &["64:ff9b::7f00:1"]).await;
}

#[tokio::test]
async fn the_name_of_google_s_metadata() {
    is_refused("metadata.google.internal", &["169.254.169.254"]).await;
}

#[tokio::test]
async fn a_name_in_other_letters_that_look_alike() {
    // The Cyrillic а makes it another name, and its address is checked.
    is_refused("аpi.example.com", &["127.0.0.1"]).await;
}

#[tokio::test]
async fn a_host_that_a_backslash_ends() {
    let trap = Server::always(Reply::json(200, &json!({"inside": true}))).await;
    // By the URL standard the host is the part before the backslash; other parsers use the part after the at sign.
    let server = format!(r"http://api.example.com\@127.0.0.1:{}", trap.port());
    let setup = Setup::local(server).resolving(Script::new(&[&["10.0.0.1"]]));
    assert!(refused(setup.call(json!({})).await).contains("api.example.com"));
    assert!(trap.received().is_empty());
}

#[tokio::test]
async fn a_host_that_a_fragment_ends() {
    let trap = Server::always(Reply::json(200, &json!({"inside": true}))).await;
    let server = format!("http://api.example.com#@127.0.0.1:{}", trap.port());
    let setup = Setup::local(server).resolving(Script::new(&[&["10.0.0.1"]]));
    assert!(refused(setup.call(json!({})).await).contains("api.example.com"));
    assert!(trap.received().is_empty());
}

#[tokio::test]
async fn a_private_address_among_permitted_ones_is_passed_over() {
    let api = Server::always(Reply::json(200, &json!({}))).await;
    let addresses: &[&[&str]] = &[&["169.254.169.254", "127.0.0.2", "127.0.0.1", "10.0.0.1"]];
    let setup = Setup::local(format!("http://mixed.example:{}", api.port())).resolving(Script::new(addresses));
    answered(setup.call(json!({})).await);
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn a_name_that_is_rebound_between_two_calls() {
    let api = Server::always(Reply::json(200, &json!({})).then_close()).await;
    let script = Script::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let shop = Setup::local(format!("http://rebound.example:{}", api.port())).resolving(script.clone()).shop();
    answered(shop.call(json!({})).await);
    assert_eq!(script.asked.load(Ordering::SeqCst), 1, "what was checked is what was connected to");
    assert!(refused(shop.call(json!({})).await).contains("127.0.0.2"));
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn a_name_that_is_rebound_between_two_redirects() {
    let api = Server::always(Reply::body(302, &[("location", "/again")], "").then_close()).await;
    let script = Script::new(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let setup = Setup::local(format!("http://rebound.example:{}", api.port())).resolving(script);
    assert!(refused(setup.call(json!({})).await).contains("169.254.169.254"));
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn a_name_that_is_rebound_between_check_and_repetition() {
    // The first connection fails; the retry resolves the name again.
    let api = Server::always(Reply::reset()).await;
    let script = Script::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let setup = Setup::local(format!("http://rebound.example:{}", api.port())).resolving(script);
    setup.call(json!({})).await;
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn a_name_below_or_around_an_allowed_one() {
    for name in ["x.rooms.internal", "evil-rooms.internal", "rooms.internal.example.com", "rooms-internal"] {
        let setup =
            Setup::at(format!("http://{name}")).allowing(&["rooms.internal"]).resolving(Script::new(&[&["10.0.0.7"]]));
        assert!(refused(setup.call(json!({})).await).contains("10.0.0.7"), "{name}");
    }
}

#[tokio::test]
async fn a_name_that_is_never_resolved() {
    struct Never;
    impl Lookup for Never {
        fn lookup(&self, _name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            Box::pin(std::future::pending())
        }
    }
    let setup = Setup::at("http://slow.example").hasty().method("post").resolving(Never);
    // Nothing was sent, so the outcome is known.
    unreachable(setup.call(json!({})).await);
}

#[tokio::test]
async fn a_name_without_any_address() {
    let setup = Setup::at("http://empty.example").resolving(Script::new(&[&[]]));
    refused(setup.call(json!({})).await);
}

#[tokio::test]
async fn a_name_with_thousands_of_addresses_that_do_not_answer() {
    // Addresses of the documentation range. None can be connected to, and the time for all attempts is bounded.
    let many: Vec<&'static str> = vec!["192.0.2.1"; 5_000];
    let setup = Setup::at("http://many.example")
        .hasty()
        .allowing(&["192.0.2.0/24"])
        .method("post")
        .resolving(Script::new(&[&many]));
    unreachable(setup.call(json!({})).await);
}
