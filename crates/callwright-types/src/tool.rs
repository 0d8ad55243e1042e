//! Tools offered to the model, and the subsets of JSON Schema that providers accept.

use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::{IntoStaticStr, VariantArray};

/// Reference to one operation of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OperationRef {
    /// Name of the toolset in the configuration.
    pub toolset: String,
    /// Name of the tool within that toolset (unique there).
    pub tool: String,
}

/// Party that executes a tool's calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The client sent the tool: its calls are returned to the client.
    Client,
    /// The tool is from the catalog: the proxy executes its calls.
    Proxy(OperationRef),
    /// The proxy itself answers, by searching for tools that are not offered.
    Search,
}

impl Owner {
    /// Whether the proxy handles the tool's calls.
    pub fn is_proxy(&self) -> bool {
        match self {
            Self::Client => false,
            Self::Proxy(_) | Self::Search => true,
        }
    }
}

/// Form of a tool's calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// A function: a call has a JSON object of arguments.
    #[default]
    Function,
    /// A custom tool: a call has one text, in a form of its own. [`Tool::parameters`] describe the text as a member.
    Custom,
    /// A tool whose arguments the provider's documentation defines, such as `bash_20250124`. A call has the form of a
    /// function's. Native calls are not judged, because versions of the tool may differ.
    Predefined,
    /// A tool of the API itself, such as `web_search` or `shell`. Its calls have forms of their own.
    BuiltIn,
}

/// Member that represents the text of a custom tool's call where its arguments are an object.
pub const CUSTOM_INPUT: &str = "input";

/// A tool offered to the model: a name, a description, a JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name that the model is to use.
    pub name: String,
    /// The description that the model reads; may be empty.
    pub description: String,
    /// JSON Schema of the argument object; `null` if the client sent none (any arguments are accepted then).
    pub parameters: Arc<Value>,
    /// Form of its calls.
    pub kind: ToolKind,
    /// Whether its calls are read-only, by the method of its operation (RFC 9110 section 9.2.1); `None` if no document
    /// states it.
    pub reads: Option<bool>,
    /// Party that executes its calls.
    pub owner: Owner,
    /// Namespace of the tool, if the client groups its tools in such. Its calls name both.
    pub namespace: Option<String>,
}

/// Schema of the text of a custom tool's call as a member of an object.
static CUSTOM_PARAMETERS: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "type": "object",
        "properties": { CUSTOM_INPUT: { "type": "string" } },
        "required": [CUSTOM_INPUT],
        "additionalProperties": false,
    }))
});

impl Tool {
    /// Returns the parameters of every custom tool.
    pub fn custom_parameters() -> Arc<Value> {
        Arc::clone(&CUSTOM_PARAMETERS)
    }

    /// Whether the tool is a function.
    pub fn is_function(&self) -> bool {
        self.kind == ToolKind::Function
    }

    /// Returns the text that tool search matches requests against.
    pub fn search_text(&self) -> String {
        format!("{} {}", self.name, self.description)
    }
}

/// The subset of JSON Schema in which the catalog's tools are written for an upstream.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum SchemaDialect {
    /// The subset that OpenAI accepts with `strict: true` (structured outputs: decoding is constrained to the schema).
    /// A tool whose schema would lose something is offered without `strict`, as with `openai`.
    OpenaiStrict,
    /// The subset that OpenAI accepts for any function: an object at the top level, `items` for every array, and
    /// regular expressions that OpenAI can compile.
    #[default]
    Openai,
    /// No `$ref`, for providers that reject it. Shared and recursive schemas are inlined to a bounded depth and size.
    Plain,
}

crate::labels!(SchemaDialect);
