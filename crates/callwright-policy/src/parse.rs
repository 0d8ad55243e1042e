//! Parsing of a policy file. Errors name file, line, column and the most similar valid name.

use std::path::Path;

use super::error::PolicyFault;
use super::selector::MatchSelector;
use super::sources::MAX_FILE_BYTES;
use super::validate::validate;
use super::{Policy, PolicyError};
use callwright_common::watch::FolderFile;
use callwright_common::yaml::{self, Bounds, YamlProblem};

/// Maximum nesting depth. A policy needs at most 5; the rest is reserved for anchors and merges.
const MAX_DEPTH: usize = 16;

/// Maximum number of YAML events of a file, which limits the expansion of anchors.
const MAX_EVENTS: usize = 100_000;

/// Keys that were removed, with what applies in their place.
const REMOVED: [(&str, &str); 1] = [(
    "selectable",
    "a virtual key lists the policies that its requests may select (`callwright keys update NAME --selectable-policy POLICY`)",
)];

const BOUNDS: Bounds = Bounds { depth: MAX_DEPTH, events: MAX_EVENTS };

pub(super) fn parse(source: &FolderFile) -> Result<(Policy, Option<MatchSelector>), PolicyError> {
    let mut policy: Policy = match yaml::is_blank(&source.text) {
        true => Policy::default(),
        false => yaml::read(&source.text, BOUNDS).map_err(|problem| invalid(source, problem))?,
    };
    if policy.name.is_empty() {
        // The file name without its extension.
        policy.name = source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    match validate(&policy) {
        Ok(selector) => Ok((policy, selector)),
        Err(PolicyFault { place, message }) => {
            Err(invalid(source, yaml::problem_at(&source.text, &place, message, BOUNDS)))
        }
    }
}

/// Loads one policy file. Its `match` and priority have no effect.
///
/// # Errors
/// [`PolicyError`] if it cannot be read or is not a policy.
pub fn load_file(path: &Path) -> Result<Policy, PolicyError> {
    parse(&FolderFile::read(path.to_owned(), MAX_FILE_BYTES)?).map(|(policy, _)| policy)
}

fn invalid(source: &FolderFile, problem: YamlProblem) -> PolicyError {
    let YamlProblem { line, column, mut message } = problem;
    let removed = REMOVED.into_iter().find(|(key, _)| message.starts_with(&format!("unknown key `{key}`")));
    if let Some((key, instead)) = removed {
        message = format!("the key `{key}` was removed: {instead}");
    }
    PolicyError::Invalid { file: source.shown(), line, column, message }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sources::builtin;
    use callwright_types::FaultCode;
    use callwright_types::rules::{Action, ApprovalMode, ApprovalRules, Mode, OnExhausted, Permission, Report};

    fn source(text: &str) -> FolderFile {
        FolderFile { path: PathBuf::from("team.yaml"), text: text.to_owned() }
    }

    pub(crate) fn policy(text: &str) -> Policy {
        parse(&source(text)).unwrap().0
    }

    pub(crate) fn error(text: &str) -> String {
        parse(&source(text)).unwrap_err().to_string()
    }

    #[test]
    fn the_shipped_default_is_the_built_in_defaults() {
        let [default, _, _] = builtin().try_into().unwrap();
        let (default, _) = parse(&default).unwrap();
        let (name, description) = (default.name.clone(), default.description.clone());
        assert_eq!(default, Policy { name, description, ..Policy::default() });
    }

    #[test]
    fn the_shipped_default_shows_every_key() {
        let [default, _, _] = builtin().try_into().unwrap();
        let shown: serde_json::Value = yaml::read(&default.text, BOUNDS).unwrap();
        let keys = serde_json::to_value(Policy::default()).unwrap();
        assert_shows(&shown, &keys, "");
    }

    fn assert_shows(shown: &serde_json::Value, keys: &serde_json::Value, place: &str) {
        for (key, value) in keys.as_object().into_iter().flatten() {
            let place = format!("{place}/{key}");
            let found = shown.get(key).unwrap_or_else(|| panic!("{place} is not in default.yaml"));
            assert_shows(found, value, &place);
        }
    }

    #[test]
    fn the_shipped_strict_and_shadow_say_what_they_are_for() {
        let [_, shadow, strict] = builtin().try_into().unwrap();
        let (shadow, strict) = (parse(&shadow).unwrap().0, parse(&strict).unwrap().0);
        assert_eq!((shadow.name.as_str(), shadow.mode), ("shadow", Mode::Shadow));
        assert_eq!((strict.name.as_str(), strict.mode), ("strict", Mode::Guard));
        assert_eq!((strict.on_exhausted, strict.scan.report), (OnExhausted::Error, Report::All));
    }

    #[test]
    fn a_policy_is_read_back_as_it_was_written() {
        let [_, _, strict] = builtin().try_into().unwrap();
        let (strict, _) = parse(&strict).unwrap();
        assert_eq!(policy(&serde_json::to_string(&strict).unwrap()), strict);
    }

    #[test]
    fn an_omitted_key_has_its_default_and_the_file_gives_the_name() {
        for text in ["", "# nothing\n", "limits: {seconds: 300}", "mode: guard # as always"] {
            assert_eq!(policy(text), Policy { name: "team".to_owned(), ..Policy::default() });
        }
    }

    #[test]
    fn the_word_off_is_the_mode_and_no_boolean() {
        assert_eq!(policy("mode: off").mode, Mode::Off);
    }

    #[test]
    fn rules_of_execution_are_read() {
        let rules = policy("execute: {rules: [{methods: [POST], tools: ['crm/*'], permission: allow}]}").execute.rules;
        assert_eq!((rules[0].methods[0].as_str(), rules[0].permission), ("POST", Permission::Allow));
        let asked =
            policy("execute: {rules: [{permission: approve}], approval: {mode: notice, valid_seconds: 60}}").execute;
        assert_eq!(asked.rules[0].permission, Permission::Approve);
        let approval = ApprovalRules { mode: ApprovalMode::Notice, valid_seconds: 60, ..ApprovalRules::default() };
        assert_eq!(asked.approval, approval);
    }

    #[test]
    fn an_unknown_key_is_shown_with_position_and_nearest_known_one() {
        assert_eq!(error("mode: guard\nlimit: {}\n"), "team.yaml:2:1: unknown key `limit`; did you mean `limits`?");
        assert_eq!(
            error("limits:\n  seconds: 3\n  static_feedbak: 1\n"),
            "team.yaml:3:3: unknown key `static_feedbak`; did you mean `static_feedback`?"
        );
        let far = error("record:\n  zzz: 1\n");
        assert!(far.starts_with("team.yaml:2:3: unknown key `zzz`; expected one of bodies"), "{far}");
    }

    #[test]
    fn a_removed_key_names_what_replaces_it() {
        let removed = error("mode: guard\nselectable: true\n");
        assert!(
            removed.starts_with("team.yaml:2:1: the key `selectable` was removed: a virtual key lists"),
            "{removed}"
        );
    }

    #[test]
    fn a_fault_is_named_by_code_and_an_unknown_one_by_position() {
        let faults = policy("scan:\n  faults: {E3.1: advise, E4.3: off}\n").scan.faults;
        assert_eq!(faults.of(FaultCode::ParameterOfOtherTool), Action::Advise);
        assert_eq!(faults.of(FaultCode::Placeholder), Action::Off);
        assert_eq!(
            error("scan:\n  faults:\n    parameter_missing: off\n"),
            "team.yaml:3:5: unknown key `parameter_missing`; faults are named by their codes: `E3.4`"
        );
        assert_eq!(error("scan: {faults: {E4.9: off}}\n"), "team.yaml:1:17: unknown key `E4.9`; did you mean `E4.4`?");
        assert_eq!(
            error("scan: {faults: {E4.3: on}}\n"),
            "team.yaml:1:23: unknown value `on`; expected one of off, advise, repair, feedback"
        );
    }

    #[test]
    fn an_unknown_value_is_shown_with_position_and_nearest_one() {
        assert_eq!(error("mode: gaurd\n"), "team.yaml:1:7: unknown value `gaurd`; did you mean `guard`?");
        assert_eq!(
            error("scan: {unknown_parameters: refused}\n"),
            "team.yaml:1:28: unknown value `refused`; did you mean `refuse`?"
        );
    }

    #[test]
    fn what_parses_and_makes_no_sense_is_shown_with_its_place() {
        let cases = [
            ("\nlimits:\n  upstream_requests: 0\n", "team.yaml:3:22: `upstream_requests` is 0; it must be 1 to 1000"),
            ("scan:\n  similarity: 1.5\n", "team.yaml:2:15: `similarity` is 1.5; it must be 0 to 1"),
            ("scan: {semantic_similarity: 2}\n", "team.yaml:1:29: `semantic_similarity` is 2; it must be 0 to 1"),
            ("recall: {reflect: true}\n", "team.yaml:1:19: `reflect` requires a `group`"),
            ("offer: {gap: 2}\n", "team.yaml:1:14: `gap` is 2; it must be 0 to 1"),
            ("offer: {k: 4}\n", "team.yaml:1:8: `min` is 5; it must be 1 to 4"),
            ("offer: {k: 0}\n", "team.yaml:1:12: `k` is 0; it must be 1 to 1000"),
            ("offer: {prerequisites: 6}\n", "team.yaml:1:24: `prerequisites` is 6; it must be 0 to 5"),
            ("offer:\n  search_tools: {results: 0}\n", "team.yaml:2:27: `results` is 0; it must be 1 to 50"),
            ("offer:\n  never: ['a[']\n", "team.yaml:2:"),
            ("scan:\n  relevance: {share: -1}\n", "team.yaml:2:22: `share` is -1; it must be 0 to 1"),
            ("scan:\n  circle: {calls: 1}\n", "team.yaml:2:19: `calls` is 1; it must be 2 to 100"),
            ("scan:\n  repeat_window: 101\n", "team.yaml:2:18: `repeat_window` is 101; it must be 0 to 100"),
            ("scan: {similarity: .nan}\n", "team.yaml:1:20: `similarity` is NaN; it must be 0 to 1"),
            ("match:\n  models: ['a', 'b[']\n", "team.yaml:2:17: error parsing glob 'b['"),
            ("match:\n  headers: {x-a: '{'}\n", "team.yaml:2:18: error parsing glob '{'"),
            ("match:\n  headers: {'x a': '*'}\n", "team.yaml:2:20: `x a` is not a header field's name"),
            ("match: {}\n", "team.yaml:1:8: `match` is empty"),
            (
                "execute:\n  rules:\n  - {methods: [post], permission: allow}\n",
                "team.yaml:3:16: `post` is not a method",
            ),
            (
                "execute:\n  rules:\n  - {tools: ['a/['], permission: deny}\n",
                "team.yaml:3:14: error parsing glob 'a/['",
            ),
            (
                "execute:\n  approval: {timeout_seconds: 0}\n",
                "team.yaml:2:31: `timeout_seconds` is 0; it must be 1 to 86400",
            ),
            (
                "execute: {approval: {valid_seconds: 9999999}}\n",
                "team.yaml:1:37: `valid_seconds` is 9999999; it must be 1 to 2592000",
            ),
            ("name: 'a b'\n", "team.yaml:1:7: the name `a b` must be"),
        ];
        for (text, expected) in cases {
            let error = error(text);
            assert!(error.starts_with(expected), "{text}\n{error}");
        }
    }

    #[test]
    fn a_broken_file_names_its_place() {
        let cases = [
            "limits: {seconds: -1}", "limits: {seconds: 'x'}", "limits: 3", "- a\n- b", "mode: guard\nmode: off",
            "a: [", "mode: guard\n---\nmode: off", "execute: {rules: [{methods: [POST]}]}",
        ];
        for text in cases {
            let error = error(text);
            assert!(error.starts_with("team.yaml:1:") || error.starts_with("team.yaml:2:"), "{text}\n{error}");
        }
    }

    #[test]
    fn hostile_yaml_is_refused_in_bounded_time() {
        let deep = format!("match: {}", "[".repeat(100_000));
        let bomb = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
            format!("{text}a{level}: &a{level} [*a{0}, *a{0}, *a{0}, *a{0}]\n", level - 1)
        });
        for text in [deep, bomb, "\u{0}".to_owned(), "description: &a [*a]".to_owned()] {
            assert!(parse(&source(&text)).is_err());
        }
    }
}
