//! Tests with configuration files as people write them.

use proptest::prelude::*;

use super::super::variables;
use super::*;

fn read_settings(text: &str, environment: &[(&str, &str)]) -> Result<Settings, Vec<ConfigProblem>> {
    settings(text, &ConfigRequest::default(), &variables(environment))
}

/// Returns the only problem of `text`, as printed after the file's name.
fn problem_of(text: &str) -> String {
    let problems = read_settings(text, &[("SECRET", "sk-canary")]).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let place = problems[0].place.map(|place| place.to_string()).unwrap_or_default();
    format!("{place}: {}", problems[0].message)
}

#[test]
fn without_a_file_the_built_in_defaults_hold() {
    assert_eq!(read_settings("", &[]).unwrap(), Settings::default());
}

#[test]
fn without_a_file_the_variables_of_openai_clients_are_honoured() {
    let settings =
        read_settings("", &[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "sk-canary")]).unwrap();
    let upstream = &settings.upstreams["default"];
    assert_eq!(upstream.base_url, "http://127.0.0.1:9/v1");
    assert_eq!(upstream.api_key.expose(), "sk-canary");
}

#[test]
fn the_environment_completes_a_default_without_an_address() {
    let environment = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "sk-canary")];
    let settings = read_settings("[upstreams.default]\nconnect_retries = 7\n", &environment).unwrap();
    let upstream = &settings.upstreams["default"];
    assert_eq!((upstream.base_url.as_str(), upstream.connect_retries), ("http://127.0.0.1:9/v1", 7));
    assert_eq!(upstream.api_key.expose(), "sk-canary");
    let settings = read_settings("[upstreams.default]\napi_key = 'mine'\n", &environment).unwrap();
    assert_eq!(settings.upstreams["default"].api_key.expose(), "mine");
}

#[test]
fn the_environments_key_never_goes_to_an_address_of_the_file() {
    let text = "[upstreams.default]\nbase_url = 'http://127.0.0.1:1/v1'\n";
    let settings = read_settings(text, &[("OPENAI_API_KEY", "sk-canary")]).unwrap();
    assert!(settings.upstreams["default"].api_key.is_empty());
}

#[test]
fn the_environment_locates_onnx_runtime_unless_the_file_does() {
    let path = |text: &str| {
        let settings = read_settings(text, &[("ORT_DYLIB_PATH", "/opt/ort/libonnxruntime.so")]).unwrap();
        settings.embedding.fastembed.onnx_runtime
    };
    assert_eq!(path(""), "/opt/ort/libonnxruntime.so");
    assert_eq!(path("[embedding.fastembed]\nonnx_runtime = '/mine.so'\n"), "/mine.so");
}

#[test]
fn a_file_that_names_upstreams_has_those_alone() {
    let text = "default_upstream = 'local'\n[upstreams.local]\nbase_url = 'http://127.0.0.1:1/v1'\n";
    let settings = read_settings(text, &[("OPENAI_API_KEY", "sk-canary")]).unwrap();
    assert_eq!(settings.upstreams.keys().collect::<Vec<_>>(), ["local"]);
    assert!(problem_of("[upstreams.local]\n").contains("there is no upstream `default`"));
}

#[test]
fn an_unknown_key_is_named_with_position_and_nearest_known_one() {
    let message = problem_of("[server]\nlisten = '127.0.0.1:1'\nbody_limit = 3\n");
    assert_eq!(message, "3:1: unknown key `server.body_limit`; did you mean `body_limit_bytes`?");
    assert_eq!(problem_of("\n[sever]\n"), "2:2: unknown key `sever`; did you mean `server`?");
    let message = problem_of("[aliases.fast]\nupstram = 'default'\n");
    assert_eq!(message, "2:1: unknown key `aliases.fast.upstram`; did you mean `upstream`?");
}

#[test]
fn a_wrong_type_is_named_with_its_place() {
    let message = problem_of("[server]\nbody_limit_bytes = 'much'\n");
    assert_eq!(
        message,
        "2:20: `server.body_limit_bytes`: expected a whole number that is not negative, found a string"
    );
    assert!(problem_of("server = 1\n").starts_with("1:10: `server`: expected a table"));
    assert!(problem_of("[server]\nlisten = 'nowhere'\n").starts_with("2:10: `server.listen`: expected ADDRESS:PORT"));
}

#[test]
fn an_unset_variable_is_named_with_its_place() {
    let message =
        problem_of("[upstreams.default]\nbase_url = 'http://127.0.0.1:1/v1'\napi_key = \"${CALLWRIGHT_KEY}\"\n");
    assert!(message.starts_with("3:11: `upstreams.default.api_key`: environment variable `CALLWRIGHT_KEY` is not set"));
}

#[test]
fn a_value_of_the_environment_is_in_no_message() {
    for text in
        ["[server]\nlisten = '${SECRET}'\n", "[server]\nbody_limit_bytes = '${SECRET}'\n", "aliases = '${SECRET}'\n"]
    {
        assert!(!problem_of(text).contains("canary"), "{}", problem_of(text));
    }
}

#[test]
fn all_syntax_faults_and_unset_variables_are_reported_at_once() {
    let problems = read_settings("a = \nb = \n", &[]).unwrap_err();
    assert!(problems.len() >= 2, "{problems:?}");
    let problems = read_settings("[upstreams.default]\nbase_url = '${A}'\napi_key = '${B}'\n", &[]).unwrap_err();
    assert_eq!(problems.len(), 2);
}

