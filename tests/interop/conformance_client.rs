//! A client for the scenarios of the public MCP conformance suite, on the library's public interface.
//!
//! Run as `conformance-client URL`, with the scenario's name in `MCP_CONFORMANCE_SCENARIO`. Exit status
//! 0 says that everything went as the protocol wants it; what did not is one line on stderr.

use gosling::mcp::client::RequestTimeouts;
use gosling::mcp::client::{CallOptions, Client, IgnoreNotifications, Options, RequestHandler};
use gosling::mcp::elicitation_form;
use gosling::mcp::jsonrpc::{ErrorObject, METHOD_NOT_FOUND};
use gosling::mcp::transport::http::{HttpOptions, HttpTransport};
use gosling::mcp::types::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult,
    Implementation, Tool,
};
use gosling::sys::cancel::Cancel;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The suite gives each scenario 30 s by default.
const TIMEOUTS: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-client: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    // The suite may be told to put arguments of its own in front.
    let url = std::env::args()
        .next_back()
        .filter(|url| url.contains("://"));
    let url = url.ok_or("the last argument is the server's URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")?;
    let transport = HttpTransport::new(HttpOptions::new("conformance", url))?;
    let own = Implementation::new("gosling", env!("CARGO_PKG_VERSION"));
    let mut options = Options::new("conformance", own);
    options.request_handler = Some(Arc::new(Agreeable));
    options.timeouts = RequestTimeouts {
        idle: TIMEOUTS,
        total: TIMEOUTS,
    };
    let cancel = Cancel::new();
    let client = Client::connect(
        Arc::new(transport),
        options,
        Arc::new(IgnoreNotifications),
        &cancel,
    )?;
    let session = Session { client, cancel };
    match scenario.as_str() {
        "initialize" => session.tools().map(drop),
        "tools_call" => session.call("add_numbers", &json!({"a": 5, "b": 3})),
        "elicitation-sep1034-client-defaults" => {
            session.call("test_client_elicitation_defaults", &json!({}))
        }
        "sse-retry" => session.call("test_reconnection", &json!({})),
        "json-schema-2020-12-preservation" => session.echo_schema(),
        other => Err(format!("the scenario {other} is not played here").into()),
    }
}

struct Session {
    client: Client,
    cancel: Cancel,
}

impl Session {
    fn tools(&self) -> Result<Vec<Tool>, Box<dyn Error>> {
        Ok(self.client.list_tools(&self.cancel)?)
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<(), Box<dyn Error>> {
        if !self.tools()?.iter().any(|offered| offered.name == tool) {
            return Err(format!("the server offers no tool {tool}").into());
        }
        self.call_raw(tool, &to_raw_value(arguments)?)
    }

    /// Hands the schema of one tool to another, as it came.
    fn echo_schema(&self) -> Result<(), Box<dyn Error>> {
        let tools = self.tools()?;
        let focal = (tools
            .iter()
            .find(|tool| tool.name == "json_schema_2020_12_tool"))
        .ok_or("the server offers no tool json_schema_2020_12_tool")?;
        let schema = BTreeMap::from([("schema", &focal.input_schema)]);
        self.call_raw("json_schema_echo", &to_raw_value(&schema)?)
    }

    fn call_raw(&self, tool: &str, arguments: &RawValue) -> Result<(), Box<dyn Error>> {
        let result =
            (self.client).call_tool_raw(tool, arguments, CallOptions::default(), &self.cancel)?;
        if result.is_error == Some(true) {
            let parts = result.content.iter().map(|part| part.as_json());
            let said = parts.collect::<Vec<_>>().join(" ");
            return Err(format!("the tool {tool} failed: {said}").into());
        }
        Ok(())
    }
}

/// Agrees to every form as it is, and has no model.
struct Agreeable;

impl RequestHandler for Agreeable {
    fn sample(
        &self,
        _caller: Option<&str>,
        _params: CreateMessageParams,
        _cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject> {
        Err(ErrorObject::new(METHOD_NOT_FOUND, "there is no model here"))
    }

    fn elicit(
        &self,
        _caller: Option<&str>,
        params: ElicitParams,
        _cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject> {
        let schema = params.requested_schema.as_ref();
        let schema: Value = schema
            .and_then(|schema| serde_json::from_str(schema.get()).ok())
            .unwrap_or_default();
        Ok(ElicitResult {
            action: ElicitAction::Accept,
            content: Some(elicitation_form::defaults(&schema)),
        })
    }
}
