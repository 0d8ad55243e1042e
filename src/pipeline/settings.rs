//! Model aliases, where requests go, and what holds for every turn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A model alias (`[aliases.NAME]`): a name that `GET /v1/models` lists and a turn may ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AliasSettings {
    /// Name of the upstream that serves it; empty: the default upstream.
    pub upstream: String,
    /// The model's name at that upstream; empty: the alias's own name.
    pub model: String,
    /// In place of these two: several that share the turns by their weights and stand in for each other.
    pub targets: Vec<TargetSettings>,
    /// Who stands in, in this order, where none of these gives an answer.
    pub fallbacks: Vec<FallbackSettings>,
    /// Toolsets whose tools are offered besides the client's own.
    pub toolsets: Vec<String>,
    /// Policy that holds for the alias, whatever other policies match; empty: by matching.
    pub policy: String,
}

impl AliasSettings {
    /// The upstream (empty: the default one) and the model that stand first, for what is no turn of a client; `name` is the alias's own.
    pub fn main_target<'a>(&'a self, name: &'a str) -> (&'a str, &'a str) {
        let (upstream, model) = match self.targets.first() {
            Some(target) => (&target.upstream, &target.model),
            None => (&self.upstream, &self.model),
        };
        (upstream, if model.is_empty() { name } else { model })
    }
}

/// One of several upstreams that share an alias's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TargetSettings {
    /// Name of the upstream; empty: the default upstream.
    pub upstream: String,
    /// The model's name there; empty: the alias's own name.
    pub model: String,
    /// Its share of the sessions, against the other targets' weights; 0: it only stands in for others.
    pub weight: u32,
}

impl Default for TargetSettings {
    fn default() -> Self {
        Self { upstream: String::new(), model: String::new(), weight: 1 }
    }
}

/// An upstream that stands in for others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FallbackSettings {
    /// Name of the upstream; empty: the default upstream.
    pub upstream: String,
    /// The model's name there; empty: the alias's own name.
    pub model: String,
}

/// Where requests go that are passed through (`[pass_through]`): they may name no model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PassThroughSettings {
    /// Name of the upstream; empty: the default upstream.
    pub upstream: String,
    /// Names of upstreams by the beginning of the path below `/v1`, in whole segments; the longest that fits decides.
    pub paths: BTreeMap<String, String>,
}

impl PassThroughSettings {
    /// The upstream's name for a path below `/v1`, its query left out or not.
    pub fn upstream_of(&self, path: &str) -> &str {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let fits = |prefix: &str| {
            path.strip_prefix(prefix.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let fitting = self.paths.iter().filter(|(prefix, _)| fits(prefix));
        fitting.max_by_key(|(prefix, _)| prefix.trim_end_matches('/').len()).map_or(&self.upstream, |(_, name)| name)
    }
}

/// Settings of the pipeline (`[pipeline]`): what holds for every turn and is no policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Bytes of memory for lists of tools that are kept parsed; half as many again for lists that are searched. A list takes about twelve
    /// times its text. A large one is kept when it comes for the second time.
    pub tool_list_cache_bytes: u64,
    /// Largest assembled answer of a stream, in bytes.
    pub max_stream_bytes: usize,
    /// Chunks of a stream that may wait for a slow client before the upstream is read no further.
    pub stream_buffer_chunks: usize,
    /// Seconds that the head of a streamed answer waits for the upstream's. A status can say until then what went wrong; it is 200 after that.
    pub hold_head_seconds: u64,
    /// Seconds of silence after which a stream whose head is out gets a keep-alive comment.
    pub keep_alive_seconds: u64,
    /// Bytes of a streamed text that are held at a time because they may be a call; more are taken for text.
    pub max_held_bytes: usize,
    /// Milliseconds that a streamed text is held because it may be a call; then it is taken for text.
    pub max_hold_milliseconds: u64,
    /// Characters of an API's answer that the model is shown, at least 200; a longer one is shortened (`feedback::answer`).
    pub outcome_chars: usize,
    /// Tokens, about, of one message that tells the model why a call failed; at least 200.
    pub feedback_tokens: usize,
    /// Failures in the tool messages of a conversation that are explained at most; of more, the oldest are left out.
    pub max_observed_failures: usize,
    /// Milliseconds that looking up the failures of one conversation may take; those that are not reached are left as they are.
    pub max_observe_milliseconds: u64,
    /// Bytes of what is remembered of tool messages that were looked at before: clients send them again with every request.
    pub observed_cache_bytes: u64,
    /// Milliseconds to wait for the vectors of what the user said; then tools are chosen by words alone.
    pub query_vector_milliseconds: u64,
    /// Bytes of what is remembered of the tools offered, of all sessions together; of more, sessions that were used longest ago are forgotten.
    pub remembered_tools_bytes: u64,
    /// Bytes of the lessons and outlines that are remembered as shown, of all sessions together: a message that had one keeps it as long as it is
    /// remembered, so that what providers have in their prompt caches stays as it is there.
    pub remembered_notes_bytes: u64,
    /// Large requests that may wait for a core to be read on; more are refused with 503.
    pub max_waiting_work: usize,
    /// Bytes of the largest part of an answer that is kept for the client's return.
    pub max_kept_bytes: usize,
    /// Calls that may wait for a person's approval at a time; more are refused.
    pub max_pending_approvals: u32,
    /// Bytes of the largest call, target and arguments together, that a person is asked about; a larger one is refused.
    pub max_approval_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tool_list_cache_bytes: 48 * 1024 * 1024,
            max_stream_bytes: 16 * 1024 * 1024,
            stream_buffer_chunks: 64,
            hold_head_seconds: 55,
            keep_alive_seconds: 15,
            max_held_bytes: 64 * 1024,
            max_hold_milliseconds: 15_000,
            outcome_chars: 16_000,
            feedback_tokens: 1_500,
            max_observed_failures: 32,
            max_observe_milliseconds: 5_000,
            observed_cache_bytes: 16 * 1024 * 1024,
            query_vector_milliseconds: 500,
            remembered_tools_bytes: 16 * 1024 * 1024,
            remembered_notes_bytes: 16 * 1024 * 1024,
            max_waiting_work: 256,
            max_kept_bytes: 1024 * 1024,
            max_pending_approvals: 1_000,
            max_approval_bytes: 256 * 1024,
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
