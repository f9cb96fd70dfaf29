//! The router, and a socket for it.

use std::net::TcpListener;
use std::time::Duration;

use axum::http::StatusCode;
use axum::{Router, middleware};

use crate::error::Problem;
use crate::state::{Shared, StartError};
use crate::{api, guard, view, work};

/// Everything the server answers, behind its guard.
pub fn app(state: Shared) -> Router {
    let (routes, description) = api::routes(&state.settings.limits);
    routes
        .merge(view::routes(description))
        .fallback(view::missing)
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this cannot be done here")
        })
        .layer(middleware::from_fn_with_state(state.clone(), guard::guard))
        .with_state(state)
}

/// Serves until `stop` says so; jobs end where nothing is lost and go on with the next start.
pub fn serve(
    state: Shared,
    listener: TcpListener,
    stop: impl Fn() -> bool + Send + 'static,
) -> Result<(), StartError> {
    let address = listener.local_addr();
    let failed = move |source: std::io::Error| {
        let unknown = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
        StartError::Address { address: *address.as_ref().unwrap_or(&unknown), source }
    };
    let runtime = tokio::runtime::Runtime::new().map_err(&failed)?;
    let workers = work::start(&state);
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
        let _ = worker.join(); // a worker that broke off has told so
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    served.map_err(failed)
}
