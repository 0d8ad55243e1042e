//! Writes the requests of the executor for generated arguments, as input of a validator: see `bench/requests/run`.

mod arguments;
mod effective;
mod generator;
mod numbers;
mod texts;
mod written;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// Generates requests from the listed documents, one JSON Lines file per document.
#[derive(Parser)]
struct Arguments {
    /// File with one document path per line, relative to `--documents`.
    #[arg(long)]
    list: PathBuf,
    /// Folder of the documents.
    #[arg(long)]
    documents: PathBuf,
    /// Output folder: `N.jsonl` for the document on line N (from 0), and `summary.json`.
    #[arg(long)]
    out: PathBuf,
    /// Seed of the random number generator.
    #[arg(long, default_value_t = 4)]
    seed: u64,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            anstream::eprintln!("requests: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let in_file = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let list = fs::read_to_string(&arguments.list).map_err(|error| in_file(&arguments.list, error))?;
    fs::create_dir_all(&arguments.out).map_err(|error| in_file(&arguments.out, error))?;
    let mut documents = Vec::new();
    for (index, file) in list.lines().enumerate() {
        let out = arguments.out.join(format!("{index}.jsonl"));
        let seed = arguments.seed.wrapping_add(index as u64);
        let document = written::write(file, &arguments.documents, seed, &out).map_err(|error| in_file(&out, error))?;
        documents.push(document);
    }
    let summary = arguments.out.join("summary.json");
    let text = serde_json::to_string(&documents).map_err(|error| error.to_string())?;
    fs::write(&summary, text).map_err(|error| in_file(&summary, error))
}
