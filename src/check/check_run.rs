//! What the groups of checks of one run share: the main connection, the lists, and what was found.

use super::check_options::CheckOptions;
use super::declaration::Check;
use super::fetched_list::FetchedList;
use super::findings::CheckFindings;
use super::list_kind::ListKind;
use super::wire::answer::ServerReply;
use super::wire::client_kind::ClientKind;
use super::wire::raw_connection::RawConnection;
use super::wire::run_timeouts::RunTimeouts;
use crate::extension::{Context, ExtensionConfig};
use crate::mcp::types::VERSIONS;
use crate::sys::cancel::Cancel;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the main connection is opened again after the server has ended.
const MAX_REOPENED: usize = 10;

/// How long a run may take, unless the user allows more than a tenth of it for a request. What could not be checked
/// by then is not checked.
const MAX_RUN: Duration = Duration::from_secs(300);

/// A group of checks, which are made together.
pub(super) struct Group {
    /// The name for the progress.
    pub(super) name: &'static str,
    /// The checks that it decides, as their files declare them.
    pub(super) decides: &'static [&'static [&'static Check]],
    /// Checks of other groups that need this one, because it shows or prepares something for them.
    prepares: &'static [&'static [&'static Check]],
    /// Makes the checks.
    pub(super) run: fn(&mut CheckRun<'_>),
}

impl Group {
    pub(super) const fn new(
        name: &'static str,
        decides: &'static [&'static [&'static Check]],
        run: fn(&mut CheckRun<'_>),
    ) -> Self {
        Group {
            name,
            decides,
            prepares: &[],
            run,
        }
    }

    /// The group, which also runs for these checks of others.
    pub(super) const fn preparing(mut self, checks: &'static [&'static [&'static Check]]) -> Self {
        self.prepares = checks;
        self
    }

    /// Whether it has to run for one of these checks.
    pub(super) fn is_needed_for(&self, checks: &BTreeSet<&'static Check>) -> bool {
        let mut needing = self.decides.iter().chain(self.prepares).copied().flatten();
        needing.any(|check| checks.contains(check))
    }
}

/// See the module.
pub(super) struct CheckRun<'a> {
    context: &'a Context,
    config: &'a ExtensionConfig,
    pub(super) options: &'a CheckOptions,
    cancel: &'a Cancel,
    timeouts: Arc<RunTimeouts>,
    pub(super) findings: CheckFindings,
    /// The connection that most groups use, see [`main`](Self::main).
    pub(super) main: Option<RawConnection>,
    reopened: usize,
    lists: HashMap<ListKind, Arc<FetchedList>>,
    /// The read-only tool that was called in the shortest time.
    quick: Option<(Duration, Value)>,
    /// The threads that close connections.
    closing: Vec<JoinHandle<()>>,
    /// Texts to redact in the report.
    pub(super) secrets: Vec<String>,
}

impl<'a> CheckRun<'a> {
    pub(super) fn new(
        context: &'a Context,
        config: &'a ExtensionConfig,
        options: &'a CheckOptions,
        cancel: &'a Cancel,
    ) -> Self {
        let end = Instant::now() + MAX_RUN.max(10 * options.timeout);
        CheckRun {
            context,
            config,
            options,
            cancel,
            timeouts: Arc::new(RunTimeouts::new(options.timeout, end)),
            findings: CheckFindings::until(end),
            main: None,
            reopened: 0,
            lists: HashMap::new(),
            quick: None,
            closing: Vec::new(),
            secrets: Vec::new(),
        }
    }

    /// A new connection on which nothing was sent.
    ///
    /// # Errors
    /// The server could not be started.
    pub(super) fn open(&self, client: ClientKind) -> Result<RawConnection, String> {
        RawConnection::open(
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
    pub(super) fn open_initialized(
        &self,
        client: ClientKind,
    ) -> Result<(RawConnection, ServerReply), String> {
        let mut connection = self.open(client)?;
        let reply = connection.initialize(VERSIONS[0], client);
        if reply.result().is_none() {
            return Err(format!("`initialize` got {}", reply.describe()));
        }
        connection.notify_initialized();
        Ok((connection, reply))
    }

    /// Closes the main connection in another thread, because that may take seconds, and lets the next group open
    /// another one.
    pub(super) fn retire_main(&mut self) {
        let Some(main) = self.main.take() else {
            return;
        };
        main.record(&mut self.findings);
        let closing = crate::sys::spawn("check end".to_owned(), None, move || drop(main));
        // Without a thread it is closed by now.
        self.closing.extend(closing.ok());
    }

    /// The connection that most groups use. It is opened again after the server has ended.
    ///
    /// # Errors
    /// The server cannot be started any more.
    pub(super) fn main(&mut self) -> Result<&RawConnection, String> {
        if self.main.as_ref().is_none_or(|main| !main.is_open()) {
            if self.reopened == MAX_REOPENED {
                return Err("the server ended too often".to_owned());
            }
            if let Some(ended) = self.main.take() {
                self.reopened += 1;
                ended.close(&mut self.findings);
            }
            let (connection, _) = self.open_initialized(ClientKind::Full)?;
            self.main = Some(connection);
        }
        self.main
            .as_ref()
            .ok_or_else(|| "there is no connection".to_owned())
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
    pub(super) fn list(&mut self, kind: ListKind) -> Arc<FetchedList> {
        if let Some(list) = self.lists.get(&kind) {
            return list.clone();
        }
        let list = match self.main() {
            Ok(main) => FetchedList::fetch(main, kind),
            Err(reason) => FetchedList::failed(kind, reason),
        };
        let list = Arc::new(list);
        self.lists.insert(kind, list.clone());
        list
    }

    /// Closes what is still open. What was found, and the texts to redact in the report.
    pub(super) fn end(mut self) -> (CheckFindings, Vec<String>) {
        for thread in self.closing.drain(..) {
            let _ = thread.join();
        }
        if let Some(main) = self.main.take() {
            main.close(&mut self.findings);
        }
        (self.findings, self.secrets)
    }
}
