//! What this process has done, in numbers, for `GET /metrics`: the text format of Prometheus (version 0.0.4).
//!
//! The numbers are of the process, whatever number of servers it has. Counting is one addition to an atomic
//! number, without a lock. Names follow the conventions of Prometheus: base units, `_total` for counters.

use crate::extension::Class;
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
pub struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Counter(AtomicU64::new(0))
    }

    /// Adds to it.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The upper bounds of durations, in seconds.
const BOUNDS: [f64; 11] = [
    0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0,
];

/// How many durations are at most as long as each bound.
pub struct Durations {
    /// By bound; the last counts those above all bounds.
    counts: [Counter; BOUNDS.len() + 1],
    micros: Counter,
}

impl Durations {
    const fn new() -> Self {
        Durations {
            counts: [const { Counter::new() }; BOUNDS.len() + 1],
            micros: Counter::new(),
        }
    }

    /// Adds a duration.
    pub fn record(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let at = BOUNDS.iter().position(|bound| seconds <= *bound);
        self.counts[at.unwrap_or(BOUNDS.len())].add(1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.add(micros);
    }
}

/// Why the HTTP server refuses a request before it reaches a handler.
#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    /// There is no free connection or thread.
    Busy,
    /// The key is missing or wrong.
    Key,
    /// It has a name or an origin of another site.
    Origin,
    /// There is no such path or method.
    Route,
    /// It is too large.
    Size,
    /// It took too long to arrive.
    Timeout,
    /// It is not valid HTTP.
    Malformed,
}

impl Refusal {
    const ALL: [(Refusal, &str); 7] = [
        (Refusal::Busy, "busy"),
        (Refusal::Key, "key"),
        (Refusal::Origin, "origin"),
        (Refusal::Route, "route"),
        (Refusal::Size, "size"),
        (Refusal::Timeout, "timeout"),
        (Refusal::Malformed, "malformed"),
    ];

    /// The refusal that an error status stands for.
    pub fn of_status(status: u16) -> Self {
        match status {
            401 => Refusal::Key,
            403 => Refusal::Origin,
            404 | 405 => Refusal::Route,
            408 => Refusal::Timeout,
            413 | 414 | 431 => Refusal::Size,
            503 => Refusal::Busy,
            _ => Refusal::Malformed,
        }
    }
}

/// The classes of failed starts of extensions.
const CLASSES: [Class; 6] = [
    Class::Config,
    Class::Setup,
    Class::Initialize,
    Class::Execution,
    Class::Timeout,
    Class::Security,
];

/// All numbers.
pub struct Metrics {
    /// Connections that were accepted.
    pub connections: Counter,
    /// Those of them that have ended.
    pub connections_ended: Counter,
    /// Requests that reached a handler.
    pub requests: Counter,
    refused: [Counter; Refusal::ALL.len()],
    /// Bytes that clients sent.
    pub received: Counter,
    /// Bytes that clients got.
    pub sent: Counter,
    /// Extensions that became active.
    pub loads: Counter,
    failed_loads: [Counter; CLASSES.len()],
    /// How long the starts of extensions took that succeeded.
    pub load_durations: Durations,
    /// Servers that were restarted after a lost connection.
    pub restarts: Counter,
    /// Tool calls that failed, or whose result is an error.
    pub failed_calls: Counter,
    /// How long tool calls took.
    pub call_durations: Durations,
    /// Turns that began.
    pub turns: Counter,
    /// Turns that ended with an error.
    pub failed_turns: Counter,
    /// Tokens that models read.
    pub input_tokens: Counter,
    /// Tokens that models wrote.
    pub output_tokens: Counter,
}

/// The numbers of this process.
pub static METRICS: Metrics = Metrics {
    connections: Counter::new(),
    connections_ended: Counter::new(),
    requests: Counter::new(),
    refused: [const { Counter::new() }; Refusal::ALL.len()],
    received: Counter::new(),
    sent: Counter::new(),
    loads: Counter::new(),
    failed_loads: [const { Counter::new() }; CLASSES.len()],
    load_durations: Durations::new(),
    restarts: Counter::new(),
    failed_calls: Counter::new(),
    call_durations: Durations::new(),
    turns: Counter::new(),
    failed_turns: Counter::new(),
    input_tokens: Counter::new(),
    output_tokens: Counter::new(),
};

