//! Builds drafts of lessons in general terms from faults and their corrections.

use serde_json::Value;

use callwright_judge::scanner::{CompiledTool, ToolSet};
use callwright_memory::experience::{Event, Experience, Settings, compose};
use callwright_types::memory::Backing;
use callwright_types::trace::Observation;
use callwright_types::{Call, Explanation, LessonDraft, Trace};

use super::mendings::{RecoveredCall, mended, recovered, recovered_by_client};
use crate::pipeline::state::ToolResult;

/// Maximum number of drafts per turn. Further drafts of a failing turn mostly repeat earlier ones.
const MAX_DRAFTS: usize = 8;

/// Returns the possible lessons of a turn, without duplicates.
pub(super) fn drafts(
    trace: &Trace,
    results: &[ToolResult],
    tool_set: &ToolSet,
    settings: &Settings,
) -> Vec<LessonDraft> {
    let source = DraftSource { tool_set, settings };
    let mut drafts: Vec<LessonDraft> = Vec::new();
    for mended in mended(trace, |name| tool_set.get(name).is_some_and(|tool| !tool.tool.owner.is_proxy())) {
        let called = mended.faulty.and_then(|call| tool_set.get(&call.name));
        for diagnosis in mended.diagnoses {
            let event = Event::Fault { diagnosis, called: called.map(|tool| &*tool.tool) };
            drafts.extend(source.draft(event, mended.call, mended.backing.clone()));
        }
    }
    for recovered in recovered(trace) {
        let explanation = recovered.execution.and_then(|execution| execution.explanation.as_ref());
        let status = recovered.execution.and_then(|execution| execution.status);
        drafts.extend(source.draft_of(&recovered, status, explanation));
    }
    for recovered in recovered_by_client(results, |result| observed(trace, &result.call).is_some()) {
        let failed = observed(trace, recovered.failed);
        drafts.extend(source.draft_of(&recovered, None, failed.and_then(|failed| failed.explanation.as_ref())));
    }
    let mut distinct: Vec<LessonDraft> = Vec::new();
    for draft in drafts {
        if distinct.len() < MAX_DRAFTS && !distinct.contains(&draft) {
            distinct.push(draft);
        }
    }
    distinct
}

/// Returns the recognised failure of a client's call.
fn observed<'a>(trace: &'a Trace, call: &Call) -> Option<&'a Observation> {
    trace.observed.iter().find(|observed| !call.id.is_empty() && observed.call.id == call.id)
}

/// Data for the creation of drafts.
struct DraftSource<'a> {
    tool_set: &'a ToolSet,
    settings: &'a Settings,
}

impl DraftSource<'_> {
    fn draft_of(
        &self,
        recovered: &RecoveredCall<'_>,
        status: Option<u16>,
        explanation: Option<&Explanation>,
    ) -> Option<LessonDraft> {
        let called = self.tool(recovered.failed)?;
        let arguments = arguments(recovered.failed);
        let event = Event::Failure { called: &called.tool, arguments: &arguments, status, explanation };
        self.draft(event, recovered.call, Backing::Seen)
    }

    fn draft(&self, event: Event<'_>, worked: &Call, backing: Backing) -> Option<LessonDraft> {
        let tool = self.tool(worked)?;
        let arguments = arguments(worked);
        let offered = |name: &str| self.tool_set.get(name).map(|tool| &*tool.tool);
        let experience = Experience { event, tool: &tool.tool, arguments: &arguments, offered: &offered };
        compose(&experience, backing, self.settings)
    }

    fn tool(&self, call: &Call) -> Option<&CompiledTool> {
        self.tool_set.get(&call.name).map(|tool| &**tool)
    }
}

/// Returns the parsed arguments; null if they are invalid JSON.
fn arguments(call: &Call) -> Value {
    serde_json::from_str(&call.arguments).unwrap_or_default()
}
