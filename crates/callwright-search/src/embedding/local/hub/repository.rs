//! The repository and files of a model.

use fastembed::{EmbeddingModel, ModelInfo, TextEmbedding};

use crate::embedding::{BuildError, Pooling};

/// Files that are read in addition to the model, under these names.
const JSON_FILES: [&str; 4] = ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// Configuration key of the model.
const KEY: &str = "embedding.fastembed.model";

/// A model of a hub.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// `OWNER/NAME`.
    pub(super) name: String,
    /// Paths in the repository, and file names in the folder.
    pub(super) files: Vec<(String, String)>,
    /// Pooling of this model, if known.
    pub(super) pooling: Option<Pooling>,
    /// Name of the local folder.
    pub(super) folder: String,
}

impl Repository {
    /// Parses `OWNER/NAME` of a model known to fastembed, or `OWNER/NAME/PATH/TO/MODEL.onnx` of any model.
    pub(super) fn find(written: &str) -> Result<Self, BuildError> {
        let segments: Vec<&str> = written.split('/').collect();
        if segments.len() < 2 || !segments.iter().all(|segment| is_plain(segment)) {
            return Err(wrong(format!(
                "`{written}` is no model name; use OWNER/NAME or OWNER/NAME/PATH/TO/MODEL.onnx"
            )));
        }
        let known = TextEmbedding::list_supported_models();
        let listed = known.iter().find(|model| {
            let path = format!("{}/{}", model.model_code, model.model_file);
            model.model_code.eq_ignore_ascii_case(written) || path.eq_ignore_ascii_case(written)
        });
        match (listed, segments.as_slice()) {
            (Some(model), _) => Ok(Self::listed(model)),
            (None, [owner, name, path @ ..]) if path.last().is_some_and(|file| file.ends_with(".onnx")) => {
                Ok(Self::new(format!("{owner}/{name}"), &path.join("/"), &[], None))
            }
            _ => Err(unknown(written, &known)),
        }
    }

    fn listed(model: &ModelInfo<EmbeddingModel>) -> Self {
        let pooling = match TextEmbedding::get_default_pooling_method(&model.model) {
            Some(fastembed::Pooling::Cls) => Pooling::Cls,
            Some(fastembed::Pooling::Mean) | None => Pooling::Mean,
        };
        Self::new(model.model_code.clone(), &model.model_file, &model.additional_files, Some(pooling))
    }

    fn new(name: String, model: &str, weights: &[String], pooling: Option<Pooling>) -> Self {
        let beside = JSON_FILES.iter().map(|file| ((*file).to_owned(), (*file).to_owned()));
        let weights = weights.iter().map(|path| (path.clone(), path.rsplit('/').next().unwrap_or(path).to_owned()));
        let model_file = [(model.to_owned(), "model.onnx".to_owned())];
        let folder = format!("{name}/{model}").replace('/', "--");
        // The model is last: if it exists, all files do.
        Self { name, files: beside.chain(weights).chain(model_file).collect(), pooling, folder }
    }
}

/// Whether a segment can be part of a URL and of a file name without escaping.
fn is_plain(segment: &str) -> bool {
    !segment.is_empty()
        && !segment.starts_with('.')
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

fn unknown(written: &str, known: &[ModelInfo<EmbeddingModel>]) -> BuildError {
    let nearest = known.iter().max_by_key(|model| {
        let similarity = strsim::jaro_winkler(&model.model_code.to_lowercase(), &written.to_lowercase());
        // An ordered number: the similarity is between 0 and 1.
        (similarity * 1e6) as u32
    });
    let nearest = nearest.map(|model| model.model_code.clone()).unwrap_or_default();
    wrong(format!(
        "unknown text model `{written}` (the nearest is `{nearest}`); use OWNER/NAME/PATH/TO/MODEL.onnx for another, or put \
         its files into a folder and set `embedding.fastembed.folder` to it"
    ))
}

fn wrong(reason: String) -> BuildError {
    BuildError::setting(KEY, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_models_are_resolved_by_name() {
        let found = Repository::find("qdrant/all-minilm-l6-v2-onnx").unwrap();
        assert_eq!(found.name, "Qdrant/all-MiniLM-L6-v2-onnx");
        assert_eq!(found.pooling, Some(Pooling::Mean));
        assert_eq!(found.files.last().unwrap().1, "model.onnx");
        assert_eq!(found.files.len(), 5);
        let quantised = Repository::find("nomic-ai/nomic-embed-text-v1.5/onnx/model_quantized.onnx").unwrap();
        assert_eq!(quantised.files.last().unwrap().0, "onnx/model_quantized.onnx");
        assert!(Repository::find("Qdrant/multilingual-e5-large-onnx").is_ok_and(|model| model.files.len() > 5));
    }

    #[test]
    fn any_other_model_is_named_by_its_file() {
        let found = Repository::find("me/mine/onnx/small.onnx").unwrap();
        assert_eq!(found.files.last().unwrap(), &("onnx/small.onnx".to_owned(), "model.onnx".to_owned()));
        assert_eq!((found.folder.as_str(), found.pooling), ("me--mine--onnx--small.onnx", None));
    }

    #[test]
    fn an_invalid_name_has_no_repository() {
        for written in
            ["", "minilm", "../../etc/x.onnx", "a/../b.onnx", "a//b.onnx", "a/b?c.onnx", "a/b%2f.onnx", "/a/b"]
        {
            let message = Repository::find(written).unwrap_err().to_string();
            assert!(message.contains("OWNER/NAME"), "{written}: {message}");
        }
        let message = Repository::find("Qdrant/all-MiniLM-L6-onnx").unwrap_err().to_string();
        assert!(message.contains("Qdrant/all-MiniLM-L6-v2-onnx"), "{message}");
    }
}