/// What is counted when it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges {
    /// Sessions with a live agent.
    pub sessions: usize,
    /// Extensions of these sessions that are active.
    pub extensions: usize,
    /// The threads of the process; `None` where the system does not tell.
    pub threads: Option<u64>,
    /// The memory of the process that is in RAM, in bytes.
    pub resident: Option<u64>,
    /// The processor time of the process.
    pub cpu: Option<Duration>,
    /// The open file descriptors of the process.
    pub files: Option<u64>,
}

impl Metrics {
    /// Counts a refused request.
    pub fn refuse(&self, refusal: Refusal) {
        self.refused[refusal as usize].add(1);
    }

    /// Counts a failed start of an extension. One that was cancelled has no class and is no failure.
    pub fn fail_load(&self, class: Option<Class>) {
        let at = CLASSES.iter().position(|it| Some(*it) == class);
        if let Some(at) = at {
            self.failed_loads[at].add(1);
        }
    }

    /// All numbers as text.
    pub fn render(&self, gauges: &Gauges) -> String {
        let mut text = Text(String::with_capacity(8 << 10));
        text.info();
        let open = self
            .connections
            .get()
            .saturating_sub(self.connections_ended.get());
        text.gauge(
            "gosling_http_connections",
            "Open connections of clients.",
            open,
        );
        text.counter(
            "gosling_http_connections_accepted_total",
            "Connections that were accepted.",
            &self.connections,
        );
        text.counter(
            "gosling_http_requests_total",
            "Requests that reached a handler.",
            &self.requests,
        );
        let refused = Refusal::ALL.iter().zip(&self.refused);
        text.labelled(
            "gosling_http_refused_requests_total",
            "Requests that were refused before they reached a handler, by reason.",
            "reason",
            refused.map(|((_, name), count)| (*name, count)),
        );
        text.counter(
            "gosling_http_received_bytes_total",
            "Bytes that clients sent.",
            &self.received,
        );
        text.counter(
            "gosling_http_sent_bytes_total",
            "Bytes that clients got.",
            &self.sent,
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
            &self.loads,
        );
        let failed = CLASSES.iter().zip(&self.failed_loads);
        text.labelled(
            "gosling_extension_load_failures_total",
            "Extensions that did not become active, by class of the failure.",
            "class",
            failed.map(|(class, count)| (class.name(), count)),
        );
        text.durations(
            "gosling_extension_load_duration_seconds",
            "How long the starts of extensions took that succeeded.",
            &self.load_durations,
        );
        text.counter(
            "gosling_extension_restarts_total",
            "Servers of extensions that were restarted after a lost connection.",
            &self.restarts,
        );
        text.counter(
            "gosling_tool_call_errors_total",
            "Tool calls that failed, or whose result is an error.",
            &self.failed_calls,
        );
        text.durations(
            "gosling_tool_call_duration_seconds",
            "How long tool calls took.",
            &self.call_durations,
        );
        text.counter("gosling_turns_total", "Turns that began.", &self.turns);
        text.counter(
            "gosling_turn_errors_total",
            "Turns that ended with an error.",
            &self.failed_turns,
        );
        text.labelled(
            "gosling_tokens_total",
            "Tokens that models read and wrote, as they report them.",
            "direction",
            [
                ("input", &self.input_tokens),
                ("output", &self.output_tokens),
            ]
            .into_iter(),
        );
        text.process(gauges);
        text.0
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
        for (bound, counter) in BOUNDS.iter().zip(&durations.counts) {
            count += counter.get();
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{bound}\"}} {count}");
        }
        count += durations.counts[BOUNDS.len()].get();
        let sum = Duration::from_micros(durations.micros.get()).as_secs_f64();
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

    #[test]
    fn every_refusal_has_its_place() {
        for (at, (refusal, _)) in Refusal::ALL.iter().enumerate() {
            assert_eq!(*refusal as usize, at);
        }
    }
}
