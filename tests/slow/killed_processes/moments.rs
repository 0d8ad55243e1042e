//! Progress of a call when the process is killed, as seen in the store and the API.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Progress of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// Not started: nothing is on disk.
    BeforeIntent,
    /// The intent is on disk, and the API has not received the request.
    BeforeRequest,
    /// The API has received the request, and has not responded.
    BeforeAnswer,
    /// The API has responded, and the outcome is not on disk.
    BeforeOutcome,
    /// The outcome is on disk, and the client has no response.
    BeforeTold,
    /// An earlier kill interrupted it, and the client requested it again.
    Again,
}

impl Moment {
    pub(crate) const ALL: [Self; 6] = [
        Self::BeforeIntent,
        Self::BeforeRequest,
        Self::BeforeAnswer,
        Self::BeforeOutcome,
        Self::BeforeTold,
        Self::Again,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::BeforeIntent => "before the intent was on disk",
            Self::BeforeRequest => "before the request arrived",
            Self::BeforeAnswer => "before the API answered",
            Self::BeforeOutcome => "before the outcome was on disk",
            Self::BeforeTold => "before the client was told",
            Self::Again => "while it was asked for again",
        }
    }
}

/// State of a session's current order after the kill.
pub(crate) struct Seen<'a> {
    pub(crate) order: &'a str,
    /// Number of the session's orders with a response to the client.
    pub(crate) told: usize,
    /// Whether an earlier kill interrupted the order.
    pub(crate) interrupted: bool,
    /// Labels of the session's intents in the order of their start. Each order has one.
    pub(crate) intents: Vec<Option<String>>,
}

impl Seen<'_> {
    pub(crate) fn moment(&self, arrived: &BTreeMap<String, usize>, answered: &BTreeSet<String>) -> Moment {
        if self.interrupted {
            Moment::Again
        } else if self.intents.len() <= self.told {
            Moment::BeforeIntent
        } else if self.intents.last().is_some_and(Option::is_some) {
            Moment::BeforeTold
        } else if answered.contains(self.order) {
            Moment::BeforeOutcome
        } else if arrived.contains_key(self.order) {
            Moment::BeforeAnswer
        } else {
            Moment::BeforeRequest
        }
    }
}

/// Number of calls by progress.
#[derive(Debug, Default)]
pub(crate) struct Tally(BTreeMap<Moment, usize>);

impl Tally {
    pub(crate) fn add(&mut self, moment: Moment) {
        *self.0.entry(moment).or_default() += 1;
    }

    pub(crate) fn of(&self, moment: Moment) -> usize {
        self.0.get(&moment).copied().unwrap_or_default()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, moment) in Moment::ALL.into_iter().enumerate() {
            write!(f, "{}{} {}", if position == 0 { "" } else { ", " }, self.of(moment), moment.words())?;
        }
        Ok(())
    }
}
