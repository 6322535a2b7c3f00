//! The run: the groups of checks in their order, and the connections that they share.

use super::checks::Check;
use super::findings::{Findings, Outcome};
use super::listing::{Kind, Listing};
use super::session::{ClientKind, Reply, Session, Timeouts};
use super::{
    Checked, Options, Report, advice, errors, http, install, lifecycle, listing, metadata, prompts,
    resources, stdio, tools, ui,
};
use crate::extension::{Context, ExtensionConfig};
use crate::mcp::types::VERSIONS;
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::text::{printable, redact};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the main connection is opened again after the server has ended.
const MAX_REOPENED: usize = 10;

/// How long a run may take, unless the user allows more than a tenth of it for a request. What could not be checked
/// by then is not checked.
const MAX_RUN: Duration = Duration::from_secs(300);

/// The longest text about an outcome, in characters.
const MAX_DETAIL: usize = 1_000;

/// See the module.
pub(super) struct Runner<'a> {
    context: &'a Context,
    config: &'a ExtensionConfig,
    pub(super) options: &'a Options,
    progress: &'a dyn Fn(&str),
    cancel: &'a Cancel,
    timeouts: Arc<Timeouts>,
    pub(super) findings: Findings,
    main: Option<Session>,
    reopened: usize,
    listings: HashMap<Kind, Arc<Listing>>,
    /// The read-only tool that was called in the shortest time.
    quick: Option<(Duration, Value)>,
    /// The threads that close connections.
    closing: Vec<JoinHandle<()>>,
    /// Texts to redact in the report.
    pub(super) secrets: Vec<String>,
}

/// A group of checks: its name for the progress, its checks, and what makes them.
type Group = (&'static str, std::ops::Range<u16>, fn(&mut Runner<'_>));

/// In this order: later groups may end the server.
const GROUPS: &[Group] = &[
    ("lists", 50..86, listing::run),
    ("pages", 100..105, listing::run_pages),
    ("tools", 50..67, tools::run),
    ("resources", 70..77, resources::run),
    ("prompts", 80..86, prompts::run),
    ("capabilities", 14..16, lifecycle::run_capabilities),
    ("errors", 120..127, errors::run),
    ("metadata", 130..131, metadata::run),
    ("user interfaces", 140..145, ui::run),
    ("versions", 4..14, lifecycle::run_openings),
    ("HTTP", 30..45, http::run),
    ("advice", 150..156, advice::run),
    ("stdio", 20..27, stdio::run),
    ("malformed messages", 120..127, errors::run_malformed),
];

