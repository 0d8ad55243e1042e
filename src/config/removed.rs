//! Keys of earlier versions, and what applies instead.

/// Replacement of most limits.
const FIXED: &str = "its default always applies";

/// All removed keys: the path of their table (`*` is any name; empty: the top of the file), their names, and the behaviour
/// that replaces them.
const REMOVED: &[(&str, &str, &str)] = &[
    ("", "catalog", "documents are reloaded by `[reload]` (`files`, `remote_seconds`)"),
    ("", "explain", FIXED),
    (
        "",
        "repair",
        "calls in text are recognised in the built-in notations; policies have the rules of repair and rescue",
    ),
    ("", "feedback", "messages to the model have built-in templates only"),
    (
        "*",
        "reload reload_quiet_milliseconds",
        "`[reload] files` applies to all files, which are read again 200 ms after a change",
    ),
    (
        "server",
        "http2_ping_timeout_seconds",
        "a PING frame must be acknowledged within `http2_ping_seconds`, and at most 20 s",
    ),
    ("server", "tls_handshake_timeout_seconds tls_reload_quiet_milliseconds", FIXED),
    ("keys", "sync_milliseconds reserved_answer_tokens", FIXED),
    (
        "upstreams.*",
        "retry_statuses retry_max_wait_seconds circuit_window_seconds circuit_probes \
         pool_idle_timeout_seconds pool_max_idle",
        FIXED,
    ),
    ("upstreams.*", "repeat_clients_retries", "a request that is itself a retry of the client is not retried"),
    (
        "pipeline",
        "feedback_tokens max_observed_failures observed_cache_bytes query_vector_milliseconds \
         remembered_tools_bytes remembered_notes_bytes max_waiting_work",
        FIXED,
    ),
    ("toolsets.*", "limits", "the limits of documents and schemas have their defaults"),
    (
        "executor",
        "connect_timeout_seconds max_redirects max_repeats pool_idle_timeout_seconds pool_max_idle_per_host \
         max_requests_per_host token_refresh_seconds retry_after_tries retry_after_max_seconds",
        FIXED,
    ),
    ("embedding", "batch_texts max_text_chars", FIXED),
    (
        "embedding.endpoint",
        "connect_timeout_seconds timeout_seconds query_timeout_seconds pause_seconds connect_retries \
         max_answer_bytes",
        FIXED,
    ),
    ("scanner", "max_schema_bytes validator_cache_bytes", FIXED),
    (
        "planner",
        "temperature tries max_wait_seconds candidates outputs arguments conversation_chars description_chars \
         schema_bytes options option_chars client_tools_cache_bytes",
        FIXED,
    ),
    ("experience", "word_weight vector_weight", "words and meaning count alike in the ranking of lessons"),
    (
        "experience",
        "least_match query_chars near_duplicate note_actions lessons_per_scope key_chars value_chars",
        FIXED,
    ),
    (
        "procedures",
        "k questions critic_rounds temperature tries requests outline_steps step_chars shown_tools \
         request_chars template_closeness template_lead near_duplicate max_evidence max_steps max_inputs \
         description_chars",
        FIXED,
    ),
    (
        "learning",
        "pause_milliseconds batch max_waiting waiting_hours verdict_seconds lease_seconds tries \
         max_wait_seconds",
        FIXED,
    ),
    ("store", "queue_traces batch_traces batch_milliseconds spill_milliseconds replica_seconds", FIXED),
    (
        "embedding.fastembed",
        "model cache hub_url hub_token hub_timeout_seconds max_model_bytes",
        "models are not downloaded; `folder` has the files of one",
    ),
    ("store.postgres", "connect_milliseconds statement_milliseconds idle_seconds probe_milliseconds", FIXED),
];

/// Returns what applies instead of the key with this path, if it was removed.
pub(super) fn instead_of(path: &str) -> Option<&'static str> {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut removed = REMOVED.iter();
    let removed = removed.find(|(table, keys, _)| is_in(table, parent) && keys.split(' ').any(|key| key == name));
    removed.map(|(_, _, instead)| *instead)
}

/// Whether the path of a table is this one. A name in the file may contain dots, so `*` at the end is any rest.
fn is_in(table: &str, path: &str) -> bool {
    match table.strip_suffix('*') {
        Some(parent) => path.len() > parent.len() && path.starts_with(parent),
        None => table == path,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::parse;

    #[test]
    fn every_removed_key_is_an_error_that_names_its_replacement() {
        for &(table, keys, instead) in REMOVED {
            for key in keys.split(' ') {
                let text = match table {
                    "" => format!("[{key}]\nx = 1\n"),
                    "*" => format!("[policies]\n{key} = 1\n"),
                    _ => format!("[{}]\n{key} = 1\n", table.replace('*', "default")),
                };
                let error = parse(&text, Path::new(""), &|_| None).unwrap_err().to_string();
                assert!(error.contains("was removed") && error.contains(instead), "{text}{error}");
            }
        }
        assert_eq!(instead_of("server.listen"), None);
    }
}
