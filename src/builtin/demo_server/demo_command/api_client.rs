//! A minimal client of the API, for `gosling demo`.

use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::process::{Command, Grace, Pipes, Process, SERVER_KEY};
use gosling_outbound::sse::Decoder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use std::{env, fs, io};
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

/// The time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The largest response, in bytes.
const MAX_ANSWER: u64 = 64 << 20;
/// The largest event of a stream, in bytes.
const MAX_EVENT: usize = 16 << 20;
/// The file from which the server's provider `scripted` answers, below its root folder.
const SCRIPT: &str = "script.json";
/// How long the server may run on after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(5);

/// A `gosling agent` of this program, with its own root folder.
pub(super) struct SpawnedServer {
    process: Process,
    stdin: Option<std::process::ChildStdin>,
    root: PathBuf,
    /// For example `http://127.0.0.1:40123`.
    pub base: String,
    key: String,
    agent: Agent,
}

impl SpawnedServer {
    /// Starts the server on a free port and waits until it listens.
    ///
    /// # Errors
    /// The output of the server, if it does not listen.
    pub(super) fn start() -> io::Result<Self> {
        sys::protect_memory();
        let root = env::temp_dir().join(format!("gosling-demo-{}", sys::random_hex(8)?));
        fs::create_dir(&root)?;
        let key = sys::random_hex(16)?;
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["agent", "--host", "127.0.0.1", "--port", "0"])
            .env("GOOSE_PATH_ROOT", &root)
            .env(SERVER_KEY, &key)
            // The model settings in the user's environment must not affect this server.
            .env("GOOSE_SCRIPT", root.join(SCRIPT))
            .env("GOOSE_MODE", "auto")
            .env_remove("GOOSE_LEAD_MODEL")
            .env("GOOSE_TLS", "false")
            .env_remove("GOOSE_TLS_CERT_PATH")
            .env_remove("GOOSE_TLS_KEY_PATH")
            .env("GOOSE_LOG", "error");
        let started = Process::spawn(command, Some(TIMEOUT), &Cancel::new());
        let started = started.and_then(|(process, pipes)| {
            let (base, stdin) = listening(pipes)?;
            Ok((process, base, stdin))
        });
        let (process, base, stdin) = match started {
            Ok(started) => started,
            Err(error) => {
                let _ = fs::remove_dir_all(&root);
                return Err(error);
            }
        };
        let config = Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(TIMEOUT));
        Ok(SpawnedServer {
            process,
            stdin: Some(stdin),
            root,
            base,
            key,
            agent: Agent::new_with_config(config.build()),
        })
    }

    /// The root folder, which sessions may use as their working directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Sets the script of the provider `scripted`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn set_script(&self, script: &Value) -> io::Result<()> {
        fs::write(self.root.join(SCRIPT), script.to_string())
    }

    /// Sends a request. Returns the status and the body; a body that is not JSON becomes a string.
    ///
    /// # Errors
    /// When there is no response.
    pub(super) fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), String> {
        let mut answer = self.send(method, path, body)?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(MAX_ANSWER);
        let text = body.read_to_string().map_err(|e| e.to_string())?;
        let value = match text.as_str() {
            "" => Value::Null,
            text => gosling_core::json::from_str(text).unwrap_or_else(|_| text.into()),
        };
        Ok((status, value))
    }

    /// Sends a POST request whose response is an event stream. Returns the status and all events.
    ///
    /// # Errors
    /// When there is no response, or it ends early.
    pub(super) fn events(&self, path: &str, body: &Value) -> Result<(u16, Vec<Value>), String> {
        let mut answer = self.send("POST", path, Some(body))?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().as_reader();
        Ok((status, read_events(body.take(MAX_ANSWER))?))
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<Body>, String> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("X-Secret-Key", &self.key);
        let answer = match body {
            None => self.agent.run(request.body(()).map_err(|e| e.to_string())?),
            Some(body) => {
                let request = request.header("Content-Type", "application/json");
                let request = request.body(body.to_string());
                self.agent.run(request.map_err(|e| e.to_string())?)
            }
        };
        answer.map_err(|e| e.to_string())
    }

    /// Ends the server with SIGTERM and returns its exit status.
    pub(super) fn stop(mut self) -> Option<ExitStatus> {
        self.end();
        self.process.status()
    }

    fn end(&mut self) {
        drop(self.stdin.take());
        self.process.end(Grace {
            stdin: Duration::ZERO,
            term: TERM_GRACE,
        });
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Drop for SpawnedServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads the JSON values of an event stream.
fn read_events(mut stream: impl Read) -> Result<Vec<Value>, String> {
    let mut decoder = Decoder::new(MAX_EVENT);
    let mut events = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let n = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) => return Err(format!("the event stream ended early: {error}")),
        };
        let whole = decoder.push(&buffer[..n], |data| {
            events.push(gosling_core::json::from_slice(data));
        });
        whole.map_err(|_| "an event is too long".to_owned())?;
    }
    let events = events.into_iter().collect::<Result<_, _>>();
    events.map_err(|error| format!("an event is not JSON: {error}"))
}

/// Reads stderr up to the line with the server's address. From then on, threads discard its output.
fn listening(pipes: Pipes) -> io::Result<(String, std::process::ChildStdin)> {
    let mut stderr = BufReader::new(pipes.stderr);
    let mut output = String::new();
    let mut line = String::new();
    let base = loop {
        line.clear();
        if stderr.read_line(&mut line)? == 0 {
            return Err(io::Error::other(format!(
                "the server did not start: {}",
                output.trim()
            )));
        }
        if let Some((_, base)) = line.trim().split_once(" listens on ") {
            break base.to_owned();
        }
        output.push_str(&line);
    };
    drain(stderr)?;
    drain(pipes.stdout)?;
    Ok((base, pipes.stdin))
}

fn drain(mut from: impl Read + Send + 'static) -> io::Result<()> {
    sys::spawn("drain".into(), None, move || {
        let _ = io::copy(&mut from, &mut io::sink());
    })
    .map(drop)
}

#[cfg(test)]
mod tests;
