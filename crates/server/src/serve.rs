//! The router, and the loop that serves it on a socket.

use std::net::TcpListener;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio::runtime::Handle;

use crate::error::{ApiError, ServerError};
use crate::state::SharedState;
use crate::{api, guard, view, worker};

/// All routes, behind the request guard.
pub fn app(state: SharedState) -> Router {
    let (routes, description) = api::routes();
    routes
        .merge(view::routes(description))
        .fallback(view::not_found)
        .method_not_allowed_fallback(|| async {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here")
        })
        .layer(middleware::from_fn(on_blocking_thread))
        .layer(middleware::from_fn_with_state(state.clone(), guard::guard))
        .with_state(state)
}

/// Handles a request on a thread that may block: handlers read files, query SQLite and compute.
async fn on_blocking_thread(request: Request, next: Next) -> Response {
    let runtime = Handle::current();
    let handled = tokio::task::spawn_blocking(move || runtime.block_on(next.run(request)));
    handled.await.unwrap_or_else(|error| ApiError::internal(error).into_response())
}

/// Serves until `stop` returns true. Running jobs stop at a safe point and continue after the next start.
pub fn serve(
    state: SharedState,
    listener: TcpListener,
    stop: impl Fn() -> bool + Send + 'static,
) -> Result<(), ServerError> {
    let runtime = tokio::runtime::Runtime::new()?;
    let workers = worker::start(&state);
    let router = app(state.clone());
    let served = runtime.block_on(async move {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let stopped = async {
            while !stop() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            served = async { axum::serve(listener, router).await } => served,
            () = stopped => Ok(()),
        }
    });
    state.jobs.stop();
    workers.into_iter().for_each(|worker| {
        let _ = worker.join(); // a worker that panicked has logged it
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(served?)
}
