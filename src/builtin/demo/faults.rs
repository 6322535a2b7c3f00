//! The demo server with one requirement broken: `gosling mcp demo --break NAME`, to try `gosling check` and clients.
//!
//! Each fault is as small as possible, so that exactly one check fails. Those of messages and of stdio are made
//! here, between the real server and its client; those of HTTP in `cmd`, where HTTP is served.

mod broken_stdio;
mod messages;

pub use broken_stdio::serve;

/// A fault.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name for `--break`.
    pub name: &'static str,
    /// The name of the check that fails.
    pub check: &'static str,
    /// What the server does.
    pub does: &'static str,
}

impl Fault {
    /// The fault of this name.
    pub fn find(name: &str) -> Option<&'static Fault> {
        FAULTS.iter().find(|fault| fault.name == name)
    }

    /// Whether it is one of HTTP.
    pub fn is_http(&self) -> bool {
        self.name.starts_with("http-")
    }

    /// Whether the server lists in pages.
    pub fn has_pages(&self) -> bool {
        matches!(
            self.check,
            "pages-complete" | "pages-repeat" | "pages-end" | "cursors-stay" | "bad-cursor"
        )
    }
}

macro_rules! faults {
    ($($name:literal $check:literal $does:literal)*) => {
        /// All faults, in the order of the checks.
        pub const FAULTS: &[Fault] = &[$(Fault { name: $name, check: $check, does: $does },)*];
    };
}

