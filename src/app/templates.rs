//! Templates of the messages to the model, and their reload when files change.

use callwright_common::watch::Watcher;
use callwright_judge::feedback::{self, TemplateError, Templates};

/// Loads the templates, and watches their folder where the settings enable it.
pub(super) fn load(settings: &feedback::Settings) -> Result<(Templates, Option<Watcher>), TemplateError> {
    let templates = Templates::load(settings)?;
    let watcher = feedback::watch(settings, &templates, |result| match result {
        Ok(()) => tracing::info!("templates reloaded"),
        Err(error) => tracing::error!(%error, "templates not reloaded; the previous ones stay in use"),
    });
    // A proxy whose templates do not reload is better than no proxy.
    let watcher = watcher.inspect_err(|error| tracing::error!(%error, "templates will not reload")).ok();
    Ok((templates, watcher))
}
