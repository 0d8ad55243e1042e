//! Model aliases, pass-through routing, and settings that apply to every turn.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum size in bytes of a client's tool list that is cached at its first occurrence. Most agents send less; larger
/// lists are cached when they arrive for the second time.
pub(super) const SMALL_LIST_BYTES: usize = 32 * 1024;

/// A model alias (`[aliases.NAME]`): a name that `GET /v1/models` lists and a request may use as its model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AliasSettings {
    /// Name of the upstream that serves the alias; empty: the default upstream.
    pub upstream: String,
    /// The model's name at that upstream; empty: the alias's own name.
    pub model: String,
    /// Several targets instead of `upstream` and `model`. They share the turns by weight and fail over to each other.
    pub targets: Vec<TargetSettings>,
    /// Failover upstreams, in this order, if none of the targets answers.
    pub fallbacks: Vec<FallbackSettings>,
    /// Toolsets whose tools are offered besides the client's own.
    pub toolsets: Vec<String>,
    /// Whether the alias may be in shadow mode, in which its toolsets are not offered. Otherwise such a policy is an
    /// error.
    pub omit_toolsets_in_shadow: bool,
    /// Policy of the alias, regardless of other matching policies; empty: by matching.
    pub policy: String,
}

impl AliasSettings {
    /// Returns the first upstream (empty: the default one) and model, for requests outside of client turns. `name` is
    /// the alias's own name.
    pub fn main_target<'a>(&'a self, name: &'a str) -> (&'a str, &'a str) {
        let (upstream, model) = match self.targets.first() {
            Some(target) => (&target.upstream, &target.model),
            None => (&self.upstream, &self.model),
        };
        (upstream, if model.is_empty() { name } else { model })
    }
}

/// One of several upstreams that share the turns of an alias.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TargetSettings {
    /// Name of the upstream; empty: the default upstream.
    pub upstream: String,
    /// The model's name there; empty: the alias's own name.
    pub model: String,
    /// Relative share of the sessions; 0: used for failover only.
    pub weight: u32,
}

impl Default for TargetSettings {
    fn default() -> Self {
        Self { upstream: String::new(), model: String::new(), weight: 1 }
    }
}

/// A failover upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FallbackSettings {
    /// Name of the upstream; empty: the default upstream.
    pub upstream: String,
    /// The model's name there; empty: the alias's own name.
    pub model: String,
}

/// Routing of passed-through requests (`[pass_through]`), which may name no model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PassThroughSettings {
    /// Name of the upstream; empty: the default upstream.
    pub upstream: String,
    /// Upstream names by path prefix below `/v1`, in whole segments; the longest match wins.
    pub paths: BTreeMap<String, String>,
}

impl PassThroughSettings {
    /// Returns the upstream's name for a path below `/v1`, with or without a query.
    pub fn upstream_of(&self, path: &str) -> &str {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let fitting = self.paths.iter().filter(|(prefix, _)| {
            path.strip_prefix(prefix.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        fitting.max_by_key(|(prefix, _)| prefix.trim_end_matches('/').len()).map_or(&self.upstream, |(_, name)| name)
    }
}

/// Settings of the pipeline (`[pipeline]`): they apply to every turn, independent of policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Cache size in bytes for parsed lists of tools; searched lists get half as much in addition. A list takes about
    /// twelve times its text. A large list is cached when it arrives for the second time.
    pub tool_list_cache_bytes: u64,
    /// Maximum bytes of the content of a streamed answer that are kept to validate it: text, reasoning and arguments. The
    /// rest of a longer answer is forwarded without validation.
    pub max_stream_bytes: usize,
    /// Maximum seconds that the head of a streamed answer waits for the upstream's head. Until then the status can
    /// report an error; afterwards it is 200.
    pub hold_head_seconds: u64,
    /// Seconds of silence after which an open stream gets a keep-alive event: `ping`, `response.in_progress`, or an empty
    /// delta.
    pub keep_alive_seconds: u64,
    /// Maximum bytes of streamed text that are held back because they may be a call; longer text is forwarded as text.
    pub max_held_bytes: usize,
    /// Maximum milliseconds that streamed text is held back because it may be a call; then it is forwarded as text.
    pub max_hold_milliseconds: u64,
    /// Maximum characters of an API answer that are sent to the model, at least 200; longer answers are shortened.
    pub outcome_chars: usize,
    /// Approximate maximum tokens of a message that explains to the model why a call failed; at least 200.
    #[serde(skip)]
    pub feedback_tokens: usize,
    /// Maximum number of failures in tool messages that are explained per conversation; the oldest are omitted.
    #[serde(skip)]
    pub max_observed_failures: usize,
    /// Maximum milliseconds for the lookup of the failures of one conversation; the remaining ones are not explained.
    pub max_observe_milliseconds: u64,
    /// Cache size in bytes for analysed tool messages. Clients send them again with every request.
    #[serde(skip)]
    pub observed_cache_bytes: u64,
    /// Cache size in bytes for the tools offered per session, for all sessions together. The least recently used
    /// sessions are evicted.
    #[serde(skip)]
    pub remembered_tools_bytes: u64,
    /// Cache size in bytes for lessons and outlines already shown, for all sessions together. A message keeps its
    /// lesson while it is cached, which keeps the prompt caches of providers valid.
    #[serde(skip)]
    pub remembered_notes_bytes: u64,
    /// Maximum number of large requests that may wait for a CPU slot; more are refused with 503.
    #[serde(skip)]
    pub max_waiting_work: usize,
    /// Maximum bytes of the part of an answer that is kept until the client returns.
    pub max_kept_bytes: usize,
    /// Maximum number of calls that wait for approval at a time; more are refused.
    pub max_pending_approvals: u32,
    /// Maximum bytes of a call that is submitted for approval, target and arguments together; larger calls are refused.
    pub max_approval_bytes: usize,
    /// Whether the traces of all turns hold bodies, whatever their policies: `serve --record`. Not a key of the
    /// configuration, because it is for one run.
    #[serde(skip)]
    pub record_bodies: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tool_list_cache_bytes: 48 * 1024 * 1024,
            max_stream_bytes: 16 * 1024 * 1024,
            hold_head_seconds: 55,
            keep_alive_seconds: 15,
            max_held_bytes: 64 * 1024,
            max_hold_milliseconds: 15_000,
            outcome_chars: 16_000,
            feedback_tokens: 1_500,
            max_observed_failures: 32,
            max_observe_milliseconds: 5_000,
            observed_cache_bytes: 16 * 1024 * 1024,
            remembered_tools_bytes: 16 * 1024 * 1024,
            remembered_notes_bytes: 16 * 1024 * 1024,
            max_waiting_work: 256,
            max_kept_bytes: 1024 * 1024,
            max_pending_approvals: 1_000,
            max_approval_bytes: 256 * 1024,
            record_bodies: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_in_whole_segments_decides() {
        let paths = [("/audio", "voice"), ("/audio/speech/", "speaker"), ("/files", "store")];
        let paths = paths.map(|(path, name)| (path.to_owned(), name.to_owned())).into();
        let settings = PassThroughSettings { upstream: "rest".to_owned(), paths };
        for (path, name) in [
            ("/audio", "voice"),
            ("/audio/transcriptions?x=/files", "voice"),
            ("/audio/speech", "speaker"),
            ("/audio/speech/1", "speaker"),
            ("/audiobooks", "rest"),
            ("/files?limit=2", "store"),
            ("/embeddings", "rest"),
            ("", "rest"),
        ] {
            assert_eq!(settings.upstream_of(path), name, "{path}");
        }
    }
}
