//! Response contracts: the body that a document promises for successful responses, and violations of it.

use std::ops::RangeInclusive;

/// The documented body of successful responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// Status codes: one, or the hundred of `2XX`.
    pub statuses: RangeInclusive<u16>,
    /// Whether JSON is the only documented media type.
    pub only_json: bool,
    /// Requirements on the JSON body; `None` if the schema has none.
    pub value: Option<PromisedValue>,
    /// Description of the response in the document; may be empty.
    pub description: String,
}

/// Requirements on a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromisedValue {
    /// Whether null is permitted.
    pub nullable: bool,
    /// Requirements on any other value.
    pub shape: PromisedShape,
}

/// Requirements on an object or array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromisedShape {
    Object {
        /// Required members.
        required: Vec<String>,
        /// Minimum number of members of any name (`minProperties`).
        least: u64,
        /// The required member that merely wraps the result, and the requirements on its value.
        wrapped: Option<(String, Box<PromisedValue>)>,
    },
    Array {
        /// Minimum number of items (`minItems`).
        least: u64,
    },
}

/// A violation of the documented contract by a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// The rule that detected it.
    pub rule: &'static str,
    /// Kind of body received.
    pub came: &'static str,
    /// Human-readable form of the documented contract.
    pub promised: String,
}

impl Promise {
    /// Returns a human-readable form of the contract: "a JSON object with the members `id`, `name`: The room."
    pub fn told(&self) -> String {
        let what = self.value.as_ref().map_or_else(|| "JSON".to_owned(), PromisedValue::told);
        match self.description.is_empty() {
            true => what,
            false => format!("{what}: {}", self.description),
        }
    }
}

impl PromisedValue {
    /// Whether the value must have members or items.
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
