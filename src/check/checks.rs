//! The table of checks: what each requires, why, and how a server is mended. Pure data.
//!
//! Sections and rows are those of SERVER in the manual's page `contract`. A row is counted from 1 within its
//! section.

use serde::Serialize;

/// How binding a check is (RFC 2119).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Level {
    /// The contract requires it.
    #[serde(rename = "MUST")]
    Must,
    /// The contract forbids it.
    #[serde(rename = "MUST NOT")]
    MustNot,
    /// The contract recommends it.
    #[serde(rename = "SHOULD")]
    Should,
    /// The contract allows it; the check looks at servers that do it.
    #[serde(rename = "MAY")]
    May,
    /// Not part of the contract.
    #[serde(rename = "advice")]
    Advice,
}

impl Level {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Level::Must => "MUST",
            Level::MustNot => "MUST NOT",
            Level::Should => "SHOULD",
            Level::May => "MAY",
            Level::Advice => "advice",
        }
    }

    /// Whether a server that fails such a check breaks the contract.
    pub fn is_binding(self) -> bool {
        matches!(self, Level::Must | Level::MustNot)
    }
}

/// A requirement of the contract: the section and the row within it.
pub type Row = (&'static str, usize);

/// What one check is about.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Description {
    /// The number, which stays the same in later versions.
    pub number: u16,
    /// The name, which stays the same in later versions.
    pub name: &'static str,
    /// The section of the contract, for example `4.2`; empty for advice.
    pub section: &'static str,
    /// How binding it is.
    pub level: Level,
    /// What the server does if it passes.
    pub requires: &'static str,
    /// What goes wrong otherwise.
    pub why: &'static str,
    /// How to mend the server.
    pub fix: &'static str,
    /// The requirements of the contract that it checks.
    #[serde(skip)]
    pub rows: &'static [Row],
}

/// A requirement that cannot be seen from outside, or that is not the server's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unchecked {
    /// The section and the row within it.
    pub row: Row,
    /// What it asks.
    pub requires: &'static str,
    /// Why it is not checked.
    pub reason: &'static str,
}

macro_rules! checks {
    ($($check:ident {
        $number:literal $name:literal $section:literal $level:ident $rows:tt
        requires: $requires:literal
        why: $why:literal
        fix: $fix:literal
    })*) => {
        /// A check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "`describe` describes each")]
        pub enum Check {
            $($check,)*
        }

        impl Check {
            /// All checks, by number.
            pub const ALL: &[Check] = &[$(Check::$check,)*];
        }

        const DESCRIPTIONS: &[Description] = &[$(Description {
            number: $number,
            name: $name,
            section: $section,
            level: Level::$level,
            requires: $requires,
            why: $why,
            fix: $fix,
            rows: &$rows,
        },)*];
    };
}

impl Check {
    /// What the check is about.
    pub fn describe(self) -> &'static Description {
        &DESCRIPTIONS[self as usize]
    }
}

