//! Checks README.md and the guides: their configuration files are valid, and their commands exist.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use callwright::config;
use callwright_memory::representation::RepresentationFile;
use callwright_policy::{PolicyBook, Settings};

/// Pages whose code blocks are checked.
const PAGES: &[&str] = &[
    "README.md", "docs/command-line.md", "docs/configuration.md", "docs/getting-started.md", "docs/integrations.md",
    "docs/policies.md", "docs/toolsets.md",
];

/// Maximum number of words of README.md.
const README_WORDS: usize = 1_000;

fn text_of_pages() -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    PAGES.iter().map(|page| std::fs::read_to_string(root.join(page)).unwrap()).collect()
}

/// Returns the fenced blocks of a language; blocks without one have an empty language.
fn blocks(language: &str) -> Vec<String> {
    let text = text_of_pages();
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(opening), None) => open = Some((opening.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, block))) => *block += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "an unclosed block");
    blocks.into_iter().filter(|(name, _)| name == language).map(|(_, block)| block).collect()
}

#[test]
fn configurations_are_valid() {
    let blocks = blocks("toml");
    assert!(!blocks.is_empty());
    let environment = |_: &str| Some(OsString::from("value"));
    for block in blocks {
        config::parse(&block, Path::new("."), &environment).unwrap_or_else(|error| panic!("{block}\n{error}"));
    }
}

#[test]
fn policies_are_valid() {
    let blocks = blocks("yaml");
    assert!(!blocks.is_empty());
    for block in blocks.into_iter().filter(|block| !is_representation(block)) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shown.yaml"), &block).unwrap();
        std::fs::write(folder.path().join("default.yaml"), "name: default\n").unwrap();
        let settings = Settings { directory: folder.path().display().to_string(), ..Settings::default() };
        let book = PolicyBook::load(&settings, Path::new(".")).unwrap_or_else(|error| panic!("{block}\n{error}"));
        assert_eq!(book.policies().count(), 2);
    }
}

#[test]
fn json_is_valid() {
    let blocks = blocks("json");
    assert!(!blocks.is_empty());
    for block in blocks {
        serde_json::from_str::<serde_json::Value>(&block).unwrap_or_else(|error| panic!("{block}\n{error}"));
    }
}

#[test]
fn representations_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shown.yaml");
    let mut shown = blocks("yaml");
    shown.retain(|block| is_representation(block));
    assert!(!shown.is_empty());
    for block in shown {
        std::fs::write(&path, &block).unwrap();
        let file = RepresentationFile::read(&path).unwrap_or_else(|error| panic!("{block}\n{error}"));
        assert!(!file.tools.is_empty());
    }
}

fn is_representation(block: &str) -> bool {
    block.starts_with("tools:")
}

/// Checks that every `callwright VERB` in a block exists and accepts the options shown with it.
#[test]
fn commands_exist() {
    let mut commands = 0;
    // `docs/run` runs those in `sh` as well.
    let blocks: Vec<String> = ["", "sh"].into_iter().flat_map(blocks).collect();
    for line in blocks.iter().flat_map(|block| block.lines()) {
        let Some((_, arguments)) = line.split_once("callwright ").filter(|(before, _)| !before.contains(':')) else {
            continue;
        };
        let words: Vec<&str> = arguments.split_whitespace().map(|word| word.trim_matches(['[', ']', ';'])).collect();
        let verbs = words.iter().take_while(|word| word.chars().all(|letter| letter.is_ascii_lowercase()));
        let help = Command::new(env!("CARGO_BIN_EXE_callwright")).args(verbs).arg("--help").output().unwrap();
        assert!(help.status.success(), "{line}: {}", String::from_utf8_lossy(&help.stderr));
        let help = String::from_utf8(help.stdout).unwrap();
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(*option), "{line}: {option} is not in\n{help}");
        }
        commands += 1;
    }
    assert!(commands > 0);
}

#[test]
fn the_readme_is_short_and_its_pictures_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let words = readme.split_whitespace().count();
    assert!(words <= README_WORDS, "{words} words");
    let pictures: Vec<&str> =
        readme.split("](docs/images/").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(!pictures.is_empty());
    for picture in pictures {
        assert!(root.join("docs/images").join(picture).is_file(), "{picture} does not exist");
    }
}
