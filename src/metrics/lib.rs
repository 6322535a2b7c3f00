//! `GET /metrics`: what this process has done, in numbers for Prometheus. The core counts, see
//! [`gosling_core::metrics`]; what is here writes the numbers as text.
#![forbid(unsafe_code)]

mod endpoint;
mod rendering;

use gosling_core::part::Part;
use gosling_core::{agent, api, http, metrics, sys};

/// What this adds to gosling.
pub const PART: Part = Part {
    routes: Some(endpoint::routes),
    ..Part::new("metrics")
};
