//! The input of the rules: a document with the tools made from it.

use super::super::document::Document;
use super::super::load::names_of;
use super::super::walk::{Found, operations};
use super::super::{DocumentLimits, Operation, Toolset};
use super::inputs::{Input, inputs};

/// A document and its tools.
pub(super) struct Subject<'c> {
    pub(super) document: &'c Document,
    pub(super) limits: &'c DocumentLimits,
    /// The operations that became tools, each with its tool. The loader's report lists the skipped operations.
    pub(super) tools: Vec<(Found<'c>, &'c Operation)>,
}

/// One operation with its arguments.
pub(super) struct Case<'c> {
    /// Method and path.
    pub(super) label: String,
    pub(super) found: &'c Found<'c>,
    pub(super) operation: &'c Operation,
    /// Arguments of the tool.
    pub(super) inputs: Vec<Input<'c>>,
}

impl<'c> Subject<'c> {
    pub(super) fn new(document: &'c Document, toolset: &'c Toolset, limits: &'c DocumentLimits) -> Self {
        let (found, _) = operations(document);
        let names = names_of(&found);
        let beside = |(found, name): (Found<'c>, String)| Some((found, toolset.operation(&name)?));
        Self { document, limits, tools: found.into_iter().zip(names).filter_map(beside).collect() }
    }

    /// Returns the operations one by one, lazily, because their inputs use much memory.
    pub(super) fn cases(&'c self) -> impl Iterator<Item = Case<'c>> {
        self.tools.iter().map(|(found, operation)| Case {
            label: found.label(),
            found,
            operation,
            inputs: inputs(self.document, found, operation),
        })
    }
}
