//! Comparison of two configurations.

use serde_json::Value;

use super::settings::Settings;

/// Returns the keys whose values differ, in the order of the file. Secrets are not serialised: their table is named if
/// nothing else in it differs.
pub fn changed_keys(before: &Settings, after: &Settings) -> Vec<String> {
    let mut keys = Vec::new();
    let values = (serde_json::to_value(before), serde_json::to_value(after));
    if let (Ok(before), Ok(after)) = values {
        compare(&before, &after, "", &mut keys);
    }
    for table in changed_tables(before, after) {
        if !keys.iter().any(|key| key == table || key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))) {
            keys.push(format!("{table} (a secret)"));
        }
    }
    keys
}

/// Appends the keys below `place` whose values differ.
fn compare(before: &Value, after: &Value, place: &str, keys: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            keys.push(place.to_owned());
        }
        return;
    };
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
        match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) => compare(old, new, &place, keys),
            _ => keys.push(place),
        }
    }
}

/// Returns the tables that differ, including secrets.
fn changed_tables(before: &Settings, after: &Settings) -> Vec<&'static str> {
    macro_rules! tables {
        ($($table:ident),+ $(,)?) => {{
            // Destructured, so that the compiler reports a missing table.
            let Settings { $($table),+ } = before;
            [$((stringify!($table), *$table != after.$table)),+]
        }};
    }
    let tables = tables!(
        default_upstream, server, keys, prices, upstreams, aliases, pass_through, pipeline, toolsets, reload, executor,
        approvals, embedding, scanner, policies, representations, planner, experience, procedures, learning,
        own_requests, store, telemetry,
    );
    tables.into_iter().filter(|(_, differs)| *differs).map(|(table, _)| table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_are_named_and_secrets_by_their_table() {
        let before = Settings::default();
        assert_eq!(changed_keys(&before, &before), Vec::<String>::new());
        let mut after = before.clone();
        after.server.body_limit_bytes += 1;
        after.server.tls.key = "key.pem".to_owned();
        after.aliases.insert("fast".to_owned(), Default::default());
        if let Some(upstream) = after.upstreams.get_mut("default") {
            upstream.api_key = "sk-canary".into();
        }
        let keys = changed_keys(&before, &after);
        let expected = ["server.body_limit_bytes", "server.tls.key", "upstreams.default.api_key", "aliases.fast"];
        assert_eq!(keys, expected, "from none to one, a secret shows");
        let mut other = after.clone();
        if let Some(upstream) = other.upstreams.get_mut("default") {
            upstream.api_key = "sk-other".into();
        }
        assert_eq!(changed_keys(&after, &other), ["upstreams (a secret)"]);
    }
}
