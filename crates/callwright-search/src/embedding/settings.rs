//! Settings of embedding models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use callwright_types::Secret;

/// The `[embedding]` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Source of the vectors.
    pub kind: Kind,
    /// Maximum number of texts per run of a model, at least one.
    #[serde(skip)]
    pub batch_texts: usize,
    /// Maximum number of characters of a text that a model reads; the rest is cut off. Models read only a few hundred
    /// words anyway.
    #[serde(skip)]
    pub max_text_chars: usize,
    /// Whether vectors are cached in the store.
    pub cache: bool,
    /// Settings of the local model.
    pub fastembed: LocalSettings,
    /// Settings of the model behind an endpoint.
    pub endpoint: EndpointSettings,
}

/// Source of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// No vectors: all features use words only.
    None,
    /// The built-in table.
    Static,
    /// A local ONNX model.
    Fastembed,
    /// An OpenAI-compatible `/v1/embeddings`.
    Endpoint,
}

/// The `[embedding.fastembed]` table: a local ONNX model and the library that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LocalSettings {
    /// Folder with `model.onnx`, `tokenizer.json`, `config.json`, `special_tokens_map.json` and
    /// `tokenizer_config.json`.
    pub folder: String,
    /// Pooling of token vectors to a text's vector, for models that output one vector per token.
    pub pooling: Pooling,
    /// Library file of ONNX Runtime. If empty, the environment variable is used, then the usual folders.
    pub onnx_runtime: String,
    /// Number of threads per inference; 0 for one per core.
    pub threads: usize,
}

/// Pooling of token vectors to a text's vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Mean of the token vectors: MiniLM, mpnet, E5.
    Mean,
    /// The first token's vector, which represents the whole text: BGE, GTE, Arctic.
    Cls,
}

/// The `[embedding.endpoint]` table: an OpenAI-compatible API for vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EndpointSettings {
    /// Base URL of the API, including `/v1` if it has one.
    pub base_url: String,
    /// API key; if empty, none is sent.
    pub api_key: Secret,
    /// Header that carries the key: `authorization` sends `Bearer KEY`; any other, such as Azure's `api-key`, sends the
    /// bare key.
    pub api_key_header: String,
    /// Name of the model.
    pub model: String,
    /// Number of components of the model's vectors.
    pub dimensions: usize,
    /// File of PEM certificates that are trusted in addition to the system's; empty for none.
    pub ca_file: String,
    /// Timeout in seconds for connecting, including TLS.
    #[serde(skip)]
    pub connect_timeout_seconds: u64,
    /// Timeout in seconds for a request and its response, if no turn waits for it.
    #[serde(skip)]
    pub timeout_seconds: u64,
    /// Timeout in seconds for a request that a turn waits for, including retries; then the turn continues without it.
    #[serde(skip)]
    pub query_timeout_seconds: u64,
    /// Seconds after a failure in which turns send no request; 0 disables the pause.
    #[serde(skip)]
    pub pause_seconds: u64,
    /// Maximum number of retries after a failed connection. Other failures are not retried: a request that was sent may
    /// have been charged.
    #[serde(skip)]
    pub connect_retries: u32,
    /// Maximum size of a response in bytes; a larger one is an error.
    #[serde(skip)]
    pub max_answer_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kind: Kind::Static,
            batch_texts: 32,
            max_text_chars: 8192,
            cache: true,
            fastembed: LocalSettings::default(),
            endpoint: EndpointSettings::default(),
        }
    }
}

impl Default for LocalSettings {
    fn default() -> Self {
        Self { folder: String::new(), pooling: Pooling::Mean, onnx_runtime: String::new(), threads: 0 }
    }
}

impl Default for EndpointSettings {
    fn default() -> Self {
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            api_key: Secret::default(),
            api_key_header: "authorization".to_owned(),
            model: "text-embedding-3-small".to_owned(),
            dimensions: 1536,
            ca_file: String::new(),
            connect_timeout_seconds: 10,
            timeout_seconds: 60,
            query_timeout_seconds: 3,
            pause_seconds: 30,
            connect_retries: 2,
            max_answer_bytes: 16 * 1024 * 1024,
        }
    }
}
