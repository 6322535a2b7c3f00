//! The numbers of the process in the text format of Prometheus (version 0.0.4).
//!
//! Names follow the conventions of Prometheus: base units, `_total` for counters.

use crate::metrics::{BOUNDS, Counter, Durations, Metrics, Refusal};
use std::fmt::{Display, Write};
use std::time::Duration;

/// What is counted when it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    /// Sessions with a live agent.
    pub(crate) sessions: usize,
    /// Extensions of these sessions that are active.
    pub(crate) extensions: usize,
    /// The threads of the process; `None` where the system does not tell.
    pub(crate) threads: Option<u64>,
    /// The memory of the process that is in RAM, in bytes.
    pub(crate) resident: Option<u64>,
    /// The processor time of the process.
    pub(crate) cpu: Option<Duration>,
    /// The open file descriptors of the process.
    pub(crate) files: Option<u64>,
}

/// All numbers as text.
pub(crate) fn render(metrics: &Metrics, gauges: &Gauges) -> String {
    let mut text = Text(String::with_capacity(8 << 10));
    text.info();
    let open = metrics
        .connections
        .get()
        .saturating_sub(metrics.connections_ended.get());
    text.gauge(
        "gosling_http_connections",
        "Open connections of clients.",
        open,
    );
    text.counter(
        "gosling_http_connections_accepted_total",
        "Connections that were accepted.",
        &metrics.connections,
    );
    text.counter(
        "gosling_http_requests_total",
        "Requests that reached a handler.",
        &metrics.requests,
    );
    text.labelled(
        "gosling_http_refused_requests_total",
        "Requests that were refused before they reached a handler, by reason.",
        "reason",
        metrics
            .refused()
            .map(|(refusal, count)| (reason(refusal), count)),
    );
    text.counter(
        "gosling_http_received_bytes_total",
        "Bytes that clients sent.",
        &metrics.received,
    );
    text.counter(
        "gosling_http_sent_bytes_total",
        "Bytes that clients got.",
        &metrics.sent,
    );
    text.gauge(
        "gosling_sessions",
        "Sessions with a live agent.",
        gauges.sessions,
    );
    text.gauge(
        "gosling_extensions",
        "Active extensions of live sessions.",
        gauges.extensions,
    );
    text.counter(
        "gosling_extension_loads_total",
        "Extensions that became active.",
        &metrics.loads,
    );
    text.labelled(
        "gosling_extension_load_failures_total",
        "Extensions that did not become active, by class of the failure.",
        "class",
        metrics
            .failed_loads()
            .map(|(class, count)| (class.name(), count)),
    );
    text.durations(
        "gosling_extension_load_duration_seconds",
        "How long the starts of extensions took that succeeded.",
        &metrics.load_durations,
    );
    text.counter(
        "gosling_extension_restarts_total",
        "Servers of extensions that were restarted after a lost connection.",
        &metrics.restarts,
    );
    text.counter(
        "gosling_tool_call_errors_total",
        "Tool calls that failed, or whose result is an error.",
        &metrics.failed_calls,
    );
    text.durations(
        "gosling_tool_call_duration_seconds",
        "How long tool calls took.",
        &metrics.call_durations,
    );
    text.counter("gosling_turns_total", "Turns that began.", &metrics.turns);
    text.counter(
        "gosling_turn_errors_total",
        "Turns that ended with an error.",
        &metrics.failed_turns,
    );
    text.labelled(
        "gosling_tokens_total",
        "Tokens that models read and wrote, as they report them.",
        "direction",
        [
            ("input", &metrics.input_tokens),
            ("output", &metrics.output_tokens),
        ]
        .into_iter(),
    );
    text.process(gauges);
    text.0
}

fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Busy => "busy",
        Refusal::Key => "key",
        Refusal::Origin => "origin",
        Refusal::Route => "route",
        Refusal::Size => "size",
        Refusal::Timeout => "timeout",
        Refusal::Malformed => "malformed",
    }
}

struct Text(String);

impl Text {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "gauge");
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, counter: &Counter) {
        self.head(name, help, "counter");
        let _ = writeln!(self.0, "{name} {}", counter.get());
    }

    fn labelled<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        counters: impl Iterator<Item = (&'a str, &'a Counter)>,
    ) {
        self.head(name, help, "counter");
        for (value, counter) in counters {
            let _ = writeln!(self.0, "{name}{{{label}=\"{value}\"}} {}", counter.get());
        }
    }

    fn durations(&mut self, name: &str, help: &str, durations: &Durations) {
        self.head(name, help, "histogram");
        let mut count = 0;
        let mut counts = durations.counts();
        for (bound, more) in BOUNDS.iter().zip(&mut counts) {
            count += more;
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{bound}\"}} {count}");
        }
        count += counts.sum::<u64>();
        let sum = durations.total().as_secs_f64();
        let _ = writeln!(
            self.0,
            "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
        );
    }

    fn info(&mut self) {
        self.head("gosling_build_info", "The version of gosling.", "gauge");
        let version = env!("CARGO_PKG_VERSION");
        let _ = writeln!(self.0, "gosling_build_info{{version=\"{version}\"}} 1");
    }

    fn process(&mut self, gauges: &Gauges) {
        if let Some(threads) = gauges.threads {
            self.gauge("process_threads", "Threads of the process.", threads);
        }
        if let Some(resident) = gauges.resident {
            let help = "Memory of the process that is in RAM.";
            self.gauge("process_resident_memory_bytes", help, resident);
        }
        if let Some(files) = gauges.files {
            self.gauge("process_open_fds", "Open file descriptors.", files);
        }
        if let Some(cpu) = gauges.cpu {
            let name = "process_cpu_seconds_total";
            self.head(name, "Processor time of the process.", "counter");
            let _ = writeln!(self.0, "{name} {}", cpu.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_count_up_to_each_bound() {
        let durations = Durations::new();
        for millis in [0, 1, 2, 1_000, 1_001, 500_000] {
            durations.record(Duration::from_millis(millis));
        }
        let mut text = Text(String::new());
        text.durations("d", "Help.", &durations);
        for line in [
            "# TYPE d histogram",
            "d_bucket{le=\"0.001\"} 2",
            "d_bucket{le=\"0.005\"} 3",
            "d_bucket{le=\"1\"} 4",
            "d_bucket{le=\"2.5\"} 5",
            "d_bucket{le=\"120\"} 5",
            "d_bucket{le=\"+Inf\"} 6",
            "d_sum 502.004",
            "d_count 6",
        ] {
            assert!(text.0.lines().any(|it| it == line), "{line}: {}", text.0);
        }
    }
}
