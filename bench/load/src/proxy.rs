//! Bare proxy: hyper's server and hyper-util's client on the same runtime, without any inspection. The floor for a
//! proxy of this construction; `bench/run` measures it beside nginx and Callwright.

use std::io::Write;
use std::net::SocketAddr;

use http::header::{CONNECTION, HOST};
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

/// Arguments of `proxy`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Origin to which requests are forwarded, such as `http://127.0.0.1:8000`.
    upstream: Uri,
    /// Address to listen on; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

type Body = UnsyncBoxBody<Bytes, hyper::Error>;
type Upstream = Client<HttpConnector, Incoming>;

/// Prints the address, then serves until the process is terminated.
pub(crate) fn run(arguments: &Arguments) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client: Upstream = Client::builder(TokioExecutor::new()).build(connector);
        let listener = TcpListener::bind(arguments.listen).await?;
        let mut stdout = std::io::stdout();
        writeln!(stdout, "proxy listening http://{}", listener.local_addr()?)?;
        stdout.flush()?;
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let (client, upstream) = (client.clone(), arguments.upstream.clone());
            tokio::spawn(async move {
                let service = service_fn(|request| forward(request, &client, &upstream));
                // Disconnects of clients are not errors.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
            });
        }
    })
}

async fn forward(
    mut request: Request<Incoming>,
    client: &Upstream,
    upstream: &Uri,
) -> Result<Response<Body>, http::Error> {
    let mut parts = upstream.clone().into_parts();
    parts.path_and_query = request.uri().path_and_query().cloned().or_else(|| Some(PathAndQuery::from_static("/")));
    *request.uri_mut() = Uri::from_parts(parts)?;
    request.headers_mut().remove(HOST);
    request.headers_mut().remove(CONNECTION);
    match client.request(request).await {
        Ok(response) => Ok(response.map(BodyExt::boxed_unsync)),
        Err(_) => {
            let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
            Response::builder().status(StatusCode::BAD_GATEWAY).body(body)
        }
    }
}
