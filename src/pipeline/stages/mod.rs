//! The stages of a turn, one file each, in processing order.

pub(crate) mod open;

pub(crate) mod offer;

pub(crate) mod compose;

pub(crate) mod recall;

pub(crate) mod observe;
mod results;

pub(crate) mod rejoin;

pub(crate) mod plan;

pub(crate) mod ask;

mod delivery;
pub(crate) mod judge;
pub(crate) mod kept_calls;
mod known;
pub(crate) mod secrets;

pub(crate) mod feed_back;

mod approve;
pub(crate) mod run;
mod setback;

pub(crate) mod hand_back;

pub(crate) mod keep;
pub(crate) mod kept_key;

pub(crate) mod answer;

pub(crate) mod gather;
