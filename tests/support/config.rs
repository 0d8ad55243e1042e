//! Configuration files for the tests. The only place that knows the keys which every test needs.

/// A configuration with both listeners on free ports, a store in the proxy's folder, and one upstream. It ends inside the
/// upstream's table, so that a test can append keys of that upstream, then tables of its own.
pub(crate) fn config(upstream: &str) -> String {
    config_with_store(upstream, "sqlite:traces.sqlite3")
}

/// Like [`config`], with another store.
pub(crate) fn config_with_store(upstream: &str, store: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\noperator_listen = \"127.0.0.1:0\"\n\n[store]\nurl = \"{store}\"\n\n\
         [upstreams.default]\nbase_url = \"{upstream}\"\n"
    )
}
