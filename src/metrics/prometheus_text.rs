//! The numbers of the process in the text format of Prometheus (version 0.0.4).
//!
//! Names follow the conventions of Prometheus: base units, `_total` for counters.

use crate::activity_counts::{BOUNDS, CLASSES, COUNTS, Durations};
use crate::metric_counters::{Counter, Metrics, Refusal};
use crate::sys::Usage;
use std::fmt::{Display, Write};
use std::time::Duration;

/// The name, the type and the meaning of each number.
const NUMBERS: &str = "\
gosling_build_info gauge The version of gosling.
gosling_http_connections gauge Open connections of clients.
gosling_http_connections_accepted_total counter Connections that were accepted.
gosling_http_requests_total counter Requests that reached a handler.
gosling_http_refused_requests_total counter Requests that were refused before they reached a handler, by reason.
gosling_http_received_bytes_total counter Bytes that clients sent.
gosling_http_sent_bytes_total counter Bytes that clients got.
gosling_sessions gauge Sessions with a live agent.
gosling_extensions gauge Active extensions of live sessions.
gosling_extension_loads_total counter Extensions that became active.
gosling_extension_load_failures_total counter Extensions that did not become active, by class of the failure.
gosling_extension_load_duration_seconds histogram How long the starts of extensions took that succeeded.
gosling_extension_restarts_total counter Servers of extensions that were restarted after a lost connection.
gosling_tool_call_errors_total counter Tool calls that failed, or whose result is an error.
gosling_tool_call_duration_seconds histogram How long tool calls took.
gosling_turns_total counter Turns that began.
gosling_turn_errors_total counter Turns that ended with an error.
gosling_tokens_total counter Tokens that models read and wrote, as they report them.
process_threads gauge Threads of the process.
process_resident_memory_bytes gauge Memory of the process that is in RAM.
process_open_fds gauge Open file descriptors.
process_cpu_seconds_total counter Processor time of the process.
";

/// All numbers as text. `sessions` are those with a live agent, `extensions` those of these sessions that are active.
pub(crate) fn render(
    metrics: &Metrics,
    sessions: usize,
    extensions: usize,
    usage: &Usage,
) -> String {
    let mut text = Text(String::with_capacity(8 << 10));
    let version = ("version", env!("CARGO_PKG_VERSION"));
    text.labelled("gosling_build_info", [(version, 1)]);
    let accepted = metrics.connections.get();
    let open = accepted.saturating_sub(metrics.connections_ended.get());
    text.number("gosling_http_connections", open);
    text.number("gosling_http_connections_accepted_total", accepted);
    text.number("gosling_http_requests_total", metrics.requests.get());
    let refused = Refusal::NAMES.split(' ').zip(&metrics.refused);
    let refused = refused.map(|(reason, count)| (("reason", reason), count.get()));
    text.labelled("gosling_http_refused_requests_total", refused);
    text.number("gosling_http_received_bytes_total", metrics.received.get());
    text.number("gosling_http_sent_bytes_total", metrics.sent.get());
    text.number("gosling_sessions", sessions);
    text.number("gosling_extensions", extensions);
    text.number("gosling_extension_loads_total", COUNTS.loads.get());
    let failed = CLASSES.iter().zip(&COUNTS.failed_loads);
    let failed = failed.map(|(class, count)| (("class", class.name()), count.get()));
    text.labelled("gosling_extension_load_failures_total", failed);
    text.durations(
        "gosling_extension_load_duration_seconds",
        &COUNTS.load_durations,
    );
    text.number("gosling_extension_restarts_total", COUNTS.restarts.get());
    text.number("gosling_tool_call_errors_total", COUNTS.failed_calls.get());
    text.durations("gosling_tool_call_duration_seconds", &COUNTS.call_durations);
    text.number("gosling_turns_total", metrics.turns.get());
    text.number("gosling_turn_errors_total", metrics.failed_turns.get());
    let tokens = [
        ("input", &metrics.input_tokens),
        ("output", &metrics.output_tokens),
    ];
    let tokens = tokens.map(|(direction, count)| (("direction", direction), count.get()));
    text.labelled("gosling_tokens_total", tokens);
    text.if_known("process_threads", usage.threads);
    text.if_known("process_resident_memory_bytes", usage.resident);
    text.if_known("process_open_fds", usage.files);
    let cpu = usage.cpu.map(|cpu| cpu.as_secs_f64());
    text.if_known("process_cpu_seconds_total", cpu);
    text.0
}

struct Text(String);

impl Text {
    fn head(&mut self, name: &str) {
        let mut lines = NUMBERS.lines().filter_map(|line| line.split_once(' '));
        let about = lines.find(|(it, _)| *it == name);
        let (kind, help) = about
            .and_then(|(_, it)| it.split_once(' '))
            .unwrap_or_default();
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn number(&mut self, name: &str, value: impl Display) {
        self.head(name);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn if_known(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// One line for each value of a label.
    fn labelled<'a>(
        &mut self,
        name: &str,
        counts: impl IntoIterator<Item = ((&'a str, &'a str), u64)>,
    ) {
        self.head(name);
        for ((label, value), count) in counts {
            let _ = writeln!(self.0, "{name}{{{label}=\"{value}\"}} {count}");
        }
    }

    fn durations(&mut self, name: &str, durations: &Durations) {
        self.head(name);
        let mut count = 0;
        let mut counts = durations.counts.iter().map(Counter::get);
        for (bound, more) in BOUNDS.iter().zip(&mut counts) {
            count += more;
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{bound}\"}} {count}");
        }
        count += counts.sum::<u64>();
        let sum = Duration::from_micros(durations.micros.get()).as_secs_f64();
        let _ = writeln!(
            self.0,
            "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
        );
    }
}

#[cfg(test)]
mod tests;
