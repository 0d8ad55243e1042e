//! A rule, its input (a document with the tools made from it) and its output.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::inputs::{InputArgument, inputs};
use crate::load::names_of;
use crate::load::operation_list::operations;
use crate::{Advice, ApiDocument, DocumentLimits, DocumentOperation, Operation, Toolset, ValuePosition};

/// One rule of the table.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Stable identifier of the rule in reports and on the command line.
    pub code: &'static str,
    /// Short description of the problem that the rule finds.
    pub about: &'static str,
    /// The change to make.
    pub fix: &'static str,
    pub(super) check: RuleCheck,
}

/// Scope of a rule and its check function.
#[derive(Clone, Copy)]
pub(super) enum RuleCheck {
    /// Runs once per operation.
    Operation(fn(&AdviceSubject<'_>, &OperationCase<'_>, &mut Findings)),
    /// Runs once for the document with all its operations.
    Document(fn(&AdviceSubject<'_>, &mut Findings)),
}

impl fmt::Debug for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

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
    pub(super) source: &'c DocumentOperation<'c>,
    pub(super) operation: &'c Operation,
    /// Arguments of the tool.
    pub(super) inputs: Vec<InputArgument<'c>>,
}

impl<'c> AdviceSubject<'c> {
    pub(super) fn new(document: &'c ApiDocument, toolset: &'c Toolset, limits: &'c DocumentLimits) -> Self {
        let (sources, _) = operations(document);
        let names = names_of(&sources);
        let named = sources.into_iter().zip(names);
        let tools = named.filter_map(|(source, name)| Some((source, toolset.operation(&name)?))).collect();
        Self { document, limits, tools }
    }

    /// Returns the operations one by one, lazily, because their inputs use much memory.
    pub(super) fn cases(&'c self) -> impl Iterator<Item = OperationCase<'c>> {
        self.tools.iter().map(|(source, operation)| OperationCase {
            label: source.label(),
            source,
            operation,
            inputs: inputs(source, operation),
        })
    }
}

/// Advice given so far, and the rule that is running.
#[derive(Default)]
pub(super) struct Findings {
    code: &'static str,
    fix: &'static str,
    advice: Vec<Advice>,
    /// Hashes of the advice given (rule, position, message): a position that several operations share is reported once.
    reported: HashSet<u64>,
}

impl Findings {
    /// Sets the rule to which the following [`Self::add`] calls belong.
    pub(super) fn begin(&mut self, rule: &Rule) {
        (self.code, self.fix) = (rule.code, rule.fix);
    }

    /// Adds one piece of advice about `operation` (empty: the whole document); `at` is the position to change.
    pub(super) fn add(&mut self, operation: &str, at: &ValuePosition<'_>, message: impl Into<String>) {
        let message = message.into();
        let mut hasher = DefaultHasher::new();
        (self.code, at.id(), &message).hash(&mut hasher);
        if self.reported.insert(hasher.finish()) {
            let (operation, at) = (operation.to_owned(), at.to_string());
            self.advice.push(Advice { code: self.code, operation, at, message, fix: self.fix });
        }
    }

    pub(super) fn finish(self) -> Vec<Advice> {
        self.advice
    }
}