#[test]
fn problems_between_rooms_have_places_too() {
    let message = problem_of("[aliases.fast]\nmodel = 'm'\nupstream = 'none'\n");
    assert!(message.starts_with("3:1: `aliases.fast.upstream`: there is no upstream `none`"), "{message}");
    let message = problem_of("[aliases.fast]\ntoolsets = [\n  'maps',\n]\n");
    assert!(message.starts_with("3:3: `aliases.fast.toolsets[0]`"), "{message}");
}

#[test]
fn a_hostile_value_adds_no_key() {
    let settings =
        read_settings("[aliases.a]\nmodel = '${M}'\n", &[("M", "x'\n[server]\nallow_public = true\n#")]).unwrap();
    assert!(!settings.server.allow_public);
    assert!(settings.aliases["a"].model.contains("allow_public"));
}

#[test]
fn the_command_line_overrides_the_listeners_before_the_check() {
    let request = ConfigRequest { listen: Some("0.0.0.0:1".parse().unwrap()), ..ConfigRequest::default() };
    let problems = settings("", &request, &variables(&[])).unwrap_err();
    assert!(problems[0].message.contains("allow_public"));
    let request = ConfigRequest { operator_listen: Some("127.0.0.1:0".parse().unwrap()), ..ConfigRequest::default() };
    let settings = settings("", &request, &variables(&[])).unwrap();
    assert_eq!(settings.server.operator_listen.port(), 0);
}

#[test]
fn a_file_is_found_by_the_command_line_then_by_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, port: u16| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("[server]\nlisten = '127.0.0.1:{port}'\n")).unwrap();
        path
    };
    let (named, other) = (write("named.toml", 1), write("other.toml", 2));
    let pairs = [(FILE_VARIABLE, other.to_str().unwrap())];
    let request = ConfigRequest { file: Some(named.clone()), ..ConfigRequest::default() };
    let loaded = load(&request, &variables(&pairs)).unwrap();
    assert_eq!((loaded.settings.server.listen.port(), loaded.file), (1, Some(named)));
    assert_eq!(loaded.base_dir, folder.path());
    let loaded = load(&ConfigRequest::default(), &variables(&pairs)).unwrap();
    assert_eq!(loaded.settings.server.listen.port(), 2);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent.toml");
    let request = ConfigRequest { file: Some(absent.clone()), ..ConfigRequest::default() };
    let message = load(&request, &variables(&[])).unwrap_err().to_string();
    assert!(message.contains(absent.to_str().unwrap()) && message.contains("--config"), "{message}");
    let binary = folder.path().join("binary.toml");
    std::fs::write(&binary, [0xff, 0xfe]).unwrap();
    let request = ConfigRequest { file: Some(binary), ..ConfigRequest::default() };
    assert!(load(&request, &variables(&[])).is_err());
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    let text = format!("x = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read_settings(&text, &[]).is_err());
    let dotted = format!("{}x = 1", "a.".repeat(100_000));
    assert!(read_settings(&dotted, &[]).is_err());
}

#[test]
fn relative_paths_start_at_the_files_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("callwright.toml");
    std::fs::write(
        &file,
        "[upstreams.default]\nca_file = 'ca.pem'\n[server.tls]\nkey = '/absolute'\ncertificate = '/c'\n\
        [executor]\nca_file = 'certificates/apis.pem'\n",
    )
    .unwrap();
    let loaded = load(&ConfigRequest { file: Some(file), ..ConfigRequest::default() }, &variables(&[])).unwrap();
    let upstream = &loaded.settings.upstreams["default"];
    assert_eq!(Path::new(&upstream.ca_file), folder.path().join("ca.pem"));
    assert_eq!(Path::new(&loaded.settings.executor.ca_file), folder.path().join("certificates/apis.pem"));
    assert_eq!(loaded.settings.server.tls.key, "/absolute");
}

#[test]
fn paths_that_are_not_set_stay_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("callwright.toml");
    std::fs::write(&file, "").unwrap();
    let loaded = load(&ConfigRequest { file: Some(file), ..ConfigRequest::default() }, &variables(&[])).unwrap();
    assert_eq!(loaded.settings, Settings::default());
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_text_panics(text in "([a-z.\"'=\\[\\]{}#$\\\\\n 0-9-]|é|server|upstreams|default|\\$\\{[A-Z]\\}){0,60}") {
        let _ = read_settings(&text, &[("A", "\u{0}")]);
    }

    #[test]
    fn every_problem_of_a_file_has_a_message_on_one_line(key in "[a-z_]{1,12}", value in "[a-z0-9'\"${}]{0,12}") {
        let Err(problems) = read_settings(&format!("[server]\n{key} = {value}\n"), &[]) else { return Ok(()) };
        prop_assert!(!problems.is_empty());
        for problem in problems {
            prop_assert!(!problem.message.is_empty() && !problem.message.contains('\n'), "{:?}", problem);
            prop_assert!(problem.place.is_some(), "{:?}", problem);
        }
    }
}

#[test]
fn a_second_table_or_key_is_named_with_the_line_of_the_first() {
    for (text, message) in [
        ("[server]\n[keys]\n[server] # again\n", "3:2: `[server]` is defined twice, first in line 1; merge"),
        ("[a]\nx = 1\n[b]\nx = 1\ny = 2\nx = 3\n", "6:1: `x` is defined twice, first in line 4; remove"),
        ("server.x = 1\n[server]\n", "`[server]` is defined twice; merge"),
    ] {
        let error = parse(text, Path::new(""), &|_| None).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}
