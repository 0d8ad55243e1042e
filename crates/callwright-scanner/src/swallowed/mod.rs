//! Parameters that a string swallowed: the string holds the end of its own parameter and the start of another one.
//!
//! A parser that misses the end tag of a parameter gives the rest of the call to that parameter, and the call loses the
//! parameters behind it. The marks, the schema and the arguments are the evidence: the end tag has no start tag in the
//! string, the parameter behind it is offered and absent, and its value fits the schema.

mod marks;

use serde_json::{Map, Value};

use super::schema::named_types;
use super::{CompiledSchema, SchemaRule, ShapeNode, Violation, quoted};
use callwright_common::json::Pointer;
use marks::Tracker;

/// Maximum number of places of a string to try without marks that only calls have.
const MAX_TRIALS: usize = 8;

/// Maximum number of parameters to take out of a string.
const MAX_MEMBERS: usize = 64;

/// A string that holds the end of its own parameter and what follows it.
#[derive(Debug, PartialEq)]
pub struct SwallowedParameters {
    /// The parameter that has the string.
    pub holder: String,
    /// The first parameter that the string holds; empty if it holds only the end of the call.
    pub first: String,
    /// The string's own value and the parameters that it holds; `None` if they cannot be separated with certainty.
    pub parts: Option<(String, Vec<(String, Value)>)>,
}

impl SwallowedParameters {
    /// Returns the violation that reports the string.
    pub fn violation(&self) -> Violation {
        let message = match self.first.as_str() {
            "" => "must end before the end tags of the call".to_owned(),
            first => format!("must end before the mark of `{}`, which is an argument of its own", quoted(first)),
        };
        let rule = SchemaRule::Constraint(RULE, message);
        Violation { path: Pointer::root().child(&self.holder), schema: None, rule }
    }
}

/// Name of the rule in place of a schema keyword.
pub const RULE: &str = "swallowed";

/// Returns the first string among the arguments that swallowed parameters.
pub fn find(schema: &CompiledSchema, arguments: &Map<String, Value>) -> Option<SwallowedParameters> {
    let root = schema.shape.root()?;
    arguments.iter().find_map(|(name, value)| {
        let text = value.as_str().filter(|text| marks::may_occur(text))?;
        root.members.contains_key(name).then_some(())?;
        HolderText { schema, root, arguments, name, text }.read()
    })
}

/// One string of the arguments.
struct HolderText<'a> {
    schema: &'a CompiledSchema,
    root: &'a ShapeNode,
    arguments: &'a Map<String, Value>,
    name: &'a str,
    text: &'a str,
}

impl HolderText<'_> {
    fn read(&self) -> Option<SwallowedParameters> {
        self.between_tags().or_else(|| self.between_quotes())
    }

    /// Whether the tool has this parameter, and the call does not.
    fn is_absent(&self, name: &str) -> bool {
        self.root.members.contains_key(name) && !self.arguments.contains_key(name)
    }

    /// Reads what follows the first end tag without a start tag.
    fn between_tags(&self) -> Option<SwallowedParameters> {
        let mut tracker = Tracker::new(self.name);
        let mut from = 0;
        loop {
            let end = tracker.next_end(self.text, from)?;
            let behind = self.text.get(end.behind..)?;
            let kept = self.text.get(..end.at)?;
            let start = if end.is_quote { marks::start_after_quote(behind) } else { marks::start(behind) };
            if let Some(start) = start {
                if !self.is_absent(start.name) {
                    return None;
                }
                let kept = if start.has_layout { kept.strip_suffix('\n').unwrap_or(kept) } else { kept };
                let members = self.members(behind, end.is_quote);
                return Some(self.found(start.name, kept, members));
            }
            if marks::closes_call(behind) && !marks::opens_call(kept) {
                return Some(self.found("", kept, Some(Vec::new())));
            }
            from = end.behind;
        }
    }

    /// Reads absent parameters up to the end of the text.
    fn members(&self, mut rest: &str, are_quoted: bool) -> Option<Vec<(String, Value)>> {
        let mut members: Vec<(String, Value)> = Vec::new();
        let start_of = if are_quoted { marks::start_after_quote } else { marks::start };
        while let Some(start) = start_of(rest).filter(|_| members.len() < MAX_MEMBERS) {
            let is_new =
                start.is_readable && self.is_absent(start.name) && members.iter().all(|(name, _)| name != start.name);
            is_new.then_some(())?;
            let inner = rest.get(start.length..)?;
            let end = Tracker::new(start.name).next_end(inner, 0);
            let (text, behind) = match &end {
                Some(end) => (inner.get(..end.at)?, inner.get(end.behind..)?),
                None => marks::without_closers(inner),
            };
            let text = if start.has_layout { marks::without_layout(text) } else { text };
            members.push((start.name.to_owned(), self.typed(start.name, text, start.is_text)));
            rest = behind;
        }
        let is_end = rest.trim().is_empty() || marks::closes_call(rest) || are_quoted && rest.trim() == "}";
        is_end.then_some(members)
    }

    /// Reads what follows a quote that ends the string in JSON or in a programming language.
    fn between_quotes(&self) -> Option<SwallowedParameters> {
        let mut trials = 0;
        for (quote, behind) in marks::ending_quotes(self.text) {
            let rest = self.text.get(behind..)?;
            let Some(name) = marks::member_start(rest).map(|(name, _)| name).filter(|name| self.is_absent(name)) else {
                continue;
            };
            trials += 1;
            if trials > MAX_TRIALS {
                return None;
            }
            // Other text with quotes is no evidence.
            if let Some(members) = marks::quoted_members(rest, quote, |name| self.is_absent(name)) {
                let kept = self.text.get(..behind - quote.len_utf8())?;
                return Some(self.found(name, kept, Some(members)));
            }
        }
        None
    }

    /// Converts the text of a value by its schema.
    fn typed(&self, name: &str, text: &str, is_text: bool) -> Value {
        let schema = self.root.members.get(name).and_then(|member| self.schema.schema.pointer(member.schema.as_ref()?));
        let types = schema.map(|schema| named_types(&self.schema.schema, schema)).unwrap_or_default();
        let takes_text = types.is_empty() || types.contains("string");
        let trimmed = text.trim();
        if takes_text && (is_text || trimmed != "null" || !types.contains("null")) {
            return Value::from(text);
        }
        match trimmed {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            trimmed => serde_json::from_str(trimmed).unwrap_or_else(|_| Value::from(text)),
        }
    }

    fn found(&self, first: &str, kept: &str, members: Option<Vec<(String, Value)>>) -> SwallowedParameters {
        let parts = members.filter(|members| self.fit(kept, members)).map(|members| (kept.to_owned(), members));
        SwallowedParameters { holder: self.name.to_owned(), first: first.to_owned(), parts }
    }

    /// Whether the parts fit the schema. Faults of other parameters do not count.
    fn fit(&self, kept: &str, members: &[(String, Value)]) -> bool {
        let mut arguments = self.arguments.clone();
        arguments.insert(self.name.to_owned(), Value::from(kept));
        arguments.extend(members.iter().cloned());
        let names = members.iter().map(|(name, _)| name.as_str()).chain([self.name]);
        let places: Vec<Pointer> = names.map(|name| Pointer::root().child(name)).collect();
        let mut violations = self.schema.violations(&Value::Object(arguments));
        violations.retain(|found| found.path.is_root() || places.iter().any(|place| place.contains(&found.path)));
        let before = self.schema.violations(&Value::Object(self.arguments.clone()));
        violations.iter().all(|violation| before.contains(violation))
    }
}
