//! The router, and the loops that serve it on a socket and an agent on standard input and output.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::error::{ApiError, ServerError};
use crate::settings::Settings;
use crate::state::SharedState;
use crate::{api, guard, mcp, view, worker};

/// All routes, behind the request guard.
pub fn app(state: SharedState) -> Router {
    let (routes, description) = api::routes();
    routes
        .merge(view::routes(description))
        .route_service("/mcp", mcp::http(&state))
        .fallback(view::not_found)
        .method_not_allowed_fallback(|| async {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here")
        })
        .layer(middleware::from_fn_with_state(state.clone(), guard::guard))
        .layer(RequestBodyTimeoutLayer::new(state.settings.read_timeout))
        .with_state(state)
}

/// Serves until `stop` returns true. Running jobs stop at a safe point and continue after the next start.
pub fn serve(
    state: SharedState,
    listener: TcpListener,
    stop: impl Fn() -> bool + Send + 'static,
) -> Result<(), ServerError> {
    let (router, settings) = (app(state.clone()), state.settings.clone());
    let serve = async move {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        Ok(accept(listener, router, &settings).await?)
    };
    work_during(&state, serve, stop)
}

/// Serves the agent on standard input and output until it goes or `stop` returns true.
pub fn serve_agent(
    state: SharedState,
    stop: impl Fn() -> bool + Send + 'static,
) -> Result<(), ServerError> {
    work_during(&state, mcp::serve_stdio(state.clone()), stop)
}

/// Runs jobs while `serve` does, until `stop` returns true.
fn work_during(
    state: &SharedState,
    serve: impl Future<Output = Result<(), ServerError>>,
    stop: impl Fn() -> bool,
) -> Result<(), ServerError> {
    let runtime = tokio::runtime::Runtime::new()?;
    let workers = worker::start(state);
    let served = runtime.block_on(async {
        let stopped = async {
            while !stop() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            served = serve => served,
            () = stopped => Ok(()),
        }
    });
    state.jobs.stop();
    workers.into_iter().for_each(|worker| {
        let _ = worker.join(); // a worker that panicked has logged it
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Serves every connection in a task of its own; beyond the limit, new ones wait until another one ends.
async fn accept(
    listener: tokio::net::TcpListener,
    router: Router,
    settings: &Settings,
) -> std::io::Result<()> {
    let connections = Arc::new(Semaphore::new(settings.max_connections));
    let mut http = auto::Builder::new(TokioExecutor::new()).http1_only();
    http.http1().timer(TokioTimer::new()).header_read_timeout(settings.read_timeout);
    loop {
        let permit = connections.clone().acquire_owned().await.map_err(std::io::Error::other)?;
        let stream = match listener.accept().await {
            Ok((stream, _)) => TokioIo::new(stream),
            Err(error) => {
                // Too many open files, or a client that has gone already.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (http, service) = (http.clone(), TowerToHyperService::new(router.clone()));
        tokio::spawn(async move {
            if let Err(error) = http.serve_connection(stream, service).await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(permit);
        });
    }
}
