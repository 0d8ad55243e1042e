//! What a document promises of the bodies of an operation's successful answers, and an answer that does not keep it.

use std::ops::RangeInclusive;

/// What a document promises of the body of successful answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The statuses of the answers: one, or the hundred of `2XX`.
    pub statuses: RangeInclusive<u16>,
    /// Is JSON the only thing that such an answer may be?
    pub only_json: bool,
    /// What the body must be as JSON; `None` where the schema leaves that open.
    pub value: Option<PromisedValue>,
    /// What the document says about the answer; may be empty.
    pub description: String,
}

/// What a JSON value must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromisedValue {
    /// May it be null instead?
    pub nullable: bool,
    /// What it is otherwise.
    pub shape: PromisedShape,
}

/// What an object or array must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromisedShape {
    /// An object.
    Object {
        /// Members that it must have.
        required: Vec<String>,
        /// Members that it must have at least, whatever their names (`minProperties`).
        least: u64,
        /// The required member that only wraps the result, and what that must be.
        wrapped: Option<(String, Box<PromisedValue>)>,
    },
    /// An array.
    Array {
        /// Items that it must have at least (`minItems`).
        least: u64,
    },
}

/// In what an answer does not keep what the document promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// The rule that recognised it.
    pub rule: &'static str,
    /// What came.
    pub came: &'static str,
    /// What was promised, for a reader.
    pub promised: String,
}

impl Promise {
    /// What the document promises, for a reader: "a JSON object with the members `id`, `name`: The room."
    pub fn told(&self) -> String {
        let what = self.value.as_ref().map_or_else(|| "JSON".to_owned(), PromisedValue::told);
        match self.description.is_empty() {
            true => what,
            false => format!("{what}: {}", self.description),
        }
    }
}

impl PromisedValue {
    /// Does it say more than what kind of value it is?
    pub fn demands_content(&self) -> bool {
        match &self.shape {
            PromisedShape::Object { required, least, .. } => !required.is_empty() || *least > 0,
            PromisedShape::Array { least } => *least > 0,
        }
    }

    fn told(&self) -> String {
        match &self.shape {
            PromisedShape::Array { least: 0 } => "a JSON array".to_owned(),
            PromisedShape::Array { least } => format!("a JSON array of at least {least}"),
            PromisedShape::Object { required, least, wrapped } => {
                let mut told = "a JSON object".to_owned();
                if !required.is_empty() {
                    let names: Vec<String> = required.iter().map(|name| format!("`{name}`")).collect();
                    told.push_str(&format!(" with the members {}", names.join(", ")));
                } else if *least > 0 {
                    told.push_str(&format!(" with at least {least} members"));
                }
                if let Some((name, value)) = wrapped {
                    told.push_str(&format!("; `{name}` is {}", value.told()));
                }
                told
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_told_with_what_it_demands() {
        let list = PromisedValue { nullable: false, shape: PromisedShape::Array { least: 1 } };
        let shape = PromisedShape::Object {
            required: vec!["data".into(), "page".into()],
            least: 0,
            wrapped: Some(("data".into(), Box::new(list))),
        };
        let value = Some(PromisedValue { nullable: false, shape });
        let promise = Promise { statuses: 200..=200, only_json: true, value, description: "The rooms.".into() };
        let told = "a JSON object with the members `data`, `page`; `data` is a JSON array of at least 1: The rooms.";
        assert_eq!(promise.told(), told);
        assert_eq!(Promise { value: None, description: String::new(), ..promise }.told(), "JSON");
    }
}
