//! A parsed call before its tool is resolved.

use indexmap::IndexMap;

use super::call_names::{MAX_WRAPPERS, has_only_parameters, offered};
use super::literal::{Literal, LiteralReader};
use callwright_common::json::Pointer;
use callwright_scanner::{CompiledTool, ToolSet};
use callwright_types::rules::Expressions;

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenCall {
    /// The tool's name, without quotes and escapes.
    pub(super) name: String,
    /// Positional arguments in order.
    pub(super) positional: Vec<Literal>,
    /// Named arguments in order.
    pub(super) named: Vec<(String, Literal)>,
}

/// Reason why a written call is not a call of an offered tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnresolvedCall {
    /// No offered tool has this name, in any spelling.
    Name(String),
    /// The arguments are ambiguous: too many positional ones, or two values for one name.
    Arguments(String),
    /// An argument is a name or an expression of a program, not a value.
    Expression {
        /// The called tool.
        name: String,
        /// The expression.
        source: String,
    },
}

impl WrittenCall {
    /// Creates a call with named arguments.
    pub(super) fn named(name: impl Into<String>, named: Vec<(String, Literal)>) -> Self {
        Self { name: name.into(), positional: Vec::new(), named }
    }

    /// Creates a call whose arguments are one value: an object, the text of an object, or nothing.
    pub(super) fn with_arguments(name: impl Into<String>, arguments: &Literal) -> Option<Self> {
        Some(Self::named(name, object(arguments, MAX_WRAPPERS)?))
    }

    /// Creates a call whose input is a text: the text of its argument object, or else the value of its first parameter.
    pub(super) fn with_input(name: impl Into<String>, input: &str) -> Option<Self> {
        let name = name.into();
        let text = Literal::Text(input.to_owned());
        let call = Self::with_arguments(name.clone(), &text);
        let is_data = input.trim_start().starts_with(['{', '[']);
        if call.is_none() && !is_data { Some(Self { name, positional: vec![text], named: Vec::new() }) } else { call }
    }

    /// Resolves the offered tool, and returns its name with the arguments as the text of a JSON object. Returns one
    /// call, or one for each object in `f({...}, {...})`.
    pub(crate) fn resolve(
        &self,
        tool_set: &ToolSet,
        expressions: Expressions,
    ) -> Result<Vec<(String, String)>, UnresolvedCall> {
        let tool = offered(&self.name, tool_set).ok_or_else(|| UnresolvedCall::Name(self.name.clone()))?;
        if expressions == Expressions::Refuse
            && let Some(source) = self.values().find_map(Literal::expression)
        {
            return Err(UnresolvedCall::Expression { name: self.name.clone(), source: source.to_owned() });
        }
        if let Some(objects) = self.objects(tool) {
            return Ok(objects.into_iter().map(|members| named_json(tool, members.to_vec())).collect());
        }
        let mut members = self.arguments(tool).ok_or_else(|| UnresolvedCall::Arguments(self.name.clone()))?;
        members.iter_mut().for_each(|(key, value)| without_leading_zeros(tool, key, value));
        Ok(vec![named_json(tool, members)])
    }

    /// Returns the values of all arguments.
    pub(super) fn values(&self) -> impl Iterator<Item = &Literal> {
        self.positional.iter().chain(self.named.iter().map(|(_, value)| value))
    }

    fn arguments(&self, tool: &CompiledTool) -> Option<Vec<(String, Literal)>> {
        let mut members: IndexMap<&str, &Literal> = IndexMap::with_capacity(self.positional.len() + self.named.len());
        let mut names = tool.parameters();
        for value in &self.positional {
            members.insert(names.next()?.name, value);
        }
        for (key, value) in &self.named {
            // A repeated equal value is not a conflict.
            if *members.entry(key).or_insert(value) != value {
                return None;
            }
        }
        Some(members.into_iter().map(|(key, value)| (key.to_owned(), value.clone())).collect())
    }

    /// Returns the argument objects if each positional argument is one: `f({"a": 1})`.
    fn objects(&self, tool: &CompiledTool) -> Option<Vec<&[(String, Literal)]>> {
        if !self.named.is_empty() || self.positional.is_empty() {
            return None;
        }
        if let [only] = self.positional.as_slice() {
            let members = only.members()?;
            let is_object = members.is_empty() || members.iter().any(|(key, _)| tool.has_parameter(key));
            return is_object.then(|| vec![members]);
        }
        let objects = self.positional.iter();
        objects.map(|value| value.members().filter(|members| has_only_parameters(members, tool))).collect()
    }
}

fn named_json(tool: &CompiledTool, members: Vec<(String, Literal)>) -> (String, String) {
    (tool.name().to_owned(), Literal::Object(members).json())
}

/// Converts digits with leading zeros, such as `07`, to a number if the parameter is numeric. For a string parameter
/// they remain text.
fn without_leading_zeros(tool: &CompiledTool, key: &str, value: &mut Literal) {
    let Literal::Source(source) = value else { return };
    let kind = tool.schema_of(&Pointer::root().child(key)).and_then(|schema| schema.get("type")?.as_str());
    if source.bytes().all(|byte| byte.is_ascii_digit()) && matches!(kind, Some("integer" | "number")) {
        let digits = source.trim_start_matches('0');
        *value = Literal::Number(if digits.is_empty() { "0" } else { digits }.to_owned());
    }
}

/// Returns the members of a value that represents an argument object.
fn object(arguments: &Literal, encodings: usize) -> Option<Vec<(String, Literal)>> {
    match arguments {
        Literal::Object(members) => Some(members.clone()),
        Literal::Null => Some(Vec::new()),
        Literal::List(items) => match items.as_slice() {
            [] => Some(Vec::new()),
            [only @ Literal::Object(_)] => object(only, encodings),
            _ => None,
        },
        Literal::Text(text) if text.trim().is_empty() => Some(Vec::new()),
        Literal::Text(text) => {
            let mut reader = LiteralReader::new(text, false);
            let inner = reader.value()?;
            reader.skip_space()?;
            (reader.rest().is_empty() && !reader.has_doubt && encodings > 0)
                .then(|| object(&inner, encodings - 1))
                .flatten()
        }
        _ => None,
    }
}
