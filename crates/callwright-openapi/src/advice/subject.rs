//! The input of the rules: a document with the tools made from it.

use super::super::document::ApiDocument;
use super::super::load::names_of;
use super::super::walk::{DocumentOperation, operations};
use super::super::{DocumentLimits, Operation, Toolset};
use super::inputs::{InputArgument, inputs};

/// A document and its tools.
pub(super) struct AdviceSubject<'c> {
    pub(super) document: &'c ApiDocument,
    pub(super) limits: &'c DocumentLimits,
    /// The operations that became tools, each with its tool. The loader's report lists the skipped operations.
    pub(super) tools: Vec<(DocumentOperation<'c>, &'c Operation)>,
}

/// One operation with its arguments.
pub(super) struct OperationCase<'c> {
    /// Method and path.
    pub(super) label: String,
    pub(super) found: &'c DocumentOperation<'c>,
    pub(super) operation: &'c Operation,
    /// Arguments of the tool.
    pub(super) inputs: Vec<InputArgument<'c>>,
}

impl<'c> AdviceSubject<'c> {
    pub(super) fn new(document: &'c ApiDocument, toolset: &'c Toolset, limits: &'c DocumentLimits) -> Self {
        let (found, _) = operations(document);
        let names = names_of(&found);
        let beside = |(found, name): (DocumentOperation<'c>, String)| Some((found, toolset.operation(&name)?));
        Self { document, limits, tools: found.into_iter().zip(names).filter_map(beside).collect() }
    }

    /// Returns the operations one by one, lazily, because their inputs use much memory.
    pub(super) fn cases(&'c self) -> impl Iterator<Item = OperationCase<'c>> {
        self.tools.iter().map(|(found, operation)| OperationCase {
            label: found.label(),
            found,
            operation,
            inputs: inputs(self.document, found, operation),
        })
    }
}
