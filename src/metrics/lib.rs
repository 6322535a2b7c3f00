//! `GET /metrics`: what this process has done, in numbers for Prometheus; an addition of gosling. The core counts what the
//! HTTP server, turns and models do, see [`gosling_core::metric_counters`]; `activity_counts` counts what extensions and
//! their tools do, and `prometheus_text` writes the numbers as text.
#![forbid(unsafe_code)]

mod activity_counts;
mod prometheus_text;

use crate::activity_counts::Counting;
use gosling_core::agent::Registry;
use gosling_core::api::with;
use gosling_core::http::{Access::Keyed, Error, Request, Response};
use gosling_core::part::Part;
use gosling_core::{activity, extension, metric_counters, sys};
use std::sync::Arc;

/// What this adds to gosling.
pub const PART: Part = Part {
    routes: Some(|router, registry| router.get("/metrics", Keyed, with(registry, get_metrics))),
    recorder: Some(|_, _| Some(Arc::new(Counting))),
    ..Part::new("metrics")
};

fn get_metrics(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let (sessions, extensions) = registry.live_counts();
    let text = prometheus_text::render(
        &metric_counters::METRICS,
        sessions,
        extensions,
        &sys::usage(),
    );
    Ok(Response::bytes(
        "text/plain; version=0.0.4; charset=utf-8",
        text,
    ))
}
