//! Optional inputs of a scan besides the call and the tools.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{CompiledTool, Conversation, JudgementBudget, RelevanceSource, ToolSet};
use callwright_common::json::Pointer;
use callwright_types::Similarity;

/// Reactions of tools to earlier calls.
pub trait Reactions: fmt::Debug {
    /// Whether the tool refused this parameter in an earlier call, or reported that it ignored it.
    fn has_rejected(&self, tool: &CompiledTool, parameter: &str) -> bool;
}

/// Optional inputs of a scan besides the call and the tools. A check whose input is missing is skipped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// Earlier messages and calls (E4.3, E5).
    pub conversation: Option<&'a dyn Conversation>,
    /// Relevance of each tool for the request (E2, E2.1). Queried only for an unknown tool, or if E2.1 is on.
    pub relevance: Option<&'a dyn RelevanceSource>,
    /// Expected sources of argument values (E4.4).
    pub expectations: Option<&'a Expectations>,
    /// Semantic similarity of names (E2.3, E3.3). Queried only for unknown names without a close spelling.
    pub similarity: Option<&'a dyn Similarity>,
    /// Reactions of the tools to earlier calls (E3, E3.1, E3.3). Queried only for unknown parameters.
    pub reactions: Option<&'a dyn Reactions>,
    /// Namespaces of native calls that name one, by id of the call.
    pub namespaces: Option<&'a HashMap<String, String>>,
    /// Work budget of the scan; `None` for no limit.
    pub budget: Option<&'a JudgementBudget>,
}

impl Context<'_> {
    /// Whether a tool of this name may exist although it is not in the tool set: the set is open, or the client names the
    /// tool in the conversation or in the description of another tool. Such a call is never a fault.
    pub fn may_exist(&self, tool_set: &ToolSet, name: &str) -> bool {
        if tool_set.built_in(name).is_some() {
            return false;
        }
        tool_set.is_open_for(name)
            || tool_set.describes(name)
            || (tool_set.has_tools_of_client()
                && self.conversation.is_some_and(|conversation| conversation.transcript().announces(name)))
    }

    /// Whether a text or a call of the conversation has this name.
    pub fn mentions(&self, name: &str) -> bool {
        self.conversation.is_some_and(|conversation| conversation.transcript().mentions(name))
    }

    /// Returns the tools that the name of a native call matches. A name of a tool that may exist matches only itself in
    /// other spellings.
    pub fn meant<'a>(&self, tool_set: &'a ToolSet, name: &str) -> Vec<&'a Arc<CompiledTool>> {
        let same = tool_set.same_spelling(name);
        if !same.is_empty() {
            return same;
        }
        let meant = tool_set.meant(name);
        if meant.is_empty() || self.may_exist(tool_set, name) { Vec::new() } else { meant }
    }

    /// Consumes one step of the budget. Returns whether the scan may continue.
    pub fn step(&self) -> bool {
        self.budget.is_none_or(JudgementBudget::step)
    }

    /// Whether the budget is spent, in which case the result of the scan is not valid.
    pub fn is_spent(&self) -> bool {
        self.budget.is_some_and(JudgementBudget::is_spent)
    }
}

/// Expected sources of the argument values of the coming calls, taken from a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expectations {
    /// One entry per argument that takes its value from the output of another call.
    pub expected: Vec<Expectation>,
}

/// An argument that takes its value from the output of another call.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// Tool that has the argument.
    pub tool: String,
    /// Path of the argument.
    pub path: Pointer,
    /// Tool that produces the value.
    pub source: String,
    /// Accepted values, taken from the output. Empty if the producing call has not been made yet.
    pub values: Vec<Value>,
}