faults! {
    "no-initialize" "initialize-answered" "does not answer `initialize`"
    "no-version" "initialize-result" "leaves out `serverInfo.version`"
    "future-version" "protocol-version" "agrees to the version 2099-01-01, whatever is asked"
    "newest-only" "older-versions" "refuses clients of older versions"
    "echo-version" "unknown-version" "agrees to a version that does not exist"
    "ignores-first-request" "initialized-accepted" "ignores the first request after `notifications/initialized`"
    "no-ping" "ping" "refuses `ping`"
    "answers-notifications" "notifications-unanswered" "answers an unknown notification"
    "text-ids" "ids-returned" "returns large ids as strings"
    "two-responses" "answered-once" "answers `tools/list` twice"
    "no-jsonrpc" "message-shape" "leaves out `jsonrpc` in the answer to `prompts/list`"
    "ends-at-early-request" "request-before-initialize" "ends at a request before `initialize`"
    "ignores-early-request" "request-before-initialized" "does not answer requests before `notifications/initialized`"
    "no-completions" "declared-methods" "declares completions and has none"
    "hidden-prompts" "undeclared-methods" "does not declare its prompts"
    "banner" "stdout-clean" "prints a line before the first message"
    "loses-under-load" "framing-under-load" "loses requests that come fast one after the other"
    "line-limit" "big-message" "ignores lines of more than 64 KiB"
    "splits-lines" "unicode" "takes U+2028 for the end of a line"
    "no-crlf" "crlf" "ignores lines that end with CR LF"
    "no-blank-lines" "blank-lines" "loses the line after a blank one"
    "outlives-stdin" "ends-with-stdin" "does not end with its stdin"
    "http-status" "http-media-type" "answers `ping` with status 201"
    "http-accept" "http-accept" "understands only one spelling of `Accept`"
    "http-notified" "http-notification-status" "answers notifications with status 200"
    "http-id" "http-session-id" "uses a session id with a space"
    "http-unknown" "http-unknown-session" "answers unknown session ids with status 400"
    "http-no-id" "http-missing-session" "needs no session id"
    "http-kept-session" "http-session-deleted" "keeps sessions after their DELETE"
    "http-version" "http-version-header" "does not look at `MCP-Protocol-Version`"
    "http-get" "http-get" "answers GET with status 404"
    "http-events" "http-event-stream" "sends an unknown field in event streams"
    "http-html" "http-error-body" "refuses what is not JSON with a page of HTML"
    "http-origin" "http-origin" "answers foreign web pages"
    "http-host" "http-host" "answers requests for foreign hosts"
    "http-legacy-sse" "http-legacy-sse" "speaks only the transport of 2024-11-05"
    "http-500" "http-method-errors" "answers a call without a name with status 500"
    "no-tools-list" "tools-list" "returns an object instead of the list of tools"
    "unknown-echo" "tools-call" "does not know its tool `echo` when it is called"
    "changing-name" "tool-names-stable" "gives a tool another name in each list"
    "spaced-name" "tool-names-valid" "has a tool with a space in its name"
    "same-name" "tool-names-unique" "has the tools `echo` and `Echo`"
    "text-hint" "tool-shape" "has a tool whose `destructiveHint` is a string"
    "bad-schema" "tool-schema-valid" "has a tool with an unknown type in its schema"
    "list-schema" "tool-schema-object" "has a tool whose arguments are a list"
    "unknown-required" "tool-schema-required" "has a tool that requires an unknown property"
    "remote-schema" "tool-schema-local" "has a tool whose schema refers to another document"
    "big-schema" "tool-schema-size" "has a tool with a schema of 33 KiB"
    "list-output" "output-schema-valid" "has a tool whose structured result is a list"
    "any-tool" "unknown-tool" "has a result for every unknown tool"
    "optional-message" "wrong-arguments" "calls `echo` without its argument"
    "counted-errors" "same-error" "counts its errors, in their messages"
    "text-content" "tool-result-shape" "returns a string as `content`"
    "text-sum" "structured-content" "returns the sum as a string"
    "no-resources-list" "resources-list" "returns null instead of the list of resources"
    "unreadable-resource" "resources-read" "lists a resource that does not exist"
    "text-size" "resource-shape" "writes the size of a resource in words"
    "two-forms" "resource-contents" "returns a resource as text and as a blob"
    "other-type" "resource-types-steady" "returns another MIME type for each second read"
    "any-resource" "unknown-resource" "returns an empty text for every unknown resource"
    "no-templates" "resource-templates" "fails to list its templates"
    "no-prompts-list" "prompts-list" "returns no `prompts`"
    "unknown-listed-prompt" "prompts-get" "lists a prompt that does not exist"
    "text-argument" "prompt-shape" "describes an argument of a prompt with a number"
    "system-role" "prompt-messages" "returns a message of the role `system`"
    "optional-topic" "prompt-arguments" "needs no argument that it requires"
    "any-prompt" "unknown-prompt" "returns a prompt for every unknown name"
    "bad-cancelled" "notification-shape" "cancels without the id of a request"
    "same-progress" "progress" "reports the same progress twice"
    "unknown-level" "log-messages" "logs with a level that does not exist"
    "list-params" "unknown-notifications" "sends a notification with a list as `params`"
    "unknown-request" "server-requests" "sends a request that MCP does not have"
    "bad-sampling" "server-request-shape" "asks for sampling without parameters"
    "unanswered-after-decline" "refused-server-requests" "does not answer a call whose question was declined"
    "undeclared-change" "list-changes" "says that its tools have changed, undeclared"
    "repeated-entry" "pages-complete" "repeats an entry on the second page"
    "shorter-page" "pages-repeat" "returns a shorter page when a cursor is used again"
    "empty-cursor" "pages-end" "ends a list with an empty cursor"
    "used-cursor" "cursors-stay" "refuses a cursor that was used before"
    "any-cursor" "bad-cursor" "takes an unknown cursor for none"
    "nan" "valid-json" "sends NaN in a notification"
    "changing-type" "types-steady" "describes a prompt with a list, now and then"
    "fraction" "integers" "writes the size of a resource as 68.0"
    "own-code" "unknown-method" "has an error code of its own for unknown methods"
    "text-code" "error-shape" "returns an error code as a string"
    "parse-code" "parse-error" "has an error code of its own for what is not JSON"
    "request-code" "invalid-request" "has an error code of its own for what is no message"
    "ends-at-parse-error" "survives-malformed" "ends at a message that is not JSON"
    "changing-code" "errors-steady" "alternates between two error codes"
    "vague-error" "error-messages" "does not say which prompt is unknown"
    "strict-meta" "unknown-meta" "refuses `ping` with unknown metadata"
    "ui-text" "ui-capability" "declares the MIME types of user interfaces as a string"
    "ui-html" "ui-mime-type" "has a user interface of the type text/html"
    "ui-dead-link" "ui-links" "has a tool whose user interface does not exist"
    "ui-only" "ui-optional" "lists no tools for clients that declare nothing"
}
