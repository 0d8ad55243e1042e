//! Tests with valid and invalid model folders. Most require ONNX Runtime.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::LocalEmbedder;
use crate::embedding::{BuildError, Embedder, LocalSettings, Settings};
use callwright_test_macros::requires;

/// Content of a large file in a clone without Git LFS.
const LFS_POINTER: &str = "version https://git-lfs.github.com/spec/v1";

fn fixtures() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("tests/fixtures/embedding")
}

fn library() -> Option<PathBuf> {
    std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn open(folder: &Path) -> Result<LocalEmbedder, BuildError> {
    LocalEmbedder::open(folder, library().as_deref(), &settings())
}

fn settings() -> Settings {
    Settings {
        batch_texts: 2,
        fastembed: LocalSettings { threads: 1, ..LocalSettings::default() },
        ..Settings::default()
    }
}

/// Returns a copy of the tiny model's folder for modification.
fn copy() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fixtures().join("tiny").read_dir().unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

#[track_caller]
fn message_of_spoiled(spoil: impl FnOnce(&Path)) -> String {
    let folder = copy();
    spoil(folder.path());
    let message = open(folder.path()).unwrap_err().to_string();
    assert!(message.contains(&folder.path().display().to_string()), "{message}");
    message
}

async fn similarity(embedder: &LocalEmbedder, left: &str, right: &str) -> f32 {
    let vectors = embedder.embed(vec![left.to_owned(), right.to_owned()]).await.unwrap();
    vectors[0].cosine(&vectors[1])
}

#[requires(onnx_runtime)]
#[tokio::test]
async fn words_close_in_the_model_are_close() {
    let embedder = open(&fixtures().join("tiny")).unwrap();
    assert_eq!(embedder.dimensions(), 8);
    assert!(similarity(&embedder, "City", "town").await > 0.95);
    assert!(similarity(&embedder, "city", "rain").await < 0.8);
    assert!(similarity(&embedder, "city", "").await.abs() < 1e-6);
}

#[requires(onnx_runtime)]
#[tokio::test]
async fn a_vector_does_not_depend_on_its_batch() {
    let embedder = open(&fixtures().join("tiny")).unwrap();
    let long = "the weather of the city for the next five days ".repeat(20);
    let texts = ["rain", &long, "", "get user", "list"].map(str::to_owned);
    let together = embedder.embed(texts.to_vec()).await.unwrap();
    for (text, vector) in texts.into_iter().zip(together) {
        let alone = embedder.embed(vec![text]).await.unwrap();
        assert!(alone[0].components().iter().zip(vector.components()).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}

#[requires(onnx_runtime)]
#[test]
fn the_id_distinguishes_models_and_poolings() {
    let tiny = open(&fixtures().join("tiny")).unwrap();
    assert!(tiny.id().starts_with("tiny@") && tiny.id().ends_with("/mean"), "{}", tiny.id());
    let hash = |id: &str| id.split('@').nth(1).unwrap().to_owned();
    for name in ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"] {
        let folder = copy();
        let file = folder.path().join(name);
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "\n").unwrap();
        assert_ne!(hash(open(folder.path()).unwrap().id()), hash(tiny.id()), "{name}");
    }
}

#[requires(onnx_runtime)]
#[tokio::test]
async fn weights_in_a_file_of_their_own_are_found() {
    let folder = copy();
    std::fs::copy(fixtures().join("apart.onnx"), folder.path().join("model.onnx")).unwrap();
    std::fs::copy(fixtures().join("weights.bin"), folder.path().join("weights.bin")).unwrap();
    std::fs::write(folder.path().join("README.md"), "no weights").unwrap();
    // The model mentions this name, which is not a file.
    std::fs::create_dir(folder.path().join("Gather")).unwrap();
    let embedder = open(folder.path()).unwrap();
    assert!(similarity(&embedder, "city", "town").await > 0.95);
    let message = message_of_spoiled(|folder| {
        std::fs::copy(fixtures().join("apart.onnx"), folder.join("model.onnx")).unwrap();
    });
    assert!(message.contains("weights.bin"), "{message}");
}

#[requires(onnx_runtime)]
#[test]
fn a_file_that_is_missing_is_named() {
    for name in ["model.onnx", "tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"] {
        let message = message_of_spoiled(|folder| std::fs::remove_file(folder.join(name)).unwrap());
        assert!(message.contains(name), "{message}");
    }
}

#[requires(onnx_runtime)]
#[test]
fn a_file_of_something_else_is_named() {
    for (name, contents) in [
        ("model.onnx", &["", LFS_POINTER, "{}", "[1]"][..]),
        ("tokenizer.json", &["", LFS_POINTER, "{}", "[1]"]),
        ("config.json", &["", LFS_POINTER]),
        ("special_tokens_map.json", &["", LFS_POINTER]),
        ("tokenizer_config.json", &["", LFS_POINTER, "{}", "[1]"]),
    ] {
        for content in contents {
            message_of_spoiled(|folder| std::fs::write(folder.join(name), content).unwrap());
        }
    }
}

#[requires(onnx_runtime)]
#[test]
fn a_tokenizer_of_another_model_is_rejected() {
    let message = message_of_spoiled(|folder| {
        let file = folder.join("tokenizer.json");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("\"days\": 17", "\"days\": 17, \"foreign\": 18")).unwrap();
    });
    assert!(message.contains("number 18") && message.contains("different models"), "{message}");
    let far = |folder: &Path| {
        let file = folder.join("tokenizer.json");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("\"days\": 17", "\"days\": 17, \"foreign\": 400")).unwrap();
    };
    let message = message_of_spoiled(far);
    assert!(message.contains("number 400") && message.contains("different models"), "{message}");
    let message = message_of_spoiled(|folder| {
        far(folder);
        let file = folder.join("config.json");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("vocab_size", "other_size")).unwrap();
    });
    assert!(message.contains("different models"), "{message}");
}

#[requires(onnx_runtime)]
#[tokio::test]
async fn vectors_that_are_no_numbers_are_refused() {
    // The test texts of a new model contain the damaged token, so that it is rejected at once.
    let message = message_of_spoiled(|folder| {
        std::fs::copy(fixtures().join("not_a_number.onnx"), folder.join("model.onnx")).unwrap();
    });
    assert!(message.contains("non-finite"), "{message}");
}

#[requires(onnx_runtime)]
#[test]
fn an_output_that_is_no_vector_for_each_text_is_refused() {
    let message = message_of_spoiled(|folder| {
        std::fs::copy(fixtures().join("one_axis.onnx"), folder.join("model.onnx")).unwrap();
    });
    assert!(message.contains("shape"), "{message}");
}