checks! {
    InitializeAnswered {
        1 "initialize-answered" "3.2" Must
        [("3.1", 1), ("3.2", 1), ("4.1", 1), ("4.2", 1), ("4.2", 2), ("4.3", 2), ("11.1", 1), ("11.1", 2), ("12", 1), ("12", 2)]
        requires: "The server starts and answers `initialize` with a result."
        why: "Goose cannot use a server before `initialize` has succeeded."
        fix: "Start the server by hand and read its stderr; answer `initialize` before slow work, such as downloads."
    }
    InitializeResult {
        2 "initialize-result" "3.2" Must
        [("3.2", 2)]
        requires: "The result of `initialize` has `protocolVersion`, an object `capabilities`, and `serverInfo` with the strings `name` and `version`."
        why: "Clients that check the result refuse the connection."
        fix: "Return all three fields in the types of the MCP schema."
    }
    ProtocolVersion {
        3 "protocol-version" "3.1" Must
        [("3.1", 2)]
        requires: "`protocolVersion` in the result is the version that the client asked for, or another version of MCP."
        why: "Goose disconnects from a server whose version it does not know."
        fix: "Return the requested version if the server supports it, otherwise the newest one that it supports."
    }
    OlderVersions {
        4 "older-versions" "3.1" Must
        [("3.1", 2)]
        requires: "A client that asks for an older version of MCP gets that version or another version of MCP, not an error."
        why: "Goose's releases ask for different versions."
        fix: "Answer every known version with itself and others with the newest one that the server supports."
    }
    UnknownVersion {
        5 "unknown-version" "3.1" Must
        [("3.1", 2)]
        requires: "A client that asks for a version that does not exist gets a version of MCP, neither that one nor an error."
        why: "A server that agrees to a version that it does not know promises behaviour that it does not have."
        fix: "Compare the requested version with a list of supported versions, and return the newest one if it is not listed."
    }
    InitializedAccepted {
        6 "initialized-accepted" "3.2" Must
        [("3.2", 3), ("12", 2)]
        requires: "The server accepts `notifications/initialized` and answers the next request."
        why: "Goose sends it after every `initialize`, and then its requests."
        fix: "Handle the notification, or ignore it; keep the connection open."
    }
    Ping {
        7 "ping" "3.2" Must
        [("3.2", 4)]
        requires: "`ping` gets an empty result."
        why: "Clients use `ping` to find out whether a server is still there."
        fix: "Answer `ping` with `{}`. It needs no capability."
    }
    NotificationsUnanswered {
        8 "notifications-unanswered" "3.1" Must
        [("3.1", 1)]
        requires: "Notifications get no response, not even unknown ones."
        why: "A response without a request confuses clients that count responses."
        fix: "Never respond to a message without `id`; ignore notifications of unknown methods."
    }
    IdsReturned {
        9 "ids-returned" "3.1" Must
        [("3.1", 1)]
        requires: "A response has the `id` of its request, with the same type: strings stay strings and numbers stay numbers."
        why: "A client cannot find the request of a response with another `id` and waits until its timeout."
        fix: "Keep the `id` as it was received, and return it unchanged."
    }
    AnsweredOnce {
        10 "answered-once" "3.1" Must
        [("3.1", 1)]
        requires: "Each request gets exactly one response, and no response comes without a request."
        why: "A second response may be taken for the response to another request."
        fix: "Send one response for each request, also when the request fails after it has begun."
    }
    MessageShape {
        11 "message-shape" "3.1" Must
        [("3.1", 1)]
        requires: "Each message of the server is a JSON-RPC 2.0 message: `jsonrpc` is \"2.0\", and it is a request, a notification or a response with either `result` or `error`."
        why: "Strict clients drop or refuse other messages."
        fix: "Let a JSON-RPC library write the messages, or compare them with the specification of JSON-RPC 2.0."
    }
    RequestBeforeInitialize {
        12 "request-before-initialize" "3.2" Should
        [("3.2", 4)]
        requires: "A request before `initialize` is answered, with an error or a result, and `initialize` still works afterwards."
        why: "A server that ends or hangs instead cannot be diagnosed."
        fix: "Answer requests before `initialize` with an error."
    }
    RequestBeforeInitialized {
        13 "request-before-initialized" "3.2" Should
        [("3.2", 4)]
        requires: "A request between `initialize` and `notifications/initialized` is answered, and the server works afterwards."
        why: "Some clients send their first requests before the notification."
        fix: "Answer such requests with a result or an error."
    }
    DeclaredMethods {
        14 "declared-methods" "5" Must
        [("5", 1), ("12", 3)]
        requires: "Each declared capability has its methods: `tools/list`, `resources/list`, `prompts/list`, `logging/setLevel`, `completion/complete`, `resources/subscribe`."
        why: "Goose calls the methods of every declared capability; users see the errors."
        fix: "Implement the method, or do not declare the capability."
    }
    UndeclaredMethods {
        15 "undeclared-methods" "5" Must
        [("12", 3)]
        requires: "Methods of capabilities that are not declared are refused."
        why: "Goose never calls them, so what they offer is lost."
        fix: "Declare the capability in the result of `initialize`."
    }

    StdoutClean {
        20 "stdout-clean" "4.2" Must
        [("4.2", 3), ("12", 7)]
        requires: "Every line on stdout is a message of MCP."
        why: "Clients take every line for a message, and some disconnect at the first other line."
        fix: "Write logs, banners and progress bars to stderr; look for `print` and for libraries and wrappers that write to stdout."
    }
    FramingUnderLoad {
        21 "framing-under-load" "4.2" Must
        [("4.2", 5)]
        requires: "Fifty requests at once get fifty whole responses."
        why: "Messages that several threads write at once become unreadable when they mix."
        fix: "Write each message with its line break under one lock, and flush it."
    }
    BigMessage {
        22 "big-message" "4.2" Must
        [("4.2", 5)]
        requires: "A request of one megabyte is answered."
        why: "Goose passes whole files as arguments. A reader with a line limit loses the connection at the first of them."
        fix: "Raise the limit of the line reader (Python's asyncio has 64 KiB by default)."
    }
    Unicode {
        23 "unicode" "4.2" Must
        [("4.2", 5)]
        requires: "Characters of all languages, emoji, and U+2028 and U+0085 pass unchanged in both directions."
        why: "Readers that end lines at other characters than LF cut messages in two; other encodings than UTF-8 change texts."
        fix: "Open stdin and stdout as UTF-8, and split lines at LF only."
    }
    CrLf {
        24 "crlf" "4.2" Should
        [("4.2", 5)]
        requires: "A line that ends with CR LF is read like one that ends with LF."
        why: "Clients on Windows may write CR LF."
        fix: "Remove white space at the end of a line before you parse it."
    }
    BlankLines {
        25 "blank-lines" "4.2" Should
        [("4.2", 5)]
        requires: "Blank lines are ignored."
        why: "Some clients and scripts end their input with blank lines."
        fix: "Skip lines that contain only white space."
    }
    EndsWithStdin {
        26 "ends-with-stdin" "4.2" Should
        [("4.2", 5)]
        requires: "The process ends by itself, with success, within two seconds after its stdin was closed."
        why: "This is how MCP ends a server. A server that stays is killed and may lose data, or is left behind."
        fix: "End the read loop at the end of the input, and stop threads, timers and child processes."
    }

    HttpMediaType {
        30 "http-media-type" "4.3" Must
        [("4.3", 1)]
        requires: "A request is answered with status 200 and `application/json` or `text/event-stream`."
        why: "Clients choose the parser by `Content-Type` and refuse others."
        fix: "Set the `Content-Type` that fits the body."
    }
    HttpAccept {
        31 "http-accept" "4.3" Must
        [("4.3", 1)]
        requires: "`Accept` is understood in any order of its types, with parameters and with white space."
        why: "HTTP libraries write the header differently."
        fix: "Parse the list of media types; do not compare the whole header."
    }
    HttpNotificationStatus {
        32 "http-notification-status" "4.3" Must
        [("4.3", 1)]
        requires: "A notification is answered with status 202 and no body."
        why: "Clients that expect 202 take another status for a failure."
        fix: "Answer POSTs that contain no request with 202 and an empty body."
    }
    HttpSessionIdShape {
        33 "http-session-id" "4.3" Must
        [("4.3", 1)]
        requires: "A session id consists of visible ASCII characters."
        why: "Clients refuse header values with other characters."
        fix: "Use a UUID, hexadecimal digits or base64url."
    }
    HttpUnknownSession {
        34 "http-unknown-session" "4.3" Must
        [("4.3", 1)]
        requires: "With sessions, a request with an unknown session id is answered with status 404."
        why: "404 tells the client to start a new session. With another status it stays disconnected after a restart of the server."
        fix: "Answer 404 if the value of `Mcp-Session-Id` is not a running session."
    }
    HttpMissingSession {
        35 "http-missing-session" "4.3" Should
        [("4.3", 1)]
        requires: "With sessions, a request without a session id, other than `initialize`, is answered with status 400."
        why: "A server that answers anyway mixes the state of its clients."
        fix: "Answer 400 if `Mcp-Session-Id` is missing."
    }
    HttpSessionDeleted {
        36 "http-session-deleted" "4.3" Must
        [("4.3", 1)]
        requires: "After a successful DELETE, requests of that session are answered with status 404; a server that does not let clients end sessions answers the DELETE with 405."
        why: "A session that outlives its DELETE uses memory until the server ends."
        fix: "Remove the session on DELETE."
    }
    HttpVersionHeader {
        37 "http-version-header" "4.3" Must
        [("4.3", 1)]
        requires: "A request with an unsupported `MCP-Protocol-Version` is answered with status 400."
        why: "MCP says so since version 2025-06-18. Otherwise client and server may follow different versions."
        fix: "Compare the header with the supported versions; a request without the header is accepted."
    }
    HttpGet {
        38 "http-get" "4.3" Must
        [("4.3", 1)]
        requires: "GET opens an event stream or is answered with status 405."
        why: "Clients open this stream after `initialize`. With another status some of them disconnect."
        fix: "Answer GET with 405 if the server never sends messages of its own."
    }
    HttpEventStream {
        39 "http-event-stream" "4.3" Must
        [("4.3", 4), ("12", 8)]
        requires: "Event streams follow the format: UTF-8, fields with a colon, an empty line after each event, one message in the data of an event."
        why: "A strict parser drops what does not follow the format."
        fix: "Write `data: MESSAGE`, then an empty line. Prefix each line of a message that has several with `data: `."
    }
    HttpErrorBody {
        40 "http-error-body" "4.3" Must
        [("4.3", 3)]
        requires: "A refused request has a status from 400 to 499 and a readable body: a JSON-RPC error, or at least JSON or plain text."
        why: "An HTML page or a status 500 tells neither the client nor its user what to change."
        fix: "Answer refusals with a JSON-RPC error and the status that fits."
    }
    HttpOrigin {
        41 "http-origin" "4.3" Should
        [("4.3", 1)]
        requires: "On this machine, a request of a foreign web page (header `Origin`) is answered with status 403."
        why: "Any page in the user's browser could call the tools (DNS rebinding). MCP makes this a MUST."
        fix: "Compare `Origin` with a list of allowed origins; accept requests without it."
    }
    HttpHost {
        42 "http-host" "4.3" Should
        [("4.3", 1)]
        requires: "On this machine, a request for a foreign host (header `Host`) is refused."
        why: "Without it, a page in the user's browser can read the answers (DNS rebinding)."
        fix: "Accept `localhost`, `127.0.0.1` and `[::1]`, with the port, and the host names of the deployment."
    }
    HttpLegacySse {
        43 "http-legacy-sse" "4.1" MustNot
        [("4.1", 2)]
        requires: "The address does not speak only the HTTP+SSE transport of 2024-11-05."
        why: "Goose does not support that transport."
        fix: "Serve Streamable HTTP; most SDKs have it beside SSE."
    }
    HttpMethodErrors {
        44 "http-method-errors" "8" Must
        [("8", 2)]
        requires: "Over HTTP, a failed method is a JSON-RPC error, not a failure of the transport (5xx)."
        why: "Clients reconnect or retry after a failure of the transport."
        fix: "Answer with status 200 and the JSON-RPC error in the body."
    }

    ToolsList {
        50 "tools-list" "5.1" Must
        [("5.1", 1), ("11.1", 3), ("12", 4)]
        requires: "`tools/list` returns a list of tools."
        why: "Goose lists the tools at every start."
        fix: "Declare `tools` and return `{\"tools\": […]}`."
    }
    ToolsCall {
        51 "tools-call" "5.1" Must
        [("5.1", 2), ("11.1", 3)]
        requires: "`tools/call` exists, and a call with valid arguments gets a result."
        why: "Tools that cannot be called are useless to the model."
        fix: "Implement `tools/call`, and answer every call, also one that fails."
    }
    ToolNamesStable {
        52 "tool-names-stable" "5.1" Must
        [("5.1", 3)]
        requires: "Repeated lists have the same tools."
        why: "The model calls tools by the names of the first list."
        fix: "List the same tools for the whole session; send `notifications/tools/list_changed` if they change."
    }
    ToolNamesValid {
        53 "tool-names-valid" "5.1" Should
        [("5.1", 3)]
        requires: "Tool names have 1 to 64 characters of A–Z, a–z, 0–9, `_` and `-`."
        why: "Goose prefixes the extension's name, and models' APIs refuse other characters and names of more than 64 characters."
        fix: "Rename the tool."
    }
    ToolNamesUnique {
        54 "tool-names-unique" "5.1" Must
        [("5.1", 3)]
        requires: "No two tools have the same name, also in lower case and with other characters replaced by `_`."
        why: "Only one of them can be called."
        fix: "Rename one of the tools."
    }
    ToolShape {
        55 "tool-shape" "7" Must
        [("7", 2), ("12", 4)]
        requires: "Each tool has a string `name` and an object `inputSchema`; `title` and `description` are strings, `annotations` has booleans, `_meta` is an object."
        why: "Strict clients refuse the whole list for one wrong field."
        fix: "Compare the entry with the MCP schema, type `Tool`. Leave out fields instead of sending null."
    }
    ToolSchemaValid {
        56 "tool-schema-valid" "5.1" Must
        [("5.1", 4), ("7", 4), ("12", 5)]
        requires: "Each `inputSchema` is valid JSON Schema."
        why: "Models' APIs refuse the whole request for one invalid schema."
        fix: "Validate the schema with a JSON Schema validator."
    }
    ToolSchemaObject {
        57 "tool-schema-object" "5.1" Must
        [("5.1", 4), ("12", 5)]
        requires: "Each `inputSchema` has `\"type\": \"object\"` at its root."
        why: "Arguments are always objects, and models' APIs refuse other schemas."
        fix: "Make the root an object with `properties`. A tool without arguments has `{\"type\": \"object\"}`."
    }
    ToolSchemaRequired {
        58 "tool-schema-required" "5.1" Must
        [("5.1", 4), ("12", 5)]
        requires: "Each name in `required` is one of `properties`."
        why: "Strict models' APIs refuse such schemas, and the model does not know what to fill in."
        fix: "Add the property, or remove the name from `required`."
    }
    ToolSchemaLocal {
        59 "tool-schema-local" "5.1" Must
        [("5.1", 4), ("12", 5)]
        requires: "Each `$ref` in a schema leads to a place in the same schema."
        why: "Clients do not fetch other documents, least of all offline."
        fix: "Inline the other document, or put it into `$defs`."
    }
    ToolSchemaSize {
        60 "tool-schema-size" "5.1" Should
        [("5.1", 4)]
        requires: "No `inputSchema` has more than 32 KiB."
        why: "The model gets all schemas with every request; large ones cost tokens and exceed limits of APIs."
        fix: "Shorten the schema, or split the tool."
    }
    OutputSchemaValid {
        61 "output-schema-valid" "5.1" Must
        [("7", 4)]
        requires: "Each `outputSchema` is valid JSON Schema with `\"type\": \"object\"` at its root."
        why: "Clients that check structured results fail on the schema."
        fix: "Correct the schema, or leave it out."
    }
    UnknownTool {
        62 "unknown-tool" "8" Must
        [("8", 1), ("8", 3)]
        requires: "A call of an unknown tool gets an error, or a result with `isError`."
        why: "The model takes a result without `isError` for a success."
        fix: "Answer with the error -32602 and the name of the tool."
    }
    WrongArguments {
        63 "wrong-arguments" "5.1" Should
        [("5.1", 5), ("8", 4)]
        requires: "A call that lacks a required argument, has one of a wrong type, or one that the schema excludes, gets an error."
        why: "The model corrects its call only if it learns what is wrong."
        fix: "Validate the arguments against `inputSchema` before the tool runs."
    }
    SameError {
        64 "same-error" "5.1" Should
        [("5.1", 5)]
        requires: "The same wrong call gets the same error again."
        why: "Clients and models compare errors to find out whether a retry helps."
        fix: "Keep times, counters, addresses and stack traces out of errors."
    }
    ToolResultShape {
        65 "tool-result-shape" "7" Must
        [("7", 2), ("7", 3)]
        requires: "The result of a call has a list `content`, whose parts have a known `type` with its fields; `isError` is a boolean, `structuredContent` an object."
        why: "Clients drop or refuse results of another shape."
        fix: "Return `{\"content\": [{\"type\": \"text\", \"text\": …}]}`; compare with the MCP schema, type `CallToolResult`."
    }
    StructuredContent {
        66 "structured-content" "7" Must
        [("7", 2)]
        requires: "A result of a tool with `outputSchema` has `structuredContent` that is valid against it."
        why: "Clients that check structured results refuse it."
        fix: "Return what the schema says, or correct the schema."
    }

    ResourcesList {
        70 "resources-list" "5.2" Must
        [("5.2", 1), ("11.2", 1), ("12", 4)]
        requires: "`resources/list` returns a list of resources."
        why: "Goose lists the resources of servers that declare them."
        fix: "Return `{\"resources\": […]}`, with an empty list if there are none."
    }
    ResourcesRead {
        71 "resources-read" "5.2" Must
        [("5.2", 2), ("5.2", 3), ("11.2", 1)]
        requires: "Every listed resource can be read."
        why: "Users and models pick resources from the list."
        fix: "List only what can be read."
    }
    ResourceShape {
        72 "resource-shape" "7" Must
        [("7", 2), ("12", 4)]
        requires: "Each resource has the strings `uri` and `name`; `mimeType`, `title` and `description` are strings. Each template has `uriTemplate` and `name`."
        why: "Strict clients refuse the whole list for one wrong field."
        fix: "Compare the entry with the MCP schema, types `Resource` and `ResourceTemplate`."
    }
    ResourceContents {
        73 "resource-contents" "5.2" Must
        [("5.2", 4)]
        requires: "Contents have a `uri` and either `text` or `blob` in base64."
        why: "Clients cannot show other contents."
        fix: "Return text as `text`, bytes as `blob` in standard base64 with padding."
    }
    ResourceTypesSteady {
        74 "resource-types-steady" "5.2" Must
        [("5.2", 4)]
        requires: "A resource has the same MIME type in the list and in both of two reads, and is text or a blob in both."
        why: "Clients choose a viewer by the type."
        fix: "Decide the type once for each resource."
    }
    UnknownResource {
        75 "unknown-resource" "8" Must
        [("8", 1)]
        requires: "Reading a resource that does not exist gets an error."
        why: "The model takes empty contents for an empty file."
        fix: "Answer with the error -32002 and the `uri`."
    }
    ResourceTemplates {
        76 "resource-templates" "5.2" Should
        [("5", 1)]
        requires: "`resources/templates/list` returns a list, or is refused as an unknown method."
        why: "Clients ask for templates with the resources."
        fix: "Return `{\"resourceTemplates\": []}` if there are none."
    }

    PromptsList {
        80 "prompts-list" "5.3" Must
        [("5.3", 1), ("11.3", 1), ("12", 4)]
        requires: "`prompts/list` returns a list of prompts."
        why: "Goose lists the prompts of servers that declare them."
        fix: "Return `{\"prompts\": […]}`, with an empty list if there are none."
    }
    PromptsGet {
        81 "prompts-get" "5.3" Must
        [("5.3", 2), ("11.3", 1)]
        requires: "Every listed prompt can be got. One with required arguments may refuse the check's sample arguments."
        why: "Users pick prompts from the list."
        fix: "Implement `prompts/get` for every listed prompt."
    }
    PromptShape {
        82 "prompt-shape" "7" Must
        [("7", 2), ("12", 4)]
        requires: "Each prompt has a string `name`; its `arguments` are a list of objects with a string `name` and a boolean `required`."
        why: "Strict clients refuse the whole list for one wrong field."
        fix: "Compare the entry with the MCP schema, type `Prompt`."
    }
    PromptMessages {
        83 "prompt-messages" "5.3" Must
        [("7", 2), ("7", 3)]
        requires: "A prompt's `messages` have the role `user` or `assistant` and one content object with a known `type`."
        why: "Goose refuses or drops other messages."
        fix: "Compare the result with the MCP schema, type `GetPromptResult`."
    }
    PromptArguments {
        84 "prompt-arguments" "8" Should
        [("8", 4)]
        requires: "A prompt without one of its required arguments gets an error."
        why: "Otherwise the model gets a text with a gap."
        fix: "Answer with the error -32602 and the name of the argument."
    }
    UnknownPrompt {
        85 "unknown-prompt" "8" Must
        [("8", 1)]
        requires: "Getting a prompt that does not exist gets an error."
        why: "The user takes an empty prompt for the real one."
        fix: "Answer with the error -32602 and the name of the prompt."
    }

    NotificationShape {
        90 "notification-shape" "5.4" Must
        [("5.4", 1), ("12", 6)]
        requires: "The parameters of known notifications have the fields of the MCP schema."
        why: "Clients drop notifications that they cannot read, and users miss progress and logs."
        fix: "Compare the notification with the MCP schema."
    }
    Progress {
        91 "progress" "5.4" Should
        [("5.4", 2)]
        requires: "Progress has the token of a running request, and its numbers increase."
        why: "Clients cannot find the call otherwise, and show progress that runs backwards."
        fix: "Return `_meta.progressToken` of the request unchanged; send none without it or after the response."
    }
    LogMessages {
        92 "log-messages" "5.4" Should
        [("5.4", 3)]
        requires: "Log messages come only from servers that declare `logging`, with one of the eight levels and with `data`."
        why: "Clients drop others."
        fix: "Declare `logging`; use the levels of RFC 5424 in lower case."
    }
    UnknownNotifications {
        93 "unknown-notifications" "5.4" Should
        [("5.4", 4), ("5.4", 5)]
        requires: "Notifications of a server's own have an object as `params`, or none."
        why: "Clients that ignore unknown notifications still have to parse them."
        fix: "Put values into an object."
    }
    ServerRequests {
        94 "server-requests" "5.5" Must
        [("5.5", 1), ("5.5", 2), ("12", 6)]
        requires: "The server sends only requests of MCP that the client has declared: `roots/list`, `sampling/createMessage`, `elicitation/create`, and `ping`."
        why: "A client answers others with an error, and the call fails or hangs."
        fix: "Look at the client's capabilities in `initialize` before you send a request."
    }
    ServerRequestShape {
        95 "server-request-shape" "5.5" Must
        [("5.5", 1), ("12", 6)]
        requires: "Requests to the client have the parameters of the MCP schema."
        why: "Goose refuses others, and the call fails."
        fix: "Compare the request with the MCP schema, types `CreateMessageRequest` and `ElicitRequest`."
    }
    RefusedServerRequests {
        96 "refused-server-requests" "5.5" Must
        [("5.5", 1)]
        requires: "The server goes on after its request was answered or refused."
        why: "Users decline questions, and clients may not answer them at all."
        fix: "Handle the error, and answer the call that asked."
    }
    ListChanges {
        97 "list-changes" "5.4" Should
        [("5", 1)]
        requires: "`list_changed` and `resources/updated` come only if they were declared."
        why: "Clients that look at the capabilities ignore others."
        fix: "Declare `listChanged` or `subscribe`."
    }

    PagesComplete {
        100 "pages-complete" "6" Must
        [("6", 1), ("12", 4)]
        requires: "The pages of a list have no entry twice, and a `nextCursor` leads to a page."
        why: "Clients show entries twice or lose the rest."
        fix: "Make the cursor an offset or the last entry of the page."
    }
    PagesRepeat {
        101 "pages-repeat" "6" Must
        [("6", 2), ("12", 4)]
        requires: "The same cursor leads to the same page again."
        why: "Clients retry a page after a timeout."
        fix: "Do not delete the state of a cursor when it is used."
    }
    PagesEnd {
        102 "pages-end" "6" Must
        [("6", 3), ("12", 4)]
        requires: "A list ends with a page without `nextCursor`, and all pages are different."
        why: "Clients ask for pages without end, or give up and lose the list."
        fix: "Leave `nextCursor` out of the last page; null and \"\" are not the end for every client."
    }
    CursorsStay {
        103 "cursors-stay" "6" Should
        [("6", 4)]
        requires: "A cursor is still valid after other requests."
        why: "Clients list tools, resources and prompts at the same time."
        fix: "Put the state into the cursor, or keep it for the session."
    }
    BadCursor {
        104 "bad-cursor" "6" Should
        [("8", 4)]
        requires: "With pages, an invalid cursor gets an error."
        why: "A client that gets the first page instead begins again without end."
        fix: "Answer with the error -32602."
    }

    ValidJson {
        110 "valid-json" "7" Must
        [("7", 1)]
        requires: "Each message is valid JSON in UTF-8, without NaN, Infinity or single quotes."
        why: "A client loses the whole message."
        fix: "Use a JSON library in its strict mode (Python: `allow_nan=False`)."
    }
    TypesSteady {
        111 "types-steady" "7" Must
        [("7", 2), ("7", 3)]
        requires: "A field has the same type in all answers to the same request."
        why: "Typed clients fail on the answer that differs."
        fix: "Return empty lists as `[]`, single values in lists of one, and leave out missing fields."
    }
    Integers {
        112 "integers" "7" Should
        [("7", 5)]
        requires: "Whole numbers are written as such: neither as 1.0 nor as text."
        why: "Typed clients refuse fractions and texts where they expect integers."
        fix: "Convert the value to an integer before you write it."
    }

    UnknownMethod {
        120 "unknown-method" "8" Must
        [("8", 3)]
        requires: "An unknown method gets the error -32601."
        why: "Clients find out by this code what a server does not support."
        fix: "Answer unknown methods with -32601."
    }
    ErrorShape {
        121 "error-shape" "8" Must
        [("8", 1)]
        requires: "An error has an integer `code` and a string `message`."
        why: "Clients cannot read other errors and wait until their timeout."
        fix: "Return `{\"code\": …, \"message\": …}`."
    }
    ParseError {
        122 "parse-error" "8" Should
        [("8", 3)]
        requires: "A message that is not JSON gets the error -32700, or none."
        why: "Another answer may be taken for the response to a request."
        fix: "Answer with -32700 and `\"id\": null`."
    }
    InvalidRequest {
        123 "invalid-request" "8" Should
        [("8", 3)]
        requires: "JSON that is not a JSON-RPC message gets the error -32600, or none."
        why: "Another answer may be taken for the response to a request."
        fix: "Answer with -32600, and with the `id` if it can be read."
    }
    SurvivesMalformed {
        124 "survives-malformed" "4.2" Must
        [("4.2", 5)]
        requires: "The server goes on after messages that it cannot read."
        why: "One broken message ends all running calls."
        fix: "Catch the parser's error in the read loop."
    }
    ErrorsSteady {
        125 "errors-steady" "8" Must
        [("8", 3)]
        requires: "The same wrong request gets the same error code again."
        why: "Clients decide by the code what to do."
        fix: "Choose the code by the kind of failure."
    }
    ErrorMessages {
        126 "error-messages" "8" Should
        [("8", 4)]
        requires: "Errors about parameters have a message, which names what is wrong."
        why: "Users and models see only this message."
        fix: "Name the parameter or tool, and what was expected."
    }

    UnknownMeta {
        130 "unknown-meta" "9.2" Must
        [("9.2", 1), ("9.2", 2)]
        requires: "Unknown fields in `_meta` of any shape change nothing."
        why: "Goose adds fields of its own to every request, and later versions add more."
        fix: "Read the fields of `_meta` that you know, and ignore the rest."
    }

    UiCapability {
        140 "ui-capability" "10.1" May
        [("10", 1), ("10.1", 1), ("11.4", 1)]
        requires: "A declared capability `io.modelcontextprotocol/ui` is an object in `extensions`; its `mimeTypes` is a list of strings."
        why: "Clients ignore another declaration."
        fix: "Declare `{\"extensions\": {\"io.modelcontextprotocol/ui\": {…}}}`."
    }
    UiMimeType {
        141 "ui-mime-type" "10.2" Should
        [("10.2", 2)]
        requires: "HTML of `ui://` resources has the MIME type `text/html;profile=mcp-app`."
        why: "Clients show other resources as text."
        fix: "Set the MIME type in the list and in the contents."
    }
    UiContents {
        142 "ui-contents" "10.2" May
        [("10.2", 1), ("10.2", 3), ("11.4", 1)]
        requires: "Listed `ui://` resources can be read, and are text or a blob."
        why: "The user sees an empty frame."
        fix: "Return the page as `text`, or as `blob` in base64."
    }
    UiLinks {
        143 "ui-links" "10.3" Should
        [("10.3", 1), ("10.3", 2)]
        requires: "`_meta.ui.resourceUri` of a tool is a `ui://` resource that can be read."
        why: "The client asks for it before it shows the result."
        fix: "Correct the address, or serve the resource."
    }
    UiOptional {
        144 "ui-optional" "10.4" Must
        [("10.1", 3), ("10.4", 1), ("10.4", 2), ("12", 9)]
        requires: "A client that does not declare user interfaces gets the same capabilities and as many lists."
        why: "Goose's command line and other clients show no interfaces."
        fix: "Return a text result from every tool, and offer the tools to all clients."
    }

    StartTime {
        150 "start-time" "" Advice []
        requires: "`initialize` is answered within three seconds."
        why: "Users wait for it at every start of a session."
        fix: "Load models, indexes and connections when they are first needed."
    }
    Memory {
        151 "memory" "" Advice []
        requires: "The server's processes use less than 200 MiB."
        why: "Each session starts a server of its own."
        fix: "Load less at the start."
    }
    ToolTokens {
        152 "tool-tokens" "" Advice []
        requires: "The list of tools has fewer than about 10,000 tokens (4 bytes each)."
        why: "The model gets it with every request."
        fix: "Shorten descriptions and schemas, or offer fewer tools."
    }
    Descriptions {
        153 "descriptions" "" Advice []
        requires: "Each tool and each of its parameters has a description."
        why: "The model chooses tools and arguments by them."
        fix: "Add descriptions."
    }
    Annotations {
        154 "annotations" "" Advice []
        requires: "Each tool says with `annotations.readOnlyHint` whether it changes anything."
        why: "Goose asks the user before it calls tools that do not say that they are read-only."
        fix: "Set `readOnlyHint`, and `destructiveHint` for tools that change something."
    }
    CallsAtOnce {
        155 "calls-at-once" "" Advice []
        requires: "Fifty calls of a read-only tool at once are all answered."
        why: "Models call several tools at once, and Goose runs them together."
        fix: "Handle requests concurrently, and bound the queue."
    }
}

/// The requirements that no check covers.
pub const UNCHECKED: &[Unchecked] = &[
    Unchecked {
        row: ("4.2", 4),
        requires: "Logs go to stderr.",
        reason: "a server need not log; `stdout-clean` sees logs that go to stdout instead",
    },
    Unchecked {
        row: ("9.1", 1),
        requires: "The documentation shows how the server is started.",
        reason: "documentation is not part of the protocol; the report ends with a configuration for it",
    },
    Unchecked {
        row: ("9.3", 1),
        requires: "An implementation that runs inline Python conforms to its own document.",
        reason: "it binds clients, not servers",
    },
    Unchecked {
        row: ("9.4", 1),
        requires: "An implementation of the developer extension conforms to its own document.",
        reason: "that document is not public",
    },
    Unchecked {
        row: ("10.1", 2),
        requires: "The server heeds the MIME types that the client declares.",
        reason: "there is only one MIME type of user interfaces so far",
    },
    Unchecked {
        row: ("12", 10),
        requires: "With inline Python, the checks of its own document pass.",
        reason: "it binds clients, not servers",
    },
    Unchecked {
        row: ("12", 11),
        requires: "With the developer extension, the checks of its own document pass.",
        reason: "that document is not public",
    },
];
