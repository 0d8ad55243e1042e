//! `callwright demo`: runs the proxy between a scripted model and three sample APIs, without key, network or files.

use std::path::Path;

use clap::Args;

use super::errors::VerbResult;
use super::setup::{load_config, runtime};
use crate::app::{self, App};
use crate::config;
use callwright_demo as demo;

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// Keep everything running until SIGTERM or SIGINT, for use with a client.
    #[arg(long)]
    serve: bool,
}

pub(super) fn run(arguments: DemoArguments) -> VerbResult {
    let DemoArguments { serve } = arguments;
    runtime()?.block_on(async {
        let temporary = config::process_environment("TMPDIR").unwrap_or_else(|| "/tmp".into());
        let world = demo::start(Path::new(&temporary)).await?;
        let file = world.directory().join("callwright.toml");
        std::fs::write(&file, &world.config_toml)?;
        let loaded = load_config(Some(file))?;
        let app = App::start(loaded.settings, &loaded.base_dir).await?;
        let mut out = anstream::stdout();
        let played = demo::play(app.client_url(), app.operator_url(), &mut out).await?;
        if serve {
            demo::invite(app.client_url(), app.operator_url(), &mut out)?;
            app::termination_requested().await;
        }
        app.stop().await;
        match played.iter().find(|played| !played.as_promised) {
            Some(failed) => Err(format!("the conversation `{}` did not have the expected result", failed.title).into()),
            None => Ok(()),
        }
    })
}
