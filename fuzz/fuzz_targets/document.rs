//! Loads arbitrary bytes as a document: loading terminates, and the tools satisfy the invariants of the catalog.
//!
//! Input: a document, then further files that it may reference, separated by zero bytes.
#![no_main]

use std::collections::HashSet;

use callwright_openapi::{DocumentLimits, Fetch, FetchBounds, FetchedFile, Origin, ToolsetSettings, load_from};
use libfuzzer_sys::fuzz_target;
use url::Url;

/// Maximum length of a tool name in characters that providers accept.
const MAX_NAME_CHARS: usize = 64;

/// Maximum number of files of one document. The input's files exist at every address, so a document could otherwise
/// reference files up to the default limit.
const MAX_FILES: usize = 16;

fuzz_target!(|input: &[u8]| {
    let files = Files(input.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect());
    let url = Url::parse("https://api.example.com/docs/0.yaml").expect("a URL");
    let limits = DocumentLimits { files: MAX_FILES, ..DocumentLimits::default() };
    let settings = ToolsetSettings { allow_remote_refs: true, limits, ..ToolsetSettings::default() };
    let Ok(toolset) = load_from("fuzz", Origin::Url(&url), &settings, &files) else { return };
    assert_eq!(toolset.report.operations_loaded, toolset.operations.len());
    let mut names = HashSet::new();
    for operation in &toolset.operations {
        let tool = &operation.tool;
        let letters = tool.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        assert!(letters && (1..=MAX_NAME_CHARS).contains(&tool.name.len()), "no name for a tool: {:?}", tool.name);
        assert!(names.insert(&tool.name), "two tools are called {}", tool.name);
        assert_eq!(tool.parameters["type"], "object", "arguments are an object");
        let arguments: HashSet<&str> = operation.bindings.iter().map(|binding| binding.argument.as_str()).collect();
        assert_eq!(arguments.len(), operation.bindings.len(), "one argument for two parameters of {}", tool.name);
        for server in &operation.servers {
            assert!(matches!(server.scheme(), "http" | "https") && server.has_host(), "no server: {server}");
        }
    }
    for skipped in &toolset.report.operations_skipped {
        assert!(!skipped.reason.is_empty(), "{} is skipped without a reason", skipped.operation);
    }
});

/// Files of the input: a numeric reference selects the file of that number, any other the last one.
struct Files(Vec<Vec<u8>>);

impl Fetch for Files {
    fn fetch(&self, url: &Url, bounds: FetchBounds) -> Result<FetchedFile, String> {
        let digits: String = url.path().chars().filter(char::is_ascii_digit).take(3).collect();
        let number = digits.parse().unwrap_or(usize::MAX);
        let bytes = self.0.get(number).or(self.0.last()).filter(|bytes| bytes.len() as u64 <= bounds.bytes);
        let bytes = bytes.cloned().ok_or_else(|| "too large".to_owned())?;
        Ok(FetchedFile { url: url.clone(), bytes, etag: None, last_modified: None })
    }
}
