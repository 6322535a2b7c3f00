//! The states of a supervised server.

use super::*;
use crate::builtin::{BuiltinServer, SessionData};
use crate::extension::context::Limits;
use crate::extension::status::Location;
use crate::mcp::server::{self, InProcess, Server};
use crate::mcp::transport::TransportError;
use crate::mcp::types::CallToolResult;
use crate::part::{self, Part};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::path::Path;

struct NoData;

impl SessionData for NoData {
    fn get(&self, _: &str) -> Result<Option<Value>, String> {
        Ok(None)
    }

    fn set(&self, _: &str, _: Value) -> Result<(), String> {
        Ok(())
    }
}

fn context() -> Arc<Context> {
    Arc::new(Context {
        session_id: "s".to_owned(),
        working_dir: std::env::temp_dir(),
        secrets: Arc::new(|_| Ok(None)),
        paths: Arc::new(crate::store::Paths::under(Path::new("/nonexistent"))),
        data: Arc::new(NoData),
        servers: Default::default(),
        offline: true,
        limits: Limits::default(),
        roots: false,
        more_roots: Vec::new(),
        user_interfaces: false,
        log_level: None,
        containers: Default::default(),
        sandboxing: Default::default(),
        inherited: Default::default(),
        inline_python: Default::default(),
        screening: Default::default(),
        pinning: Default::default(),
        activity: Default::default(),
        request_handlers: None,
    })
}

/// A program with a server of one tool.
const PART: Part = Part {
    servers: &[BuiltinServer {
        name: "todo",
        connect: |_| {
            let tool = |_: Map<String, Value>, _: &server::Context| Ok(CallToolResult::text("a"));
            let server = Server::new("todo", "1").tool(server::Tool::new("a", "A", tool));
            Arc::new(InProcess::new(server))
        },
    }],
    ..Part::new("todo")
};

/// A supervisor of that server, which runs in this process.
pub(super) fn supervisor() -> Supervisor {
    part::set(&[&PART]);
    let config = json!({"type": "builtin", "name": "todo"});
    let config = ExtensionConfig::from_value(config).unwrap();
    let connection = connect(&config);
    Supervisor::new(&config, context(), connection)
}

pub(super) fn connect(config: &ExtensionConfig) -> Connection {
    let made = context().connect_until(later(), true, config, &Cancel::new());
    made.unwrap_or_else(|failed| panic!("{}", failed.error))
}

/// The same, as if the server were another process.
pub(super) fn outside() -> Supervisor {
    let config = supervisor().config.clone();
    let mut connection = connect(&config);
    connection.location = Some(Location::Pid(1));
    Supervisor::new(&config, context(), connection)
}

pub(super) fn is_suspended(server: &Supervisor) -> bool {
    lock(&server.state).link == Link::Suspended
}

pub(super) fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[test]
fn only_a_server_without_work_is_suspended() {
    let busy: [fn(&mut State); 4] = [
        |state| state.operations = 1,
        |state| state.link = Link::Reconnecting,
        |state| {
            state.link = Link::Closed {
                reconnecting: false,
            }
        },
        |state| state.link = Link::Suspended,
    ];
    for make_busy in busy {
        let server = outside();
        make_busy(&mut lock(&server.state));
        let before = lock(&server.state).link;
        server.suspend();
        assert!(lock(&server.state).link == before);
        assert!(server.connection().client.is_open());
    }
    let server = outside();
    server.suspend();
    assert!(is_suspended(&server) && !server.connection().client.is_open());
    let inside = supervisor();
    inside.suspend();
    assert!(!is_suspended(&inside) && inside.connection().client.is_open());
}

#[test]
fn a_server_rests_that_can_end_and_come_back_without_a_loss() {
    let rests = |change: fn(&Supervisor)| {
        let server = outside();
        change(&server);
        server.is_at_rest(Duration::ZERO)
    };
    assert!(!rests(|_| ()), "it runs");
    assert!(rests(Supervisor::suspend));
    assert!(rests(|server| server.connection().client.close()));
    assert!(supervisor().is_at_rest(Duration::ZERO));
    assert!(!rests(|server| {
        server.suspend();
        lock(&server.state).operations = 1;
    }));
    assert!(!rests(|server| {
        server.suspend();
        lock(&server.state).link = Link::Reconnecting;
    }));
}

#[test]
fn a_server_is_up_if_its_next_use_needs_no_restart() {
    let server = outside();
    assert!(server.is_up());
    let earlier = Arc::new(Connection::closed("todo"));
    server.note_failure(&earlier, "not of this connection".to_owned());
    assert!(server.is_up());
    server.note_failure(&server.connection(), "lost".to_owned());
    assert!(!server.is_up());
    let server = outside();
    server.suspend();
    assert!(server.is_up());
    let server = outside();
    server.connection().client.close();
    assert!(!server.is_up());
}

#[test]
fn a_tool_that_the_server_no_longer_lists_is_named_in_the_error() {
    let server = supervisor();
    let refused = || Error::new("todo", Phase::Tool, "unknown tool");
    let known = server.known_tools()[0].name.clone();
    let cancel = Cancel::new();
    let message = |tool: &str| server.missing_tool_error(tool, refused(), &cancel).message;
    assert_eq!(message(&known), "unknown tool");
    assert_eq!(message("never_there"), "unknown tool");
    let gone: Vec<Tool> = serde_json::from_value(json!([
        {"name": "gone", "inputSchema": {"type": "object"}},
    ]))
    .unwrap();
    lock(&server.state).tools.offered = Arc::new(gone);
    server.connection().stale.store(true, Ordering::SeqCst);
    assert!(message("gone").contains("has no tool \"gone\" any more"));
}

#[test]
fn tools_are_listed_again_after_a_change_only() {
    let server = supervisor();
    let listed = server.known_tools();
    assert!(Arc::ptr_eq(&server.tools(&Cancel::new()), &listed));
    server.connection().stale.store(true, Ordering::SeqCst);
    assert!(!Arc::ptr_eq(&server.tools(&Cancel::new()), &listed));
}

#[test]
fn a_wait_before_a_retry_lasts_as_long_as_it_says() {
    let server = supervisor();
    let begin = Instant::now();
    let wait = Duration::from_millis(30);
    server.pause(wait, &Cancel::new()).unwrap();
    assert!(begin.elapsed() >= wait);
    let cancelled = Cancel::new();
    cancelled.cancel();
    assert!(server.pause(wait, &cancelled).is_err());
    server.close();
    assert!(server.pause(wait, &Cancel::new()).is_err());
}

#[test]
fn a_server_that_refuses_is_asked_less_and_less_often() {
    let config = json!({"type": "builtin", "name": "todo", "timeout": 1});
    let config = ExtensionConfig::from_value(config).unwrap();
    let server = Supervisor::new(&config, context(), connect(&config));
    let attempts = Cell::new(0);
    let refused = server.request(&Operation::QUERY, &Cancel::new(), |_, _| {
        attempts.set(attempts.get() + 1);
        let error = TransportError::Refused("nobody listens".to_owned());
        Err::<(), _>(mcp::Error::Transport(error))
    });
    assert!(refused.is_err());
    // At 0, 0.1, 0.3 and 0.7 s.
    assert!((2..=4).contains(&attempts.get()), "{attempts:?}");
}
