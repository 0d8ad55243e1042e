//! What rules look at: a document beside the tools that were made from it.

use super::super::document::Document;
use super::super::load::names_of;
use super::super::walk::{Found, operations};
use super::super::{DocumentLimits, Operation, Toolset};
use super::inputs::{Input, inputs};

/// A document and its tools.
pub(super) struct Subject<'c> {
    pub(super) document: &'c Document,
    pub(super) limits: &'c DocumentLimits,
    /// The operations that became tools, each beside its tool. What became none is in the report already.
    pub(super) tools: Vec<(Found<'c>, &'c Operation)>,
}

/// One operation, looked into.
pub(super) struct Case<'c> {
    /// Method and path.
    pub(super) label: String,
    pub(super) found: &'c Found<'c>,
    pub(super) operation: &'c Operation,
    /// What the model is asked for.
    pub(super) inputs: Vec<Input<'c>>,
}

impl<'c> Subject<'c> {
    pub(super) fn new(document: &'c Document, toolset: &'c Toolset, limits: &'c DocumentLimits) -> Self {
        let (found, _) = operations(document);
        let names = names_of(&found);
        let beside = |(found, name): (Found<'c>, String)| Some((found, toolset.operation(&name)?));
        Self { document, limits, tools: found.into_iter().zip(names).filter_map(beside).collect() }
    }

    /// One operation after the other, because their inputs take room.
    pub(super) fn cases(&'c self) -> impl Iterator<Item = Case<'c>> {
        self.tools.iter().map(|(found, operation)| Case {
            label: found.label(),
            found,
            operation,
            inputs: inputs(self.document, found, operation),
        })
    }
}
