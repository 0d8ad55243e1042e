//! A call as it was written, before it is known whether such a tool is offered.

use super::literal::{Literal, Reader, object_json};
use crate::scanner::names::without_scope;
use crate::scanner::{CompiledTool, Toolbook};
use callwright_common::json::Pointer;
use callwright_types::rules::Expressions;

/// Times that arguments may have been encoded as a string.
const MAX_ENCODINGS: usize = 3;

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    /// The tool's name, without quotes and escapes.
    pub(super) name: String,
    /// Arguments without a name, in order.
    pub(super) positional: Vec<Literal>,
    /// Arguments with their names, in order.
    pub(super) named: Vec<(String, Literal)>,
}

/// Why a written call is no call of an offered tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unresolved {
    /// No offered tool has this name, in whatever writing.
    Name(String),
    /// The arguments cannot be told from one another.
    Arguments(String),
    /// An argument is a name or an expression of a program, not a value.
    Expression {
        /// The tool that is called.
        name: String,
        /// The expression.
        source: String,
    },
}

impl Written {
    /// A call with named arguments.
    pub(super) fn named(name: impl Into<String>, named: Vec<(String, Literal)>) -> Self {
        Self { name: name.into(), positional: Vec::new(), named }
    }

    /// A call whose arguments are one value: an object, the text of one, or nothing.
    pub(super) fn with_arguments(name: impl Into<String>, arguments: &Literal) -> Option<Self> {
        Some(Self::named(name, object(arguments, MAX_ENCODINGS)?))
    }

    /// A call whose input is a text: the text of its argument object, or else the value of its first parameter.
    pub(super) fn with_input(name: impl Into<String>, input: &str) -> Option<Self> {
        let name = name.into();
        let text = Literal::Text(input.to_owned());
        let call = Self::with_arguments(name.clone(), &text);
        let is_data = input.trim_start().starts_with(['{', '[']);
        if call.is_none() && !is_data { Some(Self { name, positional: vec![text], named: Vec::new() }) } else { call }
    }

    /// The name of the offered tool, and the arguments of each call as the text of a JSON object: one call, or as many as there
    /// are objects in `f({...}, {...})`.
    pub(super) fn resolve(
        &self,
        toolbook: &Toolbook,
        expressions: Expressions,
    ) -> Result<Vec<(String, String)>, Unresolved> {
        let tool = offered(&self.name, toolbook).ok_or_else(|| Unresolved::Name(self.name.clone()))?;
        let values = || self.positional.iter().chain(self.named.iter().map(|(_, value)| value));
        if expressions == Expressions::Refuse
            && let Some(source) = values().find_map(Literal::expression)
        {
            return Err(Unresolved::Expression { name: self.name.clone(), source: source.to_owned() });
        }
        let call = |members: &[(String, Literal)]| {
            (tool.name().to_owned(), object_json(members.iter().map(|(key, value)| (key.as_str(), value))))
        };
        if let Some(objects) = self.objects(tool) {
            return Ok(objects.into_iter().map(call).collect());
        }
        let mut members = self.arguments(tool).ok_or_else(|| Unresolved::Arguments(self.name.clone()))?;
        members.iter_mut().for_each(|(key, value)| without_leading_zeros(tool, key, value));
        Ok(vec![call(&members)])
    }

    fn arguments(&self, tool: &CompiledTool) -> Option<Vec<(String, Literal)>> {
        let mut members: Vec<(String, Literal)> = Vec::with_capacity(self.positional.len() + self.named.len());
        let mut names = tool.parameters();
        for value in &self.positional {
            members.push((names.next()?.name.to_owned(), value.clone()));
        }
        for (key, value) in &self.named {
            match members.iter().find(|(taken, _)| taken == key) {
                // The same value twice says nothing else than once.
                Some((_, given)) if given == value => {}
                Some(_) => return None,
                None => members.push((key.clone(), value.clone())),
            }
        }
        Some(members)
    }

    /// The arguments, where each is an object that stands for all of them: `f({"a": 1})`.
    fn objects(&self, tool: &CompiledTool) -> Option<Vec<&[(String, Literal)]>> {
        if !self.named.is_empty() || self.positional.is_empty() {
            return None;
        }
        let knows = |(key, _): &(String, Literal)| tool.parameter(key).is_some();
        let is_one = self.positional.len() == 1;
        let stands_for_all = |members: &&[(String, Literal)]| {
            if is_one { members.is_empty() || members.iter().any(knows) } else { members.iter().all(knows) }
        };
        self.positional.iter().map(|value| value.members().filter(stands_for_all)).collect()
    }
}

/// Reads digits with leading zeros, `07`, as a number where the parameter takes one; where it takes a string they are its text.
fn without_leading_zeros(tool: &CompiledTool, key: &str, value: &mut Literal) {
    let Literal::Source(source) = value else { return };
    let kind = tool.schema_of(&Pointer::root().child(key)).and_then(|schema| schema.get("type")?.as_str());
    if source.bytes().all(|byte| byte.is_ascii_digit()) && matches!(kind, Some("integer" | "number")) {
        let digits = source.trim_start_matches('0');
        *value = Literal::Number(if digits.is_empty() { "0" } else { digits }.to_owned());
    }
}

/// The offered tool that a written name means: by the name itself, or by the only one that differs in writing alone.
pub(super) fn offered<'a>(name: &str, toolbook: &'a Toolbook) -> Option<&'a CompiledTool> {
    let tool = toolbook.find(name).or_else(|| toolbook.find(without_scope(name)?))?;
    (!tool.tool.free_text).then_some(tool)
}

/// The members that a value spells, where it may stand for an argument object.
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
            let mut reader = Reader::new(text, false);
            let inner = reader.value()?;
            reader.skip_space()?;
            (reader.rest().is_empty() && !reader.has_doubt() && encodings > 0)
                .then(|| object(&inner, encodings - 1))
                .flatten()
        }
        _ => None,
    }
}
