//! How far a call had come when the process was killed, as the store and the API show it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How far a call had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// It was not begun: there is nothing of it on disk.
    BeforeIntent,
    /// Its intent is on disk, and the API has seen nothing.
    BeforeRequest,
    /// The API has it, and has not answered.
    BeforeAnswer,
    /// The API has answered, and the outcome is not on disk.
    BeforeOutcome,
    /// Its outcome is on disk, and the client has not been told.
    BeforeTold,
    /// It was interrupted by an earlier kill already, and was asked for again.
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

/// What is known about a session's present order when the process is dead.
pub(crate) struct Seen<'a> {
    pub(crate) order: &'a str,
    /// Orders of the session that the client had an answer to.
    pub(crate) told: usize,
    /// Was the order interrupted by an earlier kill?
    pub(crate) interrupted: bool,
    /// The labels of the session's intents in the order in which they were begun. Each order has one.
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

/// How many calls had come how far.
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
