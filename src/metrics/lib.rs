//! `GET /metrics`: what this process has done, in numbers for Prometheus; an addition of gosling. The core counts, see
//! [`gosling_core::metric_counters`]; what is here writes the numbers as text.
#![forbid(unsafe_code)]

mod prometheus_text;

use gosling_core::agent::Registry;
use gosling_core::api::with;
use gosling_core::http::{Access::Keyed, Error, Request, Response};
use gosling_core::part::Part;
use gosling_core::{metric_counters, sys};

/// What this adds to gosling.
pub const PART: Part = Part {
    routes: Some(|router, registry| router.get("/metrics", Keyed, with(registry, get_metrics))),
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
