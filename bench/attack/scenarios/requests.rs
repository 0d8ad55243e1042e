//! Whole requests, one after the other on several connections.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;

/// Sends the requests that `body` generates from their numbers, over `connections` connections, until `length` has
/// passed or `most` requests are sent. Returns the number of responses and the number of successful ones.
pub(super) async fn send(
    target: SocketAddr,
    (length, most, connections): (Duration, usize, usize),
    body: impl Fn(usize) -> String,
) -> Result<(usize, usize), String> {
    let client = reqwest::Client::builder().no_proxy().build().map_err(|error| error.to_string())?;
    let url = format!("http://{target}/v1/chat/completions");
    let (next, answered, succeeded) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let started = Instant::now();
    let connection = async || {
        while started.elapsed() < length {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= most {
                return;
            }
            let request = client.post(&url).header("content-type", "application/json").body(body(number));
            let Ok(answer) = request.send().await else { continue };
            let is_success = answer.status().is_success();
            if answer.bytes().await.is_ok() {
                answered.fetch_add(1, Ordering::Relaxed);
                succeeded.fetch_add(usize::from(is_success), Ordering::Relaxed);
            }
        }
    };
    join_all((0..connections).map(|_| connection())).await;
    Ok((answered.into_inner(), succeeded.into_inner()))
}
