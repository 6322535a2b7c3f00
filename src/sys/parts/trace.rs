//! The trace that the work of a thread belongs to (W3C Trace Context), which requests to other servers carry on.

use std::sync::{Arc, OnceLock};

/// The fields `traceparent` and `tracestate`; the latter may be empty.
pub type Trace = (Arc<str>, Arc<str>);

static SOURCE: OnceLock<fn() -> Option<Trace>> = OnceLock::new();

/// Says how the trace of a thread is found. Only the first call has an effect.
pub fn set_trace_source(source: fn() -> Option<Trace>) {
    let _ = SOURCE.set(source);
}

/// The trace that the work of this thread belongs to.
pub fn current_trace() -> Option<Trace> {
    SOURCE.get()?()
}
