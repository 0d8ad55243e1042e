//! The stages of a turn, in processing order. A stage imports the state of a turn and, where it needs one, another
//! stage. It never imports `turn.rs`.

pub(crate) mod open;

pub(crate) mod retract;

pub(crate) mod offer;

pub(crate) mod compose;
pub(crate) mod continuation;

pub(crate) mod recall;

pub(crate) mod observe;

pub(crate) mod rejoin;

pub(crate) mod plan;

pub(crate) mod ask;

pub(crate) mod judge;
mod secrets;

pub(crate) mod feed_back;

mod approve;
pub(crate) mod run;

pub(crate) mod hand_back;

pub(crate) mod keep;

pub(crate) mod answer;

pub(crate) mod gather;
