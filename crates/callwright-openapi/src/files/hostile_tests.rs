//! Malicious references: each affects only what refers to it, and no forbidden file is read.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::{Toolset, ToolsetSettings, load_document};

/// A secret that must not appear in any report.
const CANARY: &str = "canary-4711";

/// Creates a folder with a secret beside the folder `api` of the document.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let secret = format!("get: {{operationId: {CANARY}, description: {CANARY}}}\nenviron: {CANARY}\n");
    fs::create_dir(folder.path().join("api")).unwrap();
    fs::write(folder.path().join("secret.yaml"), secret).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join("api").join(name), text).unwrap();
    }
    folder
}

fn load(folder: &TempDir, settings: &ToolsetSettings) -> Toolset {
    load_document("api", &folder.path().join("api/api.json"), settings).unwrap()
}

/// Loads a document with a valid operation and one operation for each reference. Returns the reasons for skipped
/// operations; the valid one must not be among them.
fn reasons_with(folder: &TempDir, references: &[&str], settings: &ToolsetSettings) -> Vec<String> {
    let mut paths = serde_json::Map::from_iter([("/sound".to_owned(), json!({"get": {"operationId": "sound"}}))]);
    paths.extend(references.iter().enumerate().map(|(at, reference)| (format!("/{at}"), json!({"$ref": reference}))));
    fs::write(folder.path().join("api/api.json"), json!({"openapi": "3.0.0", "paths": paths}).to_string()).unwrap();
    let toolset = load(folder, settings);
    assert!(toolset.operation("sound").is_some());
    assert!(!format!("{toolset:?}").contains(CANARY));
    toolset.report.operations_skipped.into_iter().map(|skipped| skipped.reason).collect()
}

fn reason(folder: &TempDir, reference: &str) -> String {
    let reasons = reasons_with(folder, &[reference], &ToolsetSettings::default());
    assert_eq!(reasons.len(), 1, "{reference} was followed");
    reasons.into_iter().next().unwrap()
}

#[test]
fn a_file_url_of_the_system_is_not_read() {
    for reference in
        ["file:///etc/passwd", "file:/etc/passwd", "FILE:///etc/passwd", "file://localhost/etc/passwd", "/etc/passwd"]
    {
        assert!(reason(&folder(&[]), reference).contains("is outside"), "{reference}");
    }
}

#[test]
fn a_file_url_of_another_machine_is_not_read() {
    assert!(reason(&folder(&[]), "file://server/share/x.yaml").contains("refers to a file on another machine"));
}

#[test]
fn the_environment_of_the_process_is_not_read() {
    for reference in ["/proc/self/environ", "file:///proc/self/environ#/x", "../../../../../../../../proc/self/environ"]
    {
        assert!(reason(&folder(&[]), reference).contains("is outside"), "{reference}");
    }
}

#[test]
fn a_path_out_of_the_root_is_not_followed() {
    for reference in ["../secret.yaml", "x/../../secret.yaml", "./.././secret.yaml", "..//secret.yaml"] {
        assert!(reason(&folder(&[]), reference).contains("is outside"), "{reference}");
    }
}

#[test]
fn an_encoded_path_out_of_the_root_is_not_followed() {
    for reference in
        ["%2e%2e/secret.yaml", "..%2fsecret.yaml", "%2E%2E%2Fsecret.yaml", "..%5csecret.yaml", "..\\secret.yaml"]
    {
        assert!(reason(&folder(&[]), reference).contains("is outside"), "{reference}");
    }
    // Doubly encoded, it is just an unusual file name.
    assert!(reason(&folder(&[]), "%252e%252e/secret.yaml").contains("cannot be read"));
}

#[cfg(unix)]
#[test]
fn links_of_files_and_of_folders_do_not_lead_out_of_the_root() {
    let folder = folder(&[]);
    let api = folder.path().join("api");
    std::os::unix::fs::symlink("../secret.yaml", api.join("link.yaml")).unwrap();
    std::os::unix::fs::symlink("..", api.join("up")).unwrap();
    std::os::unix::fs::symlink("/", api.join("top")).unwrap();
    std::os::unix::fs::symlink("/proc/self/environ", api.join("environ.yaml")).unwrap();
    for reference in ["link.yaml", "up/secret.yaml", "environ.yaml", "top/proc/self/environ.yaml"] {
        let reason = reason(&folder, reference);
        assert!(reason.contains("is outside") || reason.contains("cannot be read"), "{reference}: {reason}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = folder(&[]);
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("api/pipe.yaml")).status();
    assert!(made.unwrap().success());
    assert!(reason(&folder, "pipe.yaml").contains("it is not a regular file"));
    assert_eq!(crate::discover(&folder.path().join("api")).unwrap().documents.len(), 1);
}

#[cfg(unix)]
#[test]
fn a_device_without_end_is_not_read() {
    let folder = folder(&[]);
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("api/zero.yaml")).unwrap();
    // Even if the operator allows references to all files.
    let settings = ToolsetSettings { root: "/".to_owned(), ..ToolsetSettings::default() };
    let reasons = reasons_with(&folder, &["zero.yaml"], &settings);
    assert!(reasons[0].contains("it is not a regular file"), "{reasons:?}");
}

