//! Keys of earlier versions, and what applies instead.

/// Keys of one table that were removed for one reason.
struct Removed {
    /// Path of the table; `*` is any name. Empty: the top of the file.
    table: &'static str,
    /// Names of the keys.
    keys: &'static [&'static str],
    /// Behaviour that replaces them.
    instead: &'static str,
}

/// Replacement of most limits.
const FIXED: &str = "its default always applies";

/// All removed keys.
const REMOVED: &[Removed] = &[
    Removed {
        table: "",
        keys: &["catalog"],
        instead: "documents are reloaded by `[reload]` (`files`, `remote_seconds`)",
    },
    Removed { table: "", keys: &["explain"], instead: FIXED },
    Removed {
        table: "",
        keys: &["repair"],
        instead: "calls in text are recognised in the built-in notations; policies have the rules of repair and rescue",
    },
    Removed { table: "", keys: &["feedback"], instead: "messages to the model have built-in templates only" },
    Removed {
        table: "*",
        keys: &["reload", "reload_quiet_milliseconds"],
        instead: "`[reload] files` applies to all files, which are read again 200 ms after a change",
    },
    Removed {
        table: "server",
        keys: &["http2_ping_timeout_seconds"],
        instead: "a PING frame must be acknowledged within `http2_ping_seconds`, and at most 20 s",
    },
    Removed {
        table: "server",
        keys: &["tls_handshake_timeout_seconds", "tls_reload_quiet_milliseconds"],
        instead: FIXED,
    },
    Removed { table: "keys", keys: &["sync_milliseconds", "reserved_answer_tokens"], instead: FIXED },
    Removed {
        table: "upstreams.*",
        keys: &[
            "retry_statuses",
            "retry_max_wait_seconds",
            "circuit_window_seconds",
            "circuit_probes",
            "pool_idle_timeout_seconds",
            "pool_max_idle",
        ],
        instead: FIXED,
    },
    Removed {
        table: "upstreams.*",
        keys: &["repeat_clients_retries"],
        instead: "a request that is itself a retry of the client is not retried",
    },
    Removed {
        table: "pipeline",
        keys: &[
            "feedback_tokens",
            "max_observed_failures",
            "observed_cache_bytes",
            "query_vector_milliseconds",
            "remembered_tools_bytes",
            "remembered_notes_bytes",
            "max_waiting_work",
        ],
        instead: FIXED,
    },
    Removed {
        table: "toolsets.*",
        keys: &["limits"],
        instead: "the limits of documents and schemas have their defaults",
    },
    Removed {
        table: "executor",
        keys: &[
            "connect_timeout_seconds",
            "max_redirects",
            "max_repeats",
            "pool_idle_timeout_seconds",
            "pool_max_idle_per_host",
            "max_requests_per_host",
            "token_refresh_seconds",
            "retry_after_tries",
            "retry_after_max_seconds",
        ],
        instead: FIXED,
    },
    Removed { table: "embedding", keys: &["batch_texts", "max_text_chars"], instead: FIXED },
    Removed {
        table: "embedding.endpoint",
        keys: &[
            "connect_timeout_seconds",
            "timeout_seconds",
            "query_timeout_seconds",
            "pause_seconds",
            "connect_retries",
            "max_answer_bytes",
        ],
        instead: FIXED,
    },
    Removed { table: "scanner", keys: &["max_schema_bytes", "validator_cache_bytes"], instead: FIXED },
    Removed {
        table: "planner",
        keys: &[
            "temperature",
            "tries",
            "max_wait_seconds",
            "candidates",
            "outputs",
            "arguments",
            "conversation_chars",
            "description_chars",
            "schema_bytes",
            "options",
            "option_chars",
            "client_tools_cache_bytes",
        ],
        instead: FIXED,
    },
    Removed {
        table: "experience",
        keys: &["word_weight", "vector_weight"],
        instead: "words and meaning count alike in the ranking of lessons",
    },
    Removed {
        table: "experience",
        keys: &[
            "least_match",
            "query_chars",
            "near_duplicate",
            "note_actions",
            "lessons_per_scope",
            "key_chars",
            "value_chars",
        ],
        instead: FIXED,
    },
    Removed {
        table: "procedures",
        keys: &[
            "k",
            "questions",
            "critic_rounds",
            "temperature",
            "tries",
            "requests",
            "outline_steps",
            "step_chars",
            "shown_tools",
            "request_chars",
            "template_closeness",
            "template_lead",
            "near_duplicate",
            "max_evidence",
            "max_steps",
            "max_inputs",
            "description_chars",
        ],
        instead: FIXED,
    },
    Removed {
        table: "learning",
        keys: &[
            "pause_milliseconds",
            "batch",
            "max_waiting",
            "waiting_hours",
            "verdict_seconds",
            "lease_seconds",
            "tries",
            "max_wait_seconds",
        ],
        instead: FIXED,
    },
    Removed {
        table: "store",
        keys: &["queue_traces", "batch_traces", "batch_milliseconds", "spill_milliseconds", "replica_seconds"],
        instead: FIXED,
    },
    Removed {
        table: "embedding.fastembed",
        keys: &["model", "cache", "hub_url", "hub_token", "hub_timeout_seconds", "max_model_bytes"],
        instead: "models are not downloaded; `folder` has the files of one",
    },
    Removed {
        table: "store.postgres",
        keys: &["connect_milliseconds", "statement_milliseconds", "idle_seconds", "probe_milliseconds"],
        instead: FIXED,
    },
];

/// Returns what applies instead of the key with this path, if it was removed.
pub(super) fn instead_of(path: &str) -> Option<&'static str> {
    let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
    let removed = REMOVED.iter().find(|removed| is_in(removed.table, table) && removed.keys.contains(&name));
    removed.map(|removed| removed.instead)
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
    fn every_removed_key_is_an_error_that_names_what_applies_instead() {
        for &Removed { table, keys, instead } in REMOVED {
            for key in keys {
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
