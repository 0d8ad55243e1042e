//! Which model of meaning there is, and how it is used.

use serde::{Deserialize, Serialize};

use callwright_types::Secret;

/// The `[embedding]` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where vectors come from.
    pub kind: Kind,
    /// Texts that a model is given at a time, at least one.
    pub batch_texts: usize,
    /// Characters of a text that a model is given; the rest is cut off. Models read no further than some hundred words anyway.
    pub max_text_chars: usize,
    /// Are vectors kept in the store?
    pub cache: bool,
    /// The local model.
    pub fastembed: LocalSettings,
    /// The model behind an endpoint.
    pub endpoint: EndpointSettings,
}

/// Where vectors come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Nowhere: everything that could use them goes on with words alone.
    None,
    /// The table that comes with the program.
    Static,
    /// A local ONNX model.
    Fastembed,
    /// An OpenAI-compatible `/v1/embeddings`.
    Endpoint,
}

/// The `[embedding.fastembed]` table: a local ONNX model and the library that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalSettings {
    /// The folder with `model.onnx`, `tokenizer.json`, `config.json`, `special_tokens_map.json` and `tokenizer_config.json`. Empty: `model`.
    pub folder: String,
    /// The model of a hub, `OWNER/NAME` or `OWNER/NAME/PATH/TO/MODEL.onnx`.
    pub model: String,
    /// How the vectors of a text's tokens become the text's, for models whose output is one vector a token. Of a `model` that fastembed
    /// knows, its own way is taken.
    pub pooling: Pooling,
    /// The folder that models of a hub are kept in.
    pub cache: String,
    /// The hub.
    pub hub_url: String,
    /// A token of the hub, for models that ask for one.
    pub hub_token: Secret,
    /// Seconds of silence after which a download is given up.
    pub hub_timeout_seconds: u64,
    /// Bytes of the largest model that is fetched, all files together.
    pub max_model_bytes: u64,
    /// The library file of ONNX Runtime. Empty: what the environment says, then the usual places.
    pub onnx_runtime: String,
    /// Threads that one inference uses; 0: one for each core.
    pub threads: usize,
}

/// How the vectors of a text's tokens become the text's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Their mean: MiniLM, mpnet, E5.
    Mean,
    /// The first one, which stands for the whole text: BGE, GTE, Arctic.
    Cls,
}

/// The `[embedding.endpoint]` table: an OpenAI-compatible API for vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndpointSettings {
    /// Where the API begins, `/v1` included where it has one.
    pub base_url: String,
    /// The key; empty: none is sent.
    pub api_key: Secret,
    /// The header that carries it: `authorization` sends `Bearer KEY`; any other, such as Azure's `api-key`, the bare key.
    pub api_key_header: String,
    /// The model's name.
    pub model: String,
    /// Components of its vectors.
    pub dimensions: usize,
    /// A file of PEM certificates that are trusted besides the system's; empty for none.
    pub ca_file: String,
    /// Seconds to make a connection, TLS included.
    pub connect_timeout_seconds: u64,
    /// Seconds for a request with its answer, where no turn waits for it.
    pub timeout_seconds: u64,
    /// Seconds for a request that a turn waits for, retries included; then it goes on without.
    pub query_timeout_seconds: u64,
    /// Seconds after a failure in which no turn asks again; 0: the next one does.
    pub pause_seconds: u64,
    /// How often a connection that could not be made is tried again. Nothing else is: a request that was sent may have been paid for.
    pub connect_retries: u32,
    /// Bytes of the largest answer; a longer one is an error.
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
        Self {
            folder: String::new(),
            model: "Qdrant/all-MiniLM-L6-v2-onnx".to_owned(),
            pooling: Pooling::Mean,
            cache: "models".to_owned(),
            hub_url: "https://huggingface.co".to_owned(),
            hub_token: Secret::default(),
            hub_timeout_seconds: 60,
            max_model_bytes: 4 * 1024 * 1024 * 1024,
            onnx_runtime: String::new(),
            threads: 0,
        }
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
