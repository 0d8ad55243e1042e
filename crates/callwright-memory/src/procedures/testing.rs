//! Helpers that build procedures for unit tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "for tests")]

use std::sync::Arc;

use jiff::Timestamp;

use super::merging::merge_draft;
use super::{Settings, StoredProcedure};
use crate::memory::LearnOutcome;
use callwright_common::json::Pointer;
use callwright_types::memory::{Backing, EvidenceKind, ProcedureInput};
use callwright_types::plan::{Argument, Item, Node, Reference, Source};
use callwright_types::{Evidence, Plan, Procedure, ProcedureDraft, Scope};

/// Returns a draft with these arguments, given as tool, name and source: `?` is an input of that name, `stepN/POINTER`
/// an output. Tools are called in the order of their first occurrence; the last one is the goal.
pub fn draft(output: &str, arguments: &[(&str, &str, &str)]) -> ProcedureDraft {
    let mut nodes: Vec<Node> = Vec::new();
    let mut input: Vec<ProcedureInput> = Vec::new();
    for (tool, name, from) in arguments {
        if nodes.last().is_none_or(|node| node.tool != *tool) {
            let label = format!("step{}", nodes.len() + 1);
            nodes.push(Node { label, tool: (*tool).to_owned(), task: String::new(), arguments: Vec::new() });
        }
        let source = match from.split_once('/') {
            Some((node, pointer)) => Source::Output(Reference {
                node: node.to_owned(),
                output: Pointer::from(format!("/{pointer}").as_str()),
                item: Item::Whole,
            }),
            None => Source::Missing { question: (*name).to_owned() },
        };
        if *from == "?" && input.iter().all(|existing| existing.name != *name) {
            input.push(ProcedureInput { name: (*name).to_owned(), description: String::new() });
        }
        let node = nodes.last_mut().unwrap();
        node.arguments.push(Argument { name: (*name).to_owned(), source });
    }
    let steps = nodes.iter().map(super::abstraction::step_words).collect();
    let finals = vec![nodes.last().unwrap().label.clone()];
    let plan = Plan::new(nodes, finals).unwrap();
    let (toolsets, client_tools) = (Vec::new(), Some(Vec::new()));
    ProcedureDraft { toolsets, client_tools, input, output: output.to_owned(), steps, plan, backing: Backing::Seen }
}

/// Returns evidence from a trace.
pub fn evidence(kind: EvidenceKind, trace: &str) -> Evidence {
    Evidence { kind, trace: Some(trace.to_owned()), session: None, source: None, at: Timestamp::UNIX_EPOCH }
}

/// Returns the procedure of a draft in the scope of a group.
pub fn procedure(group: &str, output: &str, arguments: &[(&str, &str, &str)]) -> Arc<Procedure> {
    let (draft, evidence) = (draft(output, arguments), evidence(EvidenceKind::Mended, "t"));
    let scope = Scope::of_group(group);
    let outcome = merge_draft([], &draft, evidence, &scope, Timestamp::UNIX_EPOCH, &Settings::default());
    let LearnOutcome::New(procedure) = outcome else { panic!("{outcome:?}") };
    Arc::new(procedure)
}

/// Returns the procedure for a store, without an embedding.
pub fn stored(procedure: &Arc<Procedure>) -> StoredProcedure {
    StoredProcedure { procedure: Arc::clone(procedure), vector: None }
}
