//! A model folder in the layout of fastembed.

use std::path::Path;

use fastembed::{TokenizerFiles, UserDefinedEmbeddingModel};
use memchr::memmem;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::BuildError;
use callwright_common::digest::{add_part, hex};

/// Number of hexadecimal digits of the hash that distinguishes models of the same name.
const HASH_DIGITS: usize = 16;

/// File of the model with its weights.
const MODEL: &str = "model.onnx";

/// The operator with which a model determines the scale of its numbers at run time (ONNX operator
/// `DynamicQuantizeLinear`).
const DYNAMIC_SCALE: &[u8] = b"DynamicQuantizeLinear";

/// Contents of a model folder.
pub(super) struct ModelFiles {
    pub(super) model: UserDefinedEmbeddingModel,
    /// Name of the folder and a hash of all data that determines the vectors.
    pub(super) id: String,
    /// Vocabulary size according to `config.json`; 0 if it is not specified.
    pub(super) vocabulary: u64,
    /// Whether the model scales its numbers over all texts of a batch. If so, the texts of one batch affect each
    /// other's vectors.
    pub(super) mixes_batches: bool,
}

impl ModelFiles {
    /// Reads the folder.
    pub(super) fn open(folder: &Path) -> Result<Self, BuildError> {
        let model_file = read_file(folder, MODEL)?;
        let tokenizer_files = TokenizerFiles {
            tokenizer_file: read_file(folder, "tokenizer.json")?,
            config_file: read_file(folder, "config.json")?,
            special_tokens_map_file: read_file(folder, "special_tokens_map.json")?,
            tokenizer_config_file: read_file(folder, "tokenizer_config.json")?,
        };
        let config: Value = serde_json::from_slice(&tokenizer_files.config_file).map_err(|error| {
            let reason = format!("is not JSON ({error}); use the file that was published with the model");
            BuildError::file(folder.join("config.json"), reason)
        })?;
        let mut hash = Sha256::new();
        for part in [
            &model_file, &tokenizer_files.tokenizer_file, &tokenizer_files.config_file,
            &tokenizer_files.special_tokens_map_file, &tokenizer_files.tokenizer_config_file,
        ] {
            add_part(&mut hash, part);
        }
        let mixes_batches = memmem::find(&model_file, DYNAMIC_SCALE).is_some();
        let weights = weight_files(folder, &model_file)?;
        let mut model = UserDefinedEmbeddingModel::new(model_file, tokenizer_files);
        for name in weights {
            let content = read_file(folder, &name)?;
            add_part(&mut hash, &content);
            model = model.with_external_initializer(name, content);
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let hash = hex(&hash.finalize());
        let hash = hash.get(..HASH_DIGITS).unwrap_or(&hash);
        let vocabulary = config.get("vocab_size").and_then(Value::as_u64).unwrap_or_default();
        Ok(Self { model, id: format!("{name}@{hash}"), vocabulary, mixes_batches })
    }
}

fn read_file(folder: &Path, name: &str) -> Result<Vec<u8>, BuildError> {
    let file = folder.join(name);
    std::fs::read(&file).map_err(|error| {
        let reason = format!("{error}; a model's folder contains model.onnx and the four JSON files published with it");
        BuildError::file(file, reason)
    })
}

/// Returns the names of the model's external weight files (ONNX external data): those that the model mentions. They are
/// sorted, so that the hash does not depend on the file system.
fn weight_files(folder: &Path, model: &[u8]) -> Result<Vec<String>, BuildError> {
    let entries = folder.read_dir().map_err(|error| BuildError::file(folder, error))?;
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let names = files.map(|entry| entry.file_name()).filter_map(|name| name.into_string().ok());
    let mut found: Vec<String> =
        names.filter(|name| name != MODEL && memmem::find(model, name.as_bytes()).is_some()).collect();
    found.sort();
    Ok(found)
}
