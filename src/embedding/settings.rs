//! Which model of meaning there is, and how it is used.

use serde::{Deserialize, Serialize};

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
    /// The local model.
    pub fastembed: LocalSettings,
}

/// Where vectors come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Nowhere: everything that could use them goes on with words alone.
    None,
    /// A local ONNX model.
    Fastembed,
}

/// The `[embedding.fastembed]` table: a local ONNX model and the library that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalSettings {
    /// The folder with `model.onnx`, `tokenizer.json`, `config.json`, `special_tokens_map.json` and `tokenizer_config.json`.
    pub folder: String,
    /// How the vectors of a text's tokens become the text's, for models whose output is one vector a token.
    pub pooling: Pooling,
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

impl Default for Settings {
    fn default() -> Self {
        Self { kind: Kind::None, batch_texts: 32, max_text_chars: 8192, fastembed: LocalSettings::default() }
    }
}

impl Default for LocalSettings {
    fn default() -> Self {
        Self { folder: String::new(), pooling: Pooling::Mean, onnx_runtime: String::new(), threads: 0 }
    }
}
