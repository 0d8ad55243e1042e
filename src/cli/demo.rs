//! `callwright demo`: runs the proxy between a scripted model and three sample APIs, without key, network or files.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::errors::VerbResult;
use super::output::{self, outln};
use super::setup::runtime;
use crate::app::{self, App};
use crate::config::{self, ConfigRequest};
use callwright_demo::{self as demo, Detail, PlayOptions, Stage};

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// Show all conversations in full: also plans, tools of the client, streams and lessons.
    #[arg(long)]
    all: bool,
    /// Show the difference that the conversations made in the metrics.
    #[arg(long)]
    metrics: bool,
    /// Keep everything running until SIGTERM or SIGINT, on the default ports, with a minute of varied traffic for the
    /// console and dashboards.
    #[arg(long)]
    serve: bool,
    /// Address of the client listener. Default: a free port; with --serve the one of `serve`.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Address of the operator listener. Default: a free port; with --serve the one of `serve`.
    #[arg(long, value_name = "ADDRESS:PORT")]
    operator_listen: Option<SocketAddr>,
    /// Seconds of traffic with --serve.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "serve")]
    traffic: u64,
}

/// Commands that a reader of the demo may continue with.
const NEXT: &str = "
Next
    callwright demo --serve    keeps this running: look around in the console
    callwright init            writes a configuration for your model provider and your API
    callwright serve --openapi FILE_OR_URL --upstream URL --model NAME    tries your API without any file
";

pub(super) fn run(arguments: DemoArguments) -> VerbResult {
    runtime()?.block_on(async {
        let temporary = config::process_environment("TMPDIR").unwrap_or_else(|| "/tmp".into());
        let world = demo::start(Path::new(&temporary)).await?;
        let file = world.directory().join("callwright.toml");
        std::fs::write(&file, &world.config_toml)?;
        let loaded = config::load(&request(&arguments, file), &config::process_environment)?;
        let app = App::start(loaded.settings, &loaded.base_dir).await?;
        let model_url = world.model.url();
        let stage = Stage { client_url: app.client_url(), operator_url: app.operator_url(), model_url: &model_url };
        let detail = if arguments.all { Detail::Full } else { Detail::Brief };
        let options = PlayOptions { detail, shows_metrics: arguments.metrics };
        let mut out = anstream::stdout();
        let played = demo::play(&stage, options, &mut out).await?;
        if arguments.serve {
            demo::invite(app.client_url(), app.operator_url(), &mut out)?;
            out.flush()?;
            serve(app.client_url(), Duration::from_secs(arguments.traffic)).await;
        } else {
            output::write(format_args!("{NEXT}"));
        }
        app.stop().await;
        match played.iter().find(|played| !played.as_promised) {
            Some(failed) => Err(format!("the conversation `{}` did not have the expected result", failed.title).into()),
            None => Ok(()),
        }
    })
}

/// Returns the configuration of the demo with the addresses of the arguments.
fn request(arguments: &DemoArguments, file: PathBuf) -> ConfigRequest {
    let DemoArguments { serve, mut listen, mut operator_listen, .. } = *arguments;
    if serve {
        let usual = config::Settings::default().server;
        listen = listen.or(Some(usual.listen));
        operator_listen = operator_listen.or(Some(usual.operator_listen));
    }
    ConfigRequest { file: Some(file), listen, operator_listen }
}

/// Sends traffic for a while, and waits for the signal to end.
async fn serve(client_url: &str, duration: Duration) {
    let traffic = async {
        if !duration.is_zero() {
            outln!("{} s of varied traffic begin now.", duration.as_secs());
            let held = demo::traffic(client_url, duration).await;
            outln!("{held} conversations were held.");
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = traffic => {}
        _ = app::termination_requested() => {}
    }
}
