//! Test attribute [`macro@requires`]: a test whose service or data set is missing on this machine is reported as
//! *ignored*, with the reason.
//!
//! Owns the search for services (`build.rs`). Must not be a dependency of production code.

use std::path::Path;

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// Services with the text for the reason.
const SERVICES: [(&str, &str); 8] = [
    ("postgres", "PostgreSQL (Debian package `postgresql`)"),
    ("python_clients", "the packages of tests/clients/requirements.txt in target/venv"),
    ("node_clients", "the packages of tests/clients/node in target/node"),
    ("chromium", "Chromium (Debian package `chromium`)"),
    ("prometheus", "Prometheus (Debian package `prometheus`)"),
    ("faketime", "libfaketime (Debian package `faketime`)"),
    ("mount", "permission to mount a file system (`unshare --mount`)"),
    ("onnx_runtime", "ONNX Runtime (ORT_DYLIB_PATH)"),
];

/// Names of the available services, separated by spaces.
const AVAILABLE: &str = env!("CALLWRIGHT_TEST_SERVICES");

/// Folder of the shared data.
const DATA: &str = env!("CALLWRIGHT_TEST_DATA");

/// Ignores the test if something that it requires is missing when it is compiled: a service by its name
/// (`#[requires(postgres)]`), or a path in the folder that `CALLWRIGHT_SHARED_DATA` names
/// (`#[requires("data/specs")]`). Must precede `#[test]`.
#[proc_macro_attribute]
pub fn requires(requirements: TokenStream, item: TokenStream) -> TokenStream {
    if !item.clone().into_iter().any(|token| is_test_attribute(&token)) {
        return error("`#[requires(...)]` must precede the attribute `#[test]`");
    }
    let mut missing = Vec::new();
    for requirement in requirements {
        match missing_requirement(&requirement) {
            Ok(reason) => missing.extend(reason),
            Err(message) => return error(&message),
        }
    }
    let mut test = TokenStream::new();
    if !missing.is_empty() {
        let reason = format!("requires {}", missing.join(" and "));
        test.extend(parsed(&format!("#[ignore = {reason:?}]")));
    }
    test.extend(item);
    test
}

/// Whether the token is the content of `#[test]` or `#[tokio::test]`.
fn is_test_attribute(token: &TokenTree) -> bool {
    let TokenTree::Group(attribute) = token else { return false };
    let mut names = attribute.stream().into_iter();
    attribute.delimiter() == Delimiter::Bracket
        && names.any(|token| matches!(token, TokenTree::Ident(name) if name.to_string() == "test"))
}

/// Returns the text for the reason if the requirement is missing.
fn missing_requirement(requirement: &TokenTree) -> Result<Option<String>, String> {
    match requirement {
        TokenTree::Punct(comma) if comma.as_char() == ',' => Ok(None),
        TokenTree::Ident(name) => {
            let name = name.to_string();
            let Some((_, reason)) = SERVICES.iter().find(|(service, _)| *service == name) else {
                return Err(format!("`{name}` is not a known service"));
            };
            let is_available = AVAILABLE.split(' ').any(|available| available == name);
            Ok((!is_available).then(|| (*reason).to_owned()))
        }
        TokenTree::Literal(path) => {
            let path = path.to_string();
            let path = path.trim_matches('"');
            let is_available = Path::new(DATA).join(path).exists();
            Ok((!is_available).then(|| format!("{path} in the shared data (CALLWRIGHT_SHARED_DATA)")))
        }
        other => Err(format!("expected the name of a service or a path, found `{other}`")),
    }
}

fn error(message: &str) -> TokenStream {
    parsed(&format!("::core::compile_error!({message:?});"))
}

fn parsed(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
