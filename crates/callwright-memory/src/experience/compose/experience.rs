//! Experience that a lesson is composed from.

use serde_json::Value;

use callwright_types::{Diagnosis, EvidenceKind, Explanation, Tool};

/// An experience, built at the end of a turn while its texts are available.
#[derive(Clone, Copy)]
pub struct Experience<'a> {
    /// Event before the call that worked.
    pub event: Event<'a>,
    /// Tool whose call finally worked.
    pub tool: &'a Tool,
    /// Arguments of that call.
    pub arguments: &'a Value,
    /// Looks up an offered tool by name. Names that it does not find are invented.
    pub offered: &'a dyn Fn(&str) -> Option<&'a Tool>,
}

/// Event before a call worked.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The scan found a fault in an earlier call, and the model repaired it.
    Fault {
        /// Fault that the scan found.
        diagnosis: &'a Diagnosis,
        /// Tool that the faulty call named, if it is offered.
        called: Option<&'a Tool>,
    },
    /// An earlier call failed.
    Failure {
        /// Tool of the failed call.
        called: &'a Tool,
        /// Arguments of the failed call.
        arguments: &'a Value,
        /// HTTP status of the API's response; `None` if the client made the call. Calls without a response teach
        /// nothing.
        status: Option<u16>,
        /// Explanation from the documentation.
        explanation: Option<&'a Explanation>,
    },
    /// The first call worked.
    Success {
        /// Evidence that the call was right: a verdict, or the success of the whole turn.
        kind: EvidenceKind,
    },
}

impl<'a> Experience<'a> {
    /// Returns the tool that the lesson is about: the wrongly called tool if it is offered, otherwise the tool that
    /// worked.
    pub(super) fn subject(&self) -> &'a Tool {
        match self.event {
            Event::Fault { called: Some(called), .. } | Event::Failure { called, .. } => called,
            Event::Fault { called: None, .. } | Event::Success { .. } => self.tool,
        }
    }
}
