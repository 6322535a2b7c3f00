//! `GET /metrics`: numbers for Prometheus. An addition of gosling.

use crate::agent::Registry;
use crate::api::with;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::metrics::METRICS;
use crate::rendering::{Gauges, render};
use crate::sys;
use std::sync::Arc;

const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router.get("/metrics", Keyed, with(registry, metrics))
}

fn metrics(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let (sessions, extensions) = registry.live_counts();
    let usage = sys::usage();
    let text = render(
        &METRICS,
        &Gauges {
            sessions,
            extensions,
            threads: usage.threads,
            resident: usage.resident,
            cpu: usage.cpu,
            files: usage.files,
        },
    );
    Ok(Response::bytes(TYPE, text))
}
