//! `callwright check` as called by a person or a pipeline: findings, their texts and positions, and the exit status.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use crate::support::verb::{Folder, Said, json_lines};
use serde_json::{Value, json};

/// Returns a document without findings.
fn whole() -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Orders", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": {"/orders/{id}": {"get": {
            "operationId": "getOrder",
            "description": "Gives one order with its items.",
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"},
                "description": "The number on the invoice."}],
            "responses": {"200": {"description": "It."}, "404": {"description": "No order has this number."}}
        }}}
    })
}

/// Returns the same document with an operation that cannot become a tool.
fn with_a_skipped_operation() -> Value {
    let mut document = whole();
    document["paths"]["/orders"] = json!({"delete": 3});
    document
}

fn bytes(document: &Value) -> Vec<u8> {
    document.to_string().into_bytes()
}

fn check(folder: &Folder, options: &[&str]) -> Said {
    folder.run(&[&["check"], options].concat(), b"")
}

fn text(said: &Said) -> &str {
    std::str::from_utf8(&said.stdout).unwrap()
}

fn files(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["file"].as_str().unwrap()).collect()
}

#[test]
fn a_line_has_exactly_the_documented_members() {
    let folder = Folder::with(&[("api.json", &bytes(&with_a_skipped_operation()))]);
    let said = check(&folder, &["--format", "json", "api.json"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let [line] = said.lines().try_into().unwrap();
    let members: Vec<&String> = line.as_object().unwrap().keys().collect();
    let documented = [
        "file", "operations_loaded", "operations_skipped", "renamed", "simplified", "error", "advice", "hidden", "path",
    ];
    assert_eq!(members, documented);
    assert_eq!(
        (&line["file"], &line["operations_loaded"], &line["error"]),
        (&json!("api.json"), &json!(1), &json!(null))
    );
    let skipped =
        json!([{"operation": "DELETE /orders", "reason": "api.json:1 #/paths/~1orders/delete is not an object"}]);
    assert_eq!(line["operations_skipped"], skipped);
    assert_eq!(line["advice"], json!([]));
}

#[test]
fn every_version_and_both_syntaxes_are_read() {
    let yaml =
        b"swagger: '2.0'\nhost: a.example\nschemes: [https]\npaths:\n  /a:\n    get: {operationId: a, responses: {}}\n";
    let mut newer = whole();
    newer["openapi"] = json!("3.1.0");
    let folder = Folder::with(&[("2.yml", yaml), ("30.json", &bytes(&whole())), ("31.JSON", &bytes(&newer))]);
    let said = check(&folder, &["--format", "json", "."]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let lines = said.lines();
    assert_eq!(files(&lines), ["2.yml", "30.json", "31.JSON"]);
    assert!(lines.iter().all(|line| line["operations_loaded"] == 1), "{lines:?}");
}

#[test]
fn a_folder_gives_its_documents_in_order_and_skips_other_files() {
    let referring = br#"{"openapi": "3.0.0", "paths": {"/a": {"$ref": "parts/a.yaml"}}}"#;
    let folder = Folder::with(&[
        ("z.json", &bytes(&whole())),
        ("b.json", referring),
        ("broken.yaml", b"openapi: 3.0.0\npaths: [\n"),
        ("README.md", b"openapi: 3.0.0"),
        ("package.json", br#"{"name": "x"}"#),
        ("data.json", b"{"),
    ]);
    fs::create_dir(folder.path("parts")).unwrap();
    fs::write(folder.path("parts/a.yaml"), "get: {operationId: a}\n").unwrap();
    let said = check(&folder, &["--format", "json", "."]);
    assert_eq!(said.status, Some(1));
    assert_eq!(said.stderr, "callwright: 1 of 3 documents could not be loaded; see their reports for the reasons\n");
    let lines = said.lines();
    assert_eq!(files(&lines), ["b.json", "broken.yaml", "z.json"]);
    assert_eq!(lines[0]["operations_loaded"], 1, "{}", lines[0]);
    assert!(lines[1]["error"].is_string() && lines[1]["operations_loaded"] == 0, "{}", lines[1]);
}

#[test]
fn what_is_named_is_reported_whatever_it_is() {
    let folder = Folder::with(&[("package.json", br#"{"name": "x"}"#), ("notes.txt", b"words"), ("empty.json", b"")]);
    let said = check(&folder, &["--format", "json", "package.json", "notes.txt", "empty.json", "absent.json"]);
    assert_eq!(said.status, Some(1));
    let lines = said.lines();
    assert_eq!(files(&lines), ["package.json", "notes.txt", "empty.json", "absent.json"]);
    let error = |line: usize| lines[line]["error"].as_str().unwrap();
    assert!(error(0).contains("not an OpenAPI document") && error(1).contains("not an OpenAPI document"), "{lines:?}");
    assert!(error(3).starts_with("absent.json: cannot be read"), "{}", error(3));
}

#[test]
fn files_of_several_folders_are_named_and_found_by_their_paths() {
    let folder = Folder::with(&[("list", b"one\ntwo/api.json\n")]);
    for name in ["one", "two"] {
        fs::create_dir(folder.path(name)).unwrap();
        fs::write(folder.path(name).join("api.json"), bytes(&whole())).unwrap();
    }
    let places = |said: &Said| {
        let place = |line: &Value| format!("{} {}", line["file"].as_str().unwrap(), line["path"].as_str().unwrap());
        said.lines().iter().map(place).collect::<Vec<_>>()
    };
    let said = check(&folder, &["--format", "json", "one", "two"]);
    assert_eq!(places(&said), ["api.json one/api.json", "api.json two/api.json"]);
    let shown = check(&folder, &["one", "two"]);
    assert!(text(&shown).contains("one/api.json") && text(&shown).contains("two/api.json"), "{}", text(&shown));
    let listed = check(&folder, &["--format", "json", "--files-from", "list"]);
    assert_eq!(places(&listed), ["api.json one/api.json", "two/api.json two/api.json"]);
}

#[test]
fn standard_input_is_a_document_or_a_list() {
    let folder = Folder::with(&[("api.json", &bytes(&whole()))]);
    let document = folder.run(&["check", "--format", "json", "-"], &bytes(&whole()));
    let [line] = document.lines().try_into().unwrap();
    assert_eq!((&line["file"], &line["operations_loaded"]), (&json!("-"), &json!(1)), "{line}");
    let listed = folder.run(&["check", "--format", "json", "--files-from", "-"], b"api.json\n");
    assert_eq!(files(&listed.lines()), ["api.json"]);
    let both = folder.run(&["check", "-", "--files-from", "-"], b"");
    assert!(both.status == Some(1) && both.stderr.contains("standard input cannot be"), "{}", both.stderr);
}

#[test]
fn a_document_at_standard_input_uses_the_working_folder() {
    let folder = Folder::with(&[("part.yaml", b"get: {operationId: a}\n")]);
    let document = br#"{"openapi": "3.0.0", "paths": {"/a": {"$ref": "part.yaml"}}}"#;
    let said = folder.run(&["check", "--format", "json", "-"], document);
    assert_eq!(said.lines()[0]["operations_loaded"], 1, "{:?}", said.lines());
}

#[test]
fn documents_refer_to_files_below_the_given_or_own_folder() {
    let folder = Folder::with(&[("part.yaml", b"get: {operationId: a}\n")]);
    fs::create_dir(folder.path("api")).unwrap();
    let document = r#"{"openapi": "3.0.0", "paths": {"/a": {"$ref": "../part.yaml"}}}"#;
    fs::write(folder.path("api/api.json"), document).unwrap();
    let loaded = |options: &[&str]| check(&folder, options).lines()[0]["operations_loaded"].clone();
    assert_eq!(loaded(&["--format", "json", "."]), 1);
    assert_eq!(loaded(&["--format", "json", "api/api.json"]), 0);
    assert_eq!(loaded(&["--format", "json", "api"]), 0);
}

#[test]
fn parameters_that_are_not_offered_are_listed_with_the_reason() {
    let mut document = whole();
    let query = |name: &str, schema: Value| json!({"name": name, "in": "query", "required": true, "schema": schema});
    document["info"]["version"] = json!("2024-05-01");
    document["paths"]["/orders/{id}"]["parameters"] = json!([
        query("api-version", json!({"type": "string"})),
        query("mode", json!({"enum": ["strict"]})),
        query("api_key", json!({"type": "string"}))
    ]);
    let folder = Folder::with(&[("api.json", &bytes(&document))]);
    let [line] = check(&folder, &["--format", "json", "api.json"]).lines().try_into().unwrap();
    let hidden = line["hidden"].as_array().unwrap();
    let names: Vec<&str> = hidden.iter().map(|hidden| hidden["parameter"].as_str().unwrap()).collect();
    assert_eq!(names, ["api_key", "api-version", "mode"], "{hidden:?}");
    assert_eq!((&hidden[1]["in"], &hidden[1]["value"]), (&json!("query"), &json!("2024-05-01")));
    assert_eq!(hidden[2]["operations"], json!(["GET /orders/{id}"]));
    let said = check(&folder, &["--advice", "off", "api.json"]);
    assert!(
        text(&said).contains("    hidden      mode (query) = \"strict\" in GET /orders/{id}: required"),
        "{}",
        text(&said)
    );
}

#[test]
fn folders_that_begin_with_a_dot_are_reported_when_skipped() {
    let folder = Folder::with(&[("api.json", &bytes(&whole()))]);
    fs::create_dir(folder.path(".drafts")).unwrap();
    fs::write(folder.path(".drafts/draft.json"), bytes(&whole())).unwrap();
    let said = check(&folder, &["--format", "json", "."]);
    assert_eq!((said.status, said.lines().len()), (Some(0), 1));
    assert!(said.stderr.starts_with("skipped ./.drafts: folders whose names begin with a dot"), "{}", said.stderr);
    assert_eq!(check(&folder, &["--format", "json", ".drafts"]).lines().len(), 1);
}

#[test]
fn a_run_without_documents_fails() {
    let folder = Folder::with(&[("package.json", b"{}")]);
    let said = check(&folder, &["--format", "json", "."]);
    assert_eq!((said.status, said.stdout.as_slice()), (Some(1), b"".as_slice()));
    assert!(said.stderr.starts_with("callwright: no OpenAPI document in .;"), "{}", said.stderr);
}

#[test]
fn the_documentation_shows_what_is_printed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::with(&[("orders.yaml", &fs::read(root.join("tests/fixtures/check/orders.yaml")).unwrap())]);
    let page = fs::read_to_string(root.join("docs/command-line.md")).unwrap();
    let (_, shown) = page.split_once("$ callwright check orders.yaml\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    assert_eq!(text(&check(&folder, &["orders.yaml"])), shown);
}

#[test]
fn what_is_denied_fails_only_where_it_is_found() {
    let folder = Folder::with(&[("good.json", &bytes(&whole())), ("bad.json", &bytes(&with_a_skipped_operation()))]);
    let status = |options: &[&str]| check(&folder, options).status;
    assert_eq!(status(&["--deny", "skipped,renamed,simplified,advice", "good.json"]), Some(0));
    assert_eq!(status(&["bad.json"]), Some(0));
    assert_eq!(status(&["--deny", "renamed", "bad.json"]), Some(0));
    let said = check(&folder, &["--deny", "renamed,skipped", "good.json", "bad.json"]);
    assert_eq!(said.status, Some(1));
    assert_eq!(
        said.stderr,
        "callwright: 1 operation skipped, which --deny forbids; see the reports for the locations\n"
    );
    assert_eq!(status(&["--deny", "everything", "good.json"]), Some(2));
}

#[test]
fn advice_names_operation_position_and_text_and_can_be_chosen() {
    let yaml =
        b"openapi: 3.0.0\npaths:\n  /a:\n    get:\n      parameters:\n        - {name: q, in: query, schema: {}}\n";
    let folder = Folder::with(&[("a.yaml", yaml)]);
    let advice = |options: &[&str]| {
        let said = check(&folder, &[&["--format", "json", "a.yaml"], options].concat());
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        said.lines()[0]["advice"].as_array().unwrap().clone()
    };
    let all = advice(&[]);
    let codes: Vec<&str> = all.iter().map(|advice| advice["code"].as_str().unwrap()).collect();
    let expected = [
        "missing-server", "missing-operation-id", "missing-description", "unexplained-parameter", "undocumented-errors",
    ];
    assert_eq!(codes, expected);
    assert_eq!(
        advice(&["--advice", "unexplained-parameter"]),
        [json!({"code": "unexplained-parameter", "operation": "GET /a", "at": "a.yaml:6 #/paths/~1a/get/parameters/0",
            "message": "the query parameter `q` has no description",
            "fix": "add a `description`: its meaning, its unit or format, and the default if it is omitted"})]
    );
    assert_eq!(advice(&["--advice", "off"]), Vec::<Value>::new());
    assert_eq!(check(&folder, &["--advice", "unexplained-parameter", "--deny", "advice", "a.yaml"]).status, Some(1));
    assert_eq!(check(&folder, &["--advice", "off", "--deny", "advice", "a.yaml"]).status, Some(0));
    let wrong = check(&folder, &["--advice", "unexplained", "a.yaml"]);
    assert!(wrong.status == Some(2) && wrong.stderr.contains("unexplained-parameter"), "{}", wrong.stderr);
}

#[test]
fn a_dialect_adds_what_tools_lose_in_it() {
    let mut document = whole();
    // `strict` does not support unnamed members.
    document["paths"]["/orders/{id}"]["get"]["parameters"][0]["schema"] =
        json!({"type": "object", "additionalProperties": {"type": "string"}});
    let folder = Folder::with(&[("api.json", &bytes(&document))]);
    let simplified = |options: &[&str]| {
        let said = check(&folder, &[&["--format", "json", "api.json"], options].concat());
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        said.lines()[0]["simplified"].as_array().unwrap().clone()
    };
    assert_eq!(simplified(&[]), Vec::<Value>::new());
    let lost = simplified(&["--dialect", "openai-strict"]);
    assert_eq!(lost[0]["operation"], "GET /orders/{id}");
    assert!(lost[0]["what"].as_str().unwrap().starts_with("openai-strict: arguments#/properties/id: "), "{lost:?}");
    assert_eq!(check(&folder, &["--dialect", "strict", "api.json"]).status, Some(2));
}

#[test]
fn people_get_a_table_with_a_sum_and_colours_only_on_a_terminal() {
    let folder =
        Folder::with(&[("a.json", &bytes(&with_a_skipped_operation())), ("b.yaml", b"openapi: 3.0.0\npaths: [\n")]);
    let said = check(&folder, &["."]);
    assert_eq!(said.status, Some(1));
    let text = text(&said);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], " loaded  skipped  renamed  simplified  hidden  advice  document");
    assert_eq!(lines[1], "      1        1        0           0       0       0  a.json");
    assert!(lines[2].starts_with("    skipped     DELETE /orders: "), "{text}");
    assert_eq!(lines[3], "      -        -        -           -       -       -  b.yaml");
    assert!(lines[4].starts_with("    error       ./b.yaml: invalid YAML"), "{text}");
    assert_eq!(lines[5], "      1        1        0           0       0       0  2 documents, 1 could not be loaded");
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// Returns a document that tries to write terminal escape sequences through every text in a report.
fn hostile() -> Value {
    let escape = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\r\nloaded";
    let operation = json!({
        "operationId": escape,
        "parameters": [{"name": escape, "in": "query", "schema": {"enum": ["1", "2"], "pattern": escape}, "style": escape}],
        "responses": {escape: {}}
    });
    let mut document = json!({"openapi": "3.0.0", "servers": [{"url": escape}], "paths": {}});
    document["paths"][format!("/{escape}")] =
        json!({"get": operation, "put": operation, "post": {"parameters": escape}});
    document
}

#[test]
fn nothing_of_a_document_acts_on_the_terminal() {
    let folder = Folder::with(&[("a\u{1b}[2J.json", &bytes(&hostile())), ("b.json", br#"{"openapi": "\u001b[31m"}"#)]);
    for format in ["text", "json"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
        command.args(["check", "--dialect", "plain", "--format", format, "."]).current_dir(folder.path(""));
        // As on a terminal, with the proxy's own colours.
        let output = command.env_clear().env("CLICOLOR_FORCE", "1").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let own: Vec<&str> = text.split('\u{1b}').skip(1).collect();
        assert_eq!(own.is_empty(), format == "json", "{text:?}");
        let is_colour = |rest: &&str| {
            let code = rest.strip_prefix('[').and_then(|rest| rest.split_once('m')).map(|(code, _)| code);
            code.is_some_and(|code| code.chars().all(|c| c.is_ascii_digit() || c == ';'))
        };
        assert!(own.iter().all(is_colour), "{text:?}");
        let acts = |c: char| c.is_control() && c != '\n' && c != '\u{1b}' || c == '\u{202e}';
        assert!(!text.contains(acts), "{text:?}");
        assert!(text.contains("owned"), "what was there is still told: {text}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn no_color_is_obeyed() {
    let folder = Folder::with(&[("a.json", &bytes(&whole()))]);
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
        command.args(["check", "a.json"]).current_dir(folder.path("")).env_clear().envs(variables.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(run(&[("CLICOLOR_FORCE", "1")]).contains('\u{1b}'));
    assert!(!run(&[("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn lines_keep_the_document_order_with_any_number_of_readers() {
    let folder = Folder::with(&[]);
    for number in 0..120 {
        let mut document = whole();
        // Some documents take much longer than others.
        for extra in 0..if number % 10 == 0 { 200 } else { 0 } {
            document["paths"][format!("/extra/{extra}")] = json!({"get": {"description": "More."}});
        }
        fs::write(folder.path(&format!("{number:03}.json")), bytes(&document)).unwrap();
    }
    let expected: Vec<String> = (0..120).map(|number| format!("{number:03}.json")).collect();
    let said = check(&folder, &["--format", "json", "."]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert_eq!(files(&said.lines()), expected);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::with(&[]);
    for number in 0..300 {
        let mut document = whole();
        document["paths"][format!("/{}", "x".repeat(2000))] = json!({"get": {}});
        fs::write(folder.path(&format!("{number}.json")), bytes(&document)).unwrap();
    }
    for format in ["json", "text"] {
        let mut child = folder.start(&["check", "--format", format, "."]);
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        drop(stdout);
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn a_full_disk_is_said() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let folder = Folder::with(&[("a.json", &bytes(&whole()))]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
    command.args(["check", "a.json"]).current_dir(folder.path("")).stdout(Stdio::from(full));
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && stderr.contains("reports cannot be written"), "{stderr}");
}

/// Returns `depth` nested arrays or objects as JSON.
fn nested(depth: usize, open: &str, core: &str, close: &str) -> String {
    format!("{}{core}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn endlessly_nested_or_chained_documents_cost_only_themselves() {
    let in_schema = |schema: &str| {
        let body = format!(r#"{{"required":true,"content":{{"application/json":{{"schema":{schema}}}}}}}"#);
        format!(
            r##"{{"openapi":"3.0.0","paths":{{"/a":{{"post":{{"requestBody":{body}}}}}}},"components":{{"schemas":CHAIN}}}}"##
        )
    };
    let link = |number: usize| {
        format!(r##""s{number}":{{"properties":{{"next":{{"$ref":"#/components/schemas/s{}"}}}}}}"##, number + 1)
    };
    let all_of =
        |number: usize| format!(r##""s{number}":{{"allOf":[{{"$ref":"#/components/schemas/s{}"}}]}}"##, number + 1);
    let chain = |link: &dyn Fn(usize) -> String| format!("{{{}}}", (0..20_000).map(link).collect::<Vec<_>>().join(","));
    let first = r##"{"$ref":"#/components/schemas/s0"}"##;
    let documents = [
        ("brackets.json", format!("{{\"openapi\":\"3.0.0\",\"x\":{}", "[".repeat(200_000))),
        ("flow.yaml", format!("openapi: 3.0.0\nx: {}", "[".repeat(200_000))),
        ("deepest.json", in_schema(&nested(36, r#"{"properties":{"a":"#, "{}", "}}")).replace("CHAIN", "{}")),
        ("all_of.json", in_schema(&nested(36, r#"{"allOf":["#, "{}", "]}")).replace("CHAIN", "{}")),
        ("chain.json", in_schema(first).replace("CHAIN", &chain(&link))),
        ("all_of_chain.json", in_schema(first).replace("CHAIN", &chain(&all_of))),
        ("whole.json", whole().to_string()),
    ];
    let folder = Folder::with(&[]);
    for (name, text) in &documents {
        fs::write(folder.path(name), text).unwrap();
    }
    let names: Vec<&str> = documents.iter().map(|(name, _)| *name).collect();
    let said = check(&folder, &[&["--format", "json", "--dialect", "plain"], names.as_slice()].concat());
    assert_eq!(said.status, Some(1), "{}", said.stderr);
    let lines = said.lines();
    assert_eq!(files(&lines), names);
    for line in &lines {
        let told =
            line["operations_loaded"].as_u64().unwrap() + line["operations_skipped"].as_array().unwrap().len() as u64;
        assert!(line["error"].is_string() || told == 1, "{}", line["file"]);
        assert!(!line["error"].as_str().unwrap_or_default().contains("fault of callwright"), "{line}");
    }
    assert_eq!(lines.last().unwrap()["error"], Value::Null);
}

#[test]
fn long_lists_are_whole_in_json_and_shortened_for_people() {
    let mut document = whole();
    for number in 0..40 {
        document["paths"][format!("/broken/{number}")] = json!({"get": 3});
    }
    let folder = Folder::with(&[("a.json", &bytes(&document))]);
    let said = check(&folder, &["a.json"]);
    assert!(text(&said).contains("and 30 more (--format json shows all)"), "{}", text(&said));
    let lines = json_lines(&check(&folder, &["--format", "json", "a.json"]).stdout);
    assert_eq!(lines[0]["operations_skipped"].as_array().unwrap().len(), 40);
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn names_need_not_be_text() {
        let folder = Folder::with(&[]);
        let name = OsStr::from_bytes(b"caf\xe9.json");
        // Not every file system accepts such a name.
        if fs::write(folder.path("").join(name), bytes(&whole())).is_err() {
            return;
        }
        let said = check(&folder, &["--format", "json", "."]);
        let lines = said.lines();
        assert_eq!((files(&lines), &lines[0]["operations_loaded"]), (vec!["caf\u{fffd}.json"], &json!(1)));
        let listed = folder.run(&["check", "--format", "json", "--files-from", "-"], b"caf\xe9.json\n");
        assert_eq!(listed.lines()[0]["operations_loaded"], 1, "{:?}", listed.lines());
    }

    #[test]
    fn a_file_that_may_not_be_read_is_reported() {
        let folder = Folder::with(&[("closed.json", &bytes(&whole())), ("open.json", &bytes(&whole()))]);
        fs::set_permissions(folder.path("closed.json"), fs::Permissions::from_mode(0o000)).unwrap();
        let may_read_everything = fs::read(folder.path("closed.json")).is_ok();
        let said = check(&folder, &["--format", "json", "."]);
        let lines = said.lines();
        assert_eq!(files(&lines), ["closed.json", "open.json"]);
        if !may_read_everything {
            assert!(lines[0]["error"].as_str().unwrap().contains("cannot be read"), "{}", lines[0]);
            assert_eq!(said.status, Some(1));
        }
    }

    #[test]
    fn an_unreadable_folder_is_reported_and_costs_no_other() {
        let folder = Folder::with(&[("open.json", &bytes(&whole()))]);
        fs::create_dir(folder.path("closed")).unwrap();
        fs::set_permissions(folder.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        let may_list_everything = fs::read_dir(folder.path("closed")).is_ok();
        let said = check(&folder, &["--format", "json", "."]);
        fs::set_permissions(folder.path("closed"), fs::Permissions::from_mode(0o700)).unwrap();
        let lines = said.lines();
        let expected: &[&str] = if may_list_everything { &["open.json"] } else { &["closed", "open.json"] };
        assert_eq!(files(&lines), expected);
        assert!(may_list_everything || lines[0]["error"].as_str().unwrap().contains("ermission denied"), "{lines:?}");
    }

    #[test]
    fn links_that_lead_in_circles_are_not_followed() {
        let folder = Folder::with(&[("a.json", &bytes(&whole()))]);
        symlink(".", folder.path("circle")).unwrap();
        symlink("loop.json", folder.path("loop.json")).unwrap();
        symlink("absent.json", folder.path("nowhere.json")).unwrap();
        let said = check(&folder, &["--format", "json", "."]);
        let lines = said.lines();
        assert!(files(&lines).contains(&"a.json") && lines.len() <= 2, "{lines:?}");
        assert!(lines.iter().all(|line| line["file"] != "nowhere.json"), "a file that went away is none");
    }

    #[test]
    fn a_pipe_in_a_folder_is_not_waited_for() {
        let folder = Folder::with(&[("a.json", &bytes(&whole()))]);
        let made = Command::new("mkfifo").arg(folder.path("b.json")).status();
        if !made.is_ok_and(|status| status.success()) {
            return;
        }
        assert_eq!(files(&check(&folder, &["--format", "json", "."]).lines()), ["a.json"]);
    }
}

#[test]
fn reports_are_written_as_they_come() {
    let folder = Folder::with(&[("a.json", &bytes(&whole()))]);
    let mut child = folder.start(&["check", "--format", "json", "a.json", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    // The second document does not exist yet.
    stdout.read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["file"], "a.json");
    stdin.write_all(&bytes(&whole())).unwrap();
    drop(stdin);
    line.clear();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["file"], "-");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