#[test]
fn a_folder_is_no_file() {
    let folder = folder(&[]);
    fs::create_dir(folder.path().join("api/d.yaml")).unwrap();
    assert!(reason(&folder, "d.yaml").contains("it is not a regular file"));
}

#[test]
fn a_file_above_the_document_limit_is_not_read_whole() {
    let folder = folder(&[]);
    // A sparse file, which needs no disk space.
    fs::File::create(folder.path().join("api/vast.yaml")).unwrap().set_len(1 << 40).unwrap();
    let mut settings = ToolsetSettings::default();
    settings.limits.document_bytes = 100_000;
    let reasons = reasons_with(&folder, &["vast.yaml"], &settings);
    assert!(reasons[0].contains("raise `limits.document_bytes`"), "{reasons:?}");
}

#[test]
fn an_alias_bomb_affects_only_its_references() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        laughs.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    assert!(
        reason(&folder(&[("laughs.yaml", &laughs)]), "laughs.yaml#/a11").contains("cannot be parsed: invalid YAML")
    );
}

#[test]
fn excessive_nesting_affects_only_its_references() {
    let deep = "{\"a\":".repeat(100_000);
    let text = format!("{deep}1{}", "}".repeat(100_000));
    assert!(reason(&folder(&[("deep.json", &text)]), "deep.json#/a/a").contains("cannot be parsed"));
}

#[test]
fn a_pointer_into_a_scalar_has_no_target() {
    let folder = folder(&[("parts.yaml", "text: abc\nnumber: 12\nlist: [a]\n")]);
    for pointer in ["/text/0", "/number/x", "/list/1", "/list/-", "/list/18446744073709551616", "text", "/%ff"] {
        assert!(reason(&folder, &format!("parts.yaml#{pointer}")).contains("has no target"), "{pointer}");
    }
}

#[test]
fn a_chain_over_more_files_than_are_allowed_ends() {
    let folder = folder(&[]);
    let files = ToolsetSettings::default().limits.files + 10;
    for number in 0..files {
        let next = format!("a: {{$ref: '{}.yaml#/a'}}\n", number + 1);
        fs::write(folder.path().join(format!("api/{number}.yaml")), next).unwrap();
    }
    let reason = reason(&folder, "0.yaml#/a");
    assert!(reason.contains("$ref"), "{reason}");
    assert_eq!(load(&folder, &ToolsetSettings::default()).other_files.len(), files - 10);
}

#[test]
fn circles_over_files_and_of_a_file_with_itself_end() {
    let folder = folder(&[
        ("a.yaml", "x: {$ref: 'b.yaml#/x'}\n"),
        ("b.yaml", "x: {$ref: 'a.yaml#/x'}\n"),
        ("c.yaml", "$ref: c.yaml\n"),
        ("d.yaml", "get: {$ref: 'd.yaml'}\n"),
    ]);
    for reference in ["a.yaml#/x", "c.yaml"] {
        assert!(reason(&folder, reference).contains("is circular"), "{reference}");
    }
    // A `$ref` in an operation is ignored, so the operation is empty.
    let reasons = reasons_with(&folder, &["d.yaml"], &ToolsetSettings::default());
    assert_eq!(reasons, Vec::<String>::new());
}

#[test]
fn other_schemes_than_http_are_not_followed() {
    for reference in [
        "ftp://example.com/a.yaml", "data:application/json,{}", "gopher://127.0.0.1:70/x", "jar:file:///x!/y",
        "urn:a:b",
    ] {
        assert!(reason(&folder(&[]), reference).contains("which is not followed"), "{reference}");
    }
}

#[test]
fn remote_files_are_not_fetched_unless_that_is_allowed() {
    for reference in ["http://169.254.169.254/latest/meta-data", "https://example.com/a.yaml", "//example.com/a.yaml"] {
        assert!(reason(&folder(&[]), reference).contains("set the toolset's `allow_remote_refs`"), "{reference}");
    }
}

#[test]
fn a_missing_document_is_named() {
    let error = load_document("api", Path::new("absent/api.json"), &ToolsetSettings::default()).unwrap_err();
    assert!(error.to_string().contains("absent/api.json: cannot be read"), "{error}");
}
