//! Many orders in flight at each kill, more than the proxy sends at the same time, on one process and on two replicas.

use std::collections::BTreeMap;
use std::time::Duration;

use callwright_test_macros::requires;
use fastrand::Rng;
use futures_util::future::join_all;

use super::{ALLOWED, Api, KILLS, ON_DISK, SEED, Session, UNKNOWN, document, model, proxy_on};
use crate::support::{Proxy, guarded, postgres};

/// Number of orders in flight.
const PARALLEL: usize = 200;

/// Part of the message about a call that was not sent because the store did not answer in time.
const NOT_SENT: &str = "the proxy did not send it";

/// One in this many kills does not wait for an arrival, but for a random part of [`FIRST_STEPS`].
const EARLY_ONE_OF: usize = 3;

/// Time in which the orders are read and the model is requested, in milliseconds.
const FIRST_STEPS: u64 = 400;

/// A kill may hit the calls whose intent has just been stored and whose first byte has not been sent. On average it hits
/// fewer than this number; a call that waits for its turn to be sent is never among them.
const LOST_PER_KILL: usize = 1;

/// Places orders on these replicas of one store, of which one is killed at a random moment `kills` times.
async fn place(stores: &[&str], kills: usize) {
    let (model, api) = (model().await, Api::start().await);
    let mut proxies: Vec<Proxy> = Vec::new();
    for store in stores {
        proxies.push(proxy_on(store, &model, &api.server, &document(""), ALLOWED).await);
    }
    let session = |number| Session { name: format!("s{number}"), placed: 0, told: BTreeMap::new(), interrupted: None };
    let mut sessions: Vec<Session> = (0..PARALLEL).map(session).collect();
    let mut moments = Rng::with_seed(SEED);
    for kill in 0..=kills {
        let bases: Vec<String> = proxies.iter().map(|proxy| proxy.client().url("")).collect();
        // A client that repeats an order may reach another replica.
        let going =
            |(number, session): (usize, Session)| session.go_on(bases[(number + kill) % bases.len()].clone(), 1);
        let tasks: Vec<_> = sessions.drain(..).enumerate().map(going).map(tokio::spawn).collect();
        if kill < kills {
            if moments.usize(0..EARLY_ONE_OF) == 0 {
                tokio::time::sleep(Duration::from_millis(moments.u64(0..FIRST_STEPS))).await;
            } else {
                api.server.arrival_of(api.server.received().len() + moments.usize(1..PARALLEL / 2)).await;
            }
            let mut victim = proxies.swap_remove(moments.usize(0..proxies.len()));
            victim.kill();
            proxies.push(victim.ended().await.start_again().await);
        }
        let ended = guarded("the sessions of a killed proxy", join_all(tasks)).await;
        sessions.extend(ended.into_iter().map(Result::unwrap));
    }
    let arrivals = api.arrivals();
    let twice: Vec<_> = arrivals.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "placed twice: {twice:?}");
    let (mut placed, mut unknown, mut lost, mut not_sent) = (0, 0, 0, 0);
    for (order, text) in sessions.iter().flat_map(|session| &session.told) {
        if text.contains(NOT_SENT) {
            // Of this request: an earlier one, which was interrupted, may have been sent.
            not_sent += 1;
        } else if !text.contains(UNKNOWN) {
            assert!(text.contains("receipt") && text.contains(order.as_str()), "{order}: {text}");
            placed += 1;
        } else if arrivals.contains_key(order) {
            unknown += 1;
        } else {
            lost += 1;
        }
    }
    anstream::println!(
        "{kills} kills: {placed} placed, {unknown} arrived with an unknown outcome, {not_sent} not sent, {lost} never arrived"
    );
    assert!(placed > PARALLEL && unknown > 0, "the kills prove nothing");
    assert!(lost <= kills * LOST_PER_KILL, "{lost} orders can never be placed");
}

fn kills() -> usize {
    std::env::var("CALLWRIGHT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS / 50)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_waited_for_its_turn_can_be_placed_after_a_kill() {
    place(&[ON_DISK], kills()).await;
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_order_can_be_placed_at_another_replica() {
    let url = postgres::database();
    place(&[&url, &url], kills()).await;
}
