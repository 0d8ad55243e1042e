//! Inputs of the checks, and the parts that several checks share.

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use crate::names::NameList;
use crate::{CompiledTool, Context, Relevance, RelevanceSource, ToolSet, quoted};
use callwright_common::json::Pointer;
use callwright_common::limits::LISTED;
use callwright_types::rules::ScanRules;
use callwright_types::{Call, Diagnosis, FaultCode};

/// An answer without a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFreeAnswer<'a> {
    /// Content of the answer, without reasoning.
    pub text: &'a str,
    /// Whether the answer has reasoning content.
    pub reasoned: bool,
}

/// Shared input of all checks of one call.
pub struct FaultCase<'a> {
    pub call: &'a Call,
    index: usize,
    pub(super) tool_set: &'a ToolSet,
    /// Which faults reject a call.
    pub rules: &'a ScanRules,
    /// Optional facts.
    pub context: &'a Context<'a>,
    /// Arguments, if they could be parsed.
    pub(super) arguments: Option<&'a Value>,
    nearest: OnceCell<Vec<(&'a str, f64)>>,
    may_exist: OnceCell<bool>,
    options: RefCell<Vec<OptionNames>>,
    /// Paths of unknown parameters that are no fault.
    tolerated: RefCell<HashSet<Pointer>>,
}

/// Allowed values of an enum, and its strings prepared for comparison.
type OptionNames = (Arc<Value>, Rc<NameList>);

impl<'a> FaultCase<'a> {
    /// Creates the input for the call at `index` of an answer.
    pub fn new(
        call: &'a Call,
        index: usize,
        tool_set: &'a ToolSet,
        rules: &'a ScanRules,
        context: &'a Context<'a>,
    ) -> Self {
        let (nearest, may_exist) = (OnceCell::new(), OnceCell::new());
        let (options, tolerated) = (RefCell::default(), RefCell::default());
        Self { call, index, tool_set, rules, context, arguments: None, nearest, may_exist, options, tolerated }
    }

    /// Adds the parsed arguments of the call.
    pub fn with_arguments(self, arguments: &'a Value) -> Self {
        Self { arguments: Some(arguments), ..self }
    }

    /// Whether the rules let this fault reject the call.
    pub fn blocks(&self, diagnosis: &Diagnosis) -> bool {
        self.rules.faults.of(diagnosis.code).blocks() && !self.is_tolerated(diagnosis)
    }

    /// Lets the unknown parameter at `path` pass: it is only noted.
    pub fn tolerate(&self, path: Pointer) {
        self.tolerated.borrow_mut().insert(path);
    }

    fn is_tolerated(&self, diagnosis: &Diagnosis) -> bool {
        use FaultCode::{ParameterOfOtherTool, ParameterSemantic, ParameterUnknown};
        matches!(diagnosis.code, ParameterOfOtherTool | ParameterSemantic | ParameterUnknown)
            && self.tolerated.borrow().contains(&diagnosis.path)
    }

    /// Returns the strings of the allowed values `options`, prepared for comparison. Cached for all values of the call
    /// that violate the same enum.
    pub(super) fn option_names(&self, options: &Arc<Value>, read: impl FnOnce() -> NameList) -> Rc<NameList> {
        let mut kept = self.options.borrow_mut();
        if let Some((_, names)) = kept.iter().find(|(known, _)| Arc::ptr_eq(known, options)) {
            return Rc::clone(names);
        }
        let names = Rc::new(read());
        kept.push((Arc::clone(options), Rc::clone(&names)));
        names
    }

    /// Whether a tool of the called name may exist although it is not in the tool set.
    pub fn may_exist(&self) -> bool {
        *self.may_exist.get_or_init(|| self.context.may_exist(self.tool_set, &self.call.name))
    }

    /// Returns the offered tools with the most similar names, best first. Computed once.
    pub(super) fn nearest(&self) -> &[(&'a str, f64)] {
        self.nearest.get_or_init(|| self.tool_set.nearest(&self.call.name, LISTED))
    }

    /// Returns up to `limit` offered tools that fit the request best, best first, without `known` ones.
    pub(super) fn most_relevant(&self, known: &[&str], limit: usize) -> Vec<&'a str> {
        let relevance = self.context.relevance.and_then(RelevanceSource::relevance);
        let ranked = relevance.map(Relevance::ranked).unwrap_or_default().into_iter();
        let offered = ranked.filter(|name| !known.contains(name)).filter_map(|name| self.tool_set.get(name));
        offered.take(limit).map(|tool| tool.name()).collect()
    }

    /// Creates a diagnosis; `facts` are the variables of the fault's feedback template.
    pub(super) fn diagnosis(&self, code: FaultCode, path: Pointer, message: String, facts: Value) -> Diagnosis {
        Diagnosis { path, ..Diagnosis::new(code, self.index, message, facts) }
    }
}

/// Formats the location of a member as `tool` or `tool at /path`.
pub(super) fn whereabouts(tool: &CompiledTool, object: &Pointer) -> String {
    if object.is_root() {
        format!("`{}`", quoted(tool.name()))
    } else {
        format!("`{}` at `{}`", quoted(tool.name()), quoted(object.as_str()))
    }
}

/// Number of tools that are named to a model that called a wrong one. More would only repeat the list that it has.
pub(super) const MAX_FITTING: usize = 3;

/// Minimum lead in semantic similarity of the best candidate over the second. Opposites (`start`, `end`) and siblings
/// (`get_user`, `list_users`) are nearly as similar to a name as its intended meaning (docs/benchmarks/judging.md,
/// "Names").
const LEAD: f64 = 0.1;

/// Returns the candidate that is clearly the closest to `name`: it reaches the required similarity and leads all
/// others. Compares spelling and words first (`ranked` holds the two best candidates), then semantic similarity, if
/// available. The semantic comparison considers only candidates for which `fitting` returns true.
pub(super) fn clearly_closest<'a>(
    case: &FaultCase<'_>,
    name: &str,
    ranked: &[(&'a str, f64)],
    candidates: impl IntoIterator<Item = &'a str>,
    fitting: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let by_spelling = clear(ranked, case.rules.similarity, f64::MIN_POSITIVE);
    by_spelling.or_else(|| closest_in_meaning(case, name, candidates, fitting))
}

pub(super) fn closest_in_meaning<'a>(
    case: &FaultCase<'_>,
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    fitting: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let similarity = case.context.similarity?;
    let candidates: Vec<&'a str> = candidates.into_iter().take(Relevance::MAX_RANKED).collect();
    let similarities = similarity.similarities(name, &candidates);
    let known = candidates.into_iter().zip(similarities);
    let mut ranked: Vec<(&'a str, f64)> = known.filter_map(|(candidate, alike)| Some((candidate, alike?))).collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    // `fitting` looks up the schema, so it runs only for candidates that can decide the outcome.
    let mut close = ranked.iter().take_while(|(_, alike)| *alike >= case.rules.semantic_similarity);
    let best = close.position(|(candidate, _)| fitting(candidate))?;
    let (candidate, similarity) = ranked.get(best).copied()?;
    let mut rivals = ranked.iter().skip(best + 1).take_while(|(_, second)| similarity - second < LEAD);
    (!rivals.any(|(rival, _)| fitting(rival))).then_some(candidate)
}

pub(super) fn clear<'a>(ranked: &[(&'a str, f64)], threshold: f64, lead: f64) -> Option<&'a str> {
    let (best, similarity) = ranked.first().copied()?;
    let is_clear = ranked.get(1).is_none_or(|(_, second)| similarity - second >= lead);
    (similarity >= threshold && is_clear).then_some(best)
}
