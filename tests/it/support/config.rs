//! Configuration files for the tests. This is the only module with the keys that every test requires.

/// Returns a configuration with both listeners on free ports, a store in the proxy's folder, and one upstream. It ends
/// inside the upstream's table, so a test can append keys of that upstream, then further tables.
pub(crate) fn config(upstream: &str) -> String {
    config_with_store(upstream, "sqlite:traces.sqlite3")
}

/// Works like [`config`], with another store.
pub(crate) fn config_with_store(upstream: &str, store: &str) -> String {
    config_with_server(upstream, store, "")
}

/// Works like [`config_with_store`], with more keys of the store.
pub(crate) fn config_with_store_keys(upstream: &str, store: &str, keys: &str) -> String {
    config_with_keys(upstream, store, keys, "")
}

/// Works like [`config_with_store`], with more keys of the listeners.
pub(crate) fn config_with_server(upstream: &str, store: &str, server: &str) -> String {
    config_with_keys(upstream, store, "", server)
}

fn config_with_keys(upstream: &str, store: &str, store_keys: &str, server: &str) -> String {
    format!(
        r#"default_upstream = "scripted"

[server]
listen = "127.0.0.1:0"
operator_listen = "127.0.0.1:0"
{server}

[store]
url = "{store}"
{store_keys}

[upstreams.scripted]
base_url = "{upstream}"
"#
    )
}
