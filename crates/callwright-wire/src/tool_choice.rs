//! The `tool_choice` of a request, and the legacy `function_call`.

use serde_json::{Value, json};

use super::fields::{ObjectFields, string_in};

/// Tools that the model may or must call (API reference, `tool_choice`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides. Also used if the field is absent or invalid.
    #[default]
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Required,
    /// A call of this tool.
    Named(String),
    /// Calls of these tools only.
    Allowed {
        /// Whether at least one call is required.
        required: bool,
        /// Names of the tools.
        names: Vec<String>,
    },
}

impl ToolChoice {
    /// Parses `tool_choice` or `function_call`.
    pub(super) fn read(value: &str) -> Self {
        if let Some(word) = string_in(value) {
            return match word.as_ref() {
                "none" => Self::None,
                // `any` is the value of some other providers.
                "required" | "any" => Self::Required,
                _ => Self::Auto,
            };
        }
        ObjectFields::parse(value).and_then(|object| Self::read_object(&object)).unwrap_or_default()
    }

    fn read_object(object: &ObjectFields<'_>) -> Option<Self> {
        if object.string("type").as_deref() == Some("allowed_tools") {
            // The members are in a nested object; some clients send them flat.
            return match object.object("allowed_tools") {
                Some(inner) => Self::read_allowed(&inner),
                None => Self::read_allowed(object),
            };
        }
        name_in(object).map(Self::Named)
    }

    fn read_allowed(object: &ObjectFields<'_>) -> Option<Self> {
        let tools = object.items("tools")?;
        let names = tools.into_iter().filter_map(|tool| name_in(&ObjectFields::parse(tool.get())?)).collect();
        Some(Self::Allowed { required: object.string("mode").as_deref() == Some("required"), names })
    }

    /// Returns the names of the callable tools, if the choice restricts them.
    pub fn allowed(&self) -> Option<&[String]> {
        match self {
            Self::Named(name) => Some(std::slice::from_ref(name)),
            Self::Allowed { names, .. } => Some(names),
            Self::Auto | Self::None | Self::Required => None,
        }
    }

    /// Whether the model may call the tool of this name.
    pub fn permits(&self, name: &str) -> bool {
        *self != Self::None && self.allowed().is_none_or(|names| names.iter().any(|allowed| allowed == name))
    }

    /// Returns the value of `tool_choice`; `None` if the field is omitted.
    pub(super) fn to_value(&self) -> Option<Value> {
        Some(match self {
            Self::Auto => return None,
            Self::None => json!("none"),
            Self::Required => json!("required"),
            Self::Named(name) => function(name),
            Self::Allowed { required, names } => json!({
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": if *required { "required" } else { "auto" },
                    "tools": names.iter().map(|name| function(name)).collect::<Vec<_>>(),
                },
            }),
        })
    }

    /// Returns the value of the legacy `function_call`, which supports neither `required` nor a list of tools.
    pub(super) fn to_legacy_value(&self) -> Option<Value> {
        match self {
            Self::None => Some(json!("none")),
            Self::Named(name) => Some(json!({ "name": name })),
            Self::Auto | Self::Required | Self::Allowed { .. } => None,
        }
    }
}

fn function(name: &str) -> Value {
    json!({ "type": "function", "function": { "name": name } })
}

/// Returns the name in `{"function": {"name"}}`, `{"custom": {"name"}}` or the legacy `{"name"}`.
fn name_in(object: &ObjectFields<'_>) -> Option<String> {
    let inner = object.object("function").or_else(|| object.object("custom"));
    inner.as_ref().unwrap_or(object).string("name").map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &Value) -> ToolChoice {
        ToolChoice::read(&value.to_string())
    }

    #[test]
    fn every_choice_is_read_back() {
        let named = ToolChoice::Named("f".into());
        assert!(named.permits("f") && !named.permits("g") && !ToolChoice::None.permits("f"));
        assert!(ToolChoice::Auto.permits("f") && ToolChoice::Required.permits("f"));
        let allowed = ToolChoice::Allowed { required: true, names: vec!["f".into(), "g".into()] };
        for choice in [ToolChoice::None, ToolChoice::Required, named.clone(), allowed] {
            assert_eq!(read(&choice.to_value().unwrap()), choice);
        }
        assert_eq!(read(&named.to_legacy_value().unwrap()), named);
        assert_eq!(ToolChoice::Auto.to_value(), None);
        assert_eq!(ToolChoice::Required.to_legacy_value(), None);
    }

    #[test]
    fn what_cannot_be_read_leaves_the_model_to_decide() {
        for value in [json!("auto"), json!("whatever"), json!(5), json!({"type": "function"}), json!([])] {
            assert_eq!(read(&value), ToolChoice::Auto, "{value}");
        }
    }

    #[test]
    fn custom_tools_can_be_named_too() {
        assert_eq!(read(&json!({"type": "custom", "custom": {"name": "sql"}})), ToolChoice::Named("sql".into()));
    }
}
