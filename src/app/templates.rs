//! Templates of the messages to the model, and their reload when files change.

use callwright_common::watch::Watcher;
use callwright_judge::feedback::{self, TemplateError, Templates};

/// Reads the templates, and watches their folder where the settings say so.
pub(super) fn load(settings: &feedback::Settings) -> Result<(Templates, Option<Watcher>), TemplateError> {
    let templates = Templates::load(settings)?;
    let watcher = feedback::watch(settings, &templates, |result| match result {
        Ok(()) => tracing::info!("templates reloaded"),
        Err(error) => tracing::error!(%error, "templates not reloaded: the old ones stay in use"),
    });
    // Templates that are in use and do not reload are better than no proxy.
    let watcher = watcher.inspect_err(|error| tracing::error!(%error, "templates will not reload")).ok();
    Ok((templates, watcher))
}