impl<'a> Runner<'a> {
    pub(super) fn new(
        context: &'a Context,
        config: &'a ExtensionConfig,
        options: &'a Options,
        progress: &'a dyn Fn(&str),
        cancel: &'a Cancel,
    ) -> Self {
        let end = Instant::now() + MAX_RUN.max(10 * options.timeout);
        Runner {
            context,
            config,
            options,
            progress,
            cancel,
            timeouts: Arc::new(Timeouts::new(options.timeout, end)),
            findings: Findings::until(end),
            main: None,
            reopened: 0,
            listings: HashMap::new(),
            quick: None,
            closing: Vec::new(),
            secrets: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<Report, String> {
        let begin = Instant::now();
        (self.progress)("life cycle");
        let transport = match self.config {
            ExtensionConfig::StreamableHttp(_) => "streamable_http",
            ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_) => "builtin",
            _ => "stdio",
        };
        let server = lifecycle::run(&mut self)?;
        if self.main.is_some() {
            for (name, numbers, group) in GROUPS {
                if self.cancel.is_cancelled() {
                    return Err("the run was cancelled".to_owned());
                }
                if self.is_asked(numbers) || self.needs(name) {
                    (self.progress)(name);
                    group(&mut self);
                    self.record();
                }
            }
        }
        if server.is_initialized {
            stdio::run_end(&mut self);
        }
        for thread in self.closing.drain(..) {
            let _ = thread.join();
        }
        if let Some(main) = self.main.take() {
            main.close(&mut self.findings);
        }
        if self.cancel.is_cancelled() {
            return Err("the run was cancelled".to_owned());
        }
        lifecycle::pass_the_rest(&mut self.findings, server.is_initialized, transport);
        let checks = Check::ALL
            .iter()
            .filter(|check| self.options.only.is_empty() || self.options.only.contains(check));
        let mut findings = self.findings;
        let secrets = self.secrets;
        let shown = |text: &str| printable(&redact(text, &secrets), MAX_DETAIL);
        let mut capabilities: Vec<String> =
            server.capabilities.iter().map(|it| shown(it)).collect();
        let has_pages = findings.has_passed(Check::UiContents);
        if has_pages && !capabilities.iter().any(|it| it == "ui") {
            capabilities.push("ui".to_owned());
        }
        let checks = checks.map(|check| Checked {
            check: *check,
            description: check.describe(),
            outcome: match findings.take(*check) {
                Some(outcome) => outcome.with_texts(shown),
                None => Outcome::NotChecked {
                    reason: "the checks before it did not get this far".to_owned(),
                },
            },
        });
        Ok(Report {
            server: shown(&server.name),
            protocol: shown(&server.protocol),
            transport,
            capabilities,
            checks: checks.collect(),
            installation: install::installation(self.config),
            seconds: begin.elapsed().as_secs_f64(),
        })
    }

    /// Whether a check with one of these numbers is to be made. Lists are needed by many.
    fn is_asked(&self, numbers: &std::ops::Range<u16>) -> bool {
        let only = &self.options.only;
        let mut numbers_of = only.iter().map(|check| check.describe().number);
        only.is_empty() || numbers_of.any(|number| numbers.contains(&number))
    }

    /// Whether a check that is to be made needs a group that is named after other checks: the lists show what is
    /// wrong with their pages, and some checks look at all messages.
    fn needs(&self, group: &str) -> bool {
        let mut numbers = self
            .options
            .only
            .iter()
            .map(|check| check.describe().number);
        numbers.any(|number| match number {
            9..12 | 20 | 90..98 | 110 | 121 => true,
            100..105 | 111..113 => group == "lists",
            125..127 => matches!(group, "tools" | "resources" | "prompts"),
            130 | 155 => group == "tools",
            _ => false,
        })
    }

    /// A new connection on which nothing was sent.
    ///
    /// # Errors
    /// The server could not be started.
    pub(super) fn open(&self, client: ClientKind) -> Result<Session, String> {
        Session::open(
            self.context,
            self.config,
            client,
            &self.timeouts,
            self.cancel,
        )
    }

    /// A new connection with an initialized server.
    ///
    /// # Errors
    /// The server could not be started or initialized.
    pub(super) fn open_initialized(&self, client: ClientKind) -> Result<(Session, Reply), String> {
        let mut session = self.open(client)?;
        let reply = session.initialize(VERSIONS[0], client);
        if reply.result().is_none() {
            return Err(format!("`initialize` got {}", reply.describe()));
        }
        session.notify_initialized();
        Ok((session, reply))
    }

    /// Uses `session` for the groups to come.
    pub(super) fn set_main(&mut self, session: Session) {
        self.main = Some(session);
    }

    /// Closes the main connection in another thread, because that may take seconds, and lets the next group open
    /// another one.
    pub(super) fn retire_main(&mut self) {
        let Some(main) = self.main.take() else {
            return;
        };
        main.record(&mut self.findings);
        let closing = sys::spawn("check end".to_owned(), None, move || drop(main));
        // Without a thread it is closed by now.
        self.closing.extend(closing.ok());
    }

    /// The connection that most groups use. It is opened again after the server has ended.
    ///
    /// # Errors
    /// The server cannot be started any more.
    pub(super) fn main(&mut self) -> Result<&Session, String> {
        if self.main.as_ref().is_none_or(|main| !main.is_open()) {
            if self.reopened == MAX_REOPENED {
                return Err("the server ended too often".to_owned());
            }
            if let Some(ended) = self.main.take() {
                self.reopened += 1;
                ended.close(&mut self.findings);
            }
            let (session, _) = self.open_initialized(ClientKind::Full)?;
            self.main = Some(session);
        }
        self.main
            .as_ref()
            .ok_or_else(|| "there is no connection".to_owned())
    }

    /// The main connection, for its end.
    pub(super) fn take_main(&mut self) -> Option<Session> {
        self.main.take()
    }

    /// Remembers the quickest of the successful calls of read-only tools.
    pub(super) fn note_call(&mut self, took: Duration, tool: &str, arguments: &Map<String, Value>) {
        if self.quick.as_ref().is_none_or(|(least, _)| took < *least) {
            self.quick = Some((took, json!({"name": tool, "arguments": arguments})));
        }
    }

    /// The parameters of a call that is allowed and was quick.
    pub(super) fn quick_call(&self) -> Option<Value> {
        self.quick.as_ref().map(|(_, params)| params.clone())
    }

    /// Records what the server did wrong on the main connection so far.
    pub(super) fn record(&mut self) {
        if let Some(main) = &self.main {
            main.record(&mut self.findings);
        }
    }

    /// A list of the server, fetched once. Empty if its capability is not declared.
    pub(super) fn listing(&mut self, kind: Kind) -> Arc<Listing> {
        if let Some(listing) = self.listings.get(&kind) {
            return listing.clone();
        }
        let listing = match self.main() {
            Ok(main) => Listing::fetch(main, kind),
            Err(reason) => Listing::failed(reason),
        };
        let listing = Arc::new(listing);
        self.listings.insert(kind, listing.clone());
        listing
    }
}

/// What is known of the server after `initialize`.
pub(super) struct ServerFacts {
    pub(super) name: String,
    pub(super) protocol: String,
    pub(super) capabilities: Vec<String>,
    pub(super) is_initialized: bool,
}

impl ServerFacts {
    /// Of the result of `initialize`; nothing if it is not an object.
    pub(super) fn of(result: &Value) -> Self {
        let text = |value: &Value| printable(value.as_str().unwrap_or_default(), 100);
        let info = &result["serverInfo"];
        let mut capabilities: Vec<String> = result["capabilities"]
            .as_object()
            .into_iter()
            .flatten()
            // `ui` is the name for a capability that stands elsewhere.
            .filter(|(name, details)| !details.is_null() && *name != "ui")
            .take(50)
            .map(|(name, _)| printable(name, 50))
            .collect();
        if !ui::capability(&result["capabilities"]).is_null() {
            capabilities.push("ui".to_owned());
        }
        ServerFacts {
            name: format!("{} {}", text(&info["name"]), text(&info["version"]))
                .trim()
                .to_owned(),
            protocol: text(&result["protocolVersion"]),
            capabilities,
            is_initialized: result.is_object(),
        }
    }
}
