//! An MCP server on stdio that runs a script, see `scripted.rs`.

#[allow(dead_code)] // The builder is for the tests.
mod scripted;

use scripted::{Action, Script};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use std::{env, fs, process, thread};

fn main() {
    let script = env::args().nth(1).expect("a script as the one argument");
    // A script that is too long for an argument is in a file.
    let script = match script.strip_prefix('@') {
        Some(file) => fs::read_to_string(file).expect("a readable file"),
        None => script,
    };
    let script: Script = serde_json::from_str(&script).expect("a script");
    let record = script.record.as_ref().map(|path| {
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(path);
        Mutex::new(file.expect("a file to write to"))
    });
    let server = Arc::new(Server {
        script,
        record,
        answered: Mutex::default(),
        asked: AtomicUsize::new(0),
        heard_answer: Condvar::new(),
    });
    let env: Map<_, _> = env::vars().map(|(k, v)| (k, v.into())).collect();
    let started = json!({"pid": process::id(), "cwd": env::current_dir().ok(), "env": env});
    server.note(json!({ "started": started }).to_string().as_bytes());
    let nobody = Call {
        message: Value::Null,
        number: 0,
        last_answer: Mutex::default(),
    };
    server.play(&server.script.begin, &nobody);
    for (number, line) in io::stdin().lock().split(b'\n').enumerate() {
        let Ok(line) = line else { break };
        server.note(&line);
        let message: Value = serde_json::from_slice(&line).expect("the client writes JSON");
        server.clone().handle(Call {
            message,
            number,
            last_answer: Mutex::default(),
        });
    }
}

struct Server {
    script: Script,
    record: Option<Mutex<File>>,
    /// The client's answers to the server's requests, by their ids.
    answered: Mutex<HashMap<String, Value>>,
    asked: AtomicUsize,
    heard_answer: Condvar,
}

/// A message of the client and its number.
struct Call {
    message: Value,
    number: usize,
    /// The client's last answer.
    last_answer: Mutex<Value>,
}

impl Call {
    fn fill(&self, text: &str, n: usize) -> String {
        text.replace("{id}", &self.message["id"].to_string())
            .replace("{n}", &n.to_string())
    }
}

impl Server {
    fn note(&self, line: &[u8]) {
        if let Some(record) = &self.record {
            let line = [line, b"\n"].concat();
            record.lock().unwrap().write_all(&line).unwrap();
        }
    }

    fn handle(self: Arc<Self>, call: Call) {
        let Some(method) = call.message["method"].as_str().map(str::to_owned) else {
            let id = call.message["id"].to_string();
            let mut answered = self.answered.lock().unwrap();
            answered.insert(id, call.message.clone());
            drop(answered);
            self.heard_answer.notify_all();
            return;
        };
        let tool = match method.as_str() {
            "tools/call" => call.message["params"]["name"].as_str(),
            _ => None,
        };
        let find = |all: &[(String, Vec<Action>)], name: &str| {
            let found = all.iter().find(|(known, _)| known == name);
            found.map(|(_, actions)| actions.clone())
        };
        let rule = find(&self.script.rules, &method);
        let rule = rule.or_else(|| find(&self.script.tools, tool?));
        match rule {
            // A new thread, so that a slow answer does not delay others.
            Some(actions) => drop(thread::spawn(move || self.play(&actions, &call))),
            None => self.behave(&method, tool, &call),
        }
    }

    fn capabilities(&self) -> Value {
        let more = self.script.capabilities.iter().map(String::as_str);
        let all = more.chain(["tools"]);
        Value::Object(all.map(|name| (name.to_owned(), json!({}))).collect())
    }

    /// Behaves like a correct server.
    fn behave(&self, method: &str, tool: Option<&str>, call: &Call) {
        let params = &call.message["params"];
        let action = match (method, tool) {
            ("initialize", _) => {
                let mut result = json!({
                    "protocolVersion": self.script.version.as_deref().map_or_else(
                        || params["protocolVersion"].clone(), Value::from),
                    "capabilities": self.capabilities(),
                    "serverInfo": {"name": "scripted", "version": "1"},
                });
                if let Some(instructions) = &self.script.instructions {
                    result["instructions"] = instructions.as_str().into();
                }
                Action::Result(result)
            }
            ("tools/list", _) => {
                let names = self.script.tools.iter().map(|(name, _)| name.as_str());
                let tools: Vec<Value> = names
                    .chain(["echo"])
                    .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
                    .collect();
                Action::Result(json!({ "tools": tools }))
            }
            ("tools/call", Some("echo")) => {
                Action::text(params["arguments"]["message"].as_str().unwrap_or_default())
            }
            ("ping", _) => Action::Result(json!({})),
            (method, _) if method.starts_with("notifications/") => return,
            _ => Action::Error(-32601, format!("there is no {method}")),
        };
        self.play(&[action], call);
    }

    fn play(&self, actions: &[Action], call: &Call) {
        for action in actions {
            // The client has gone, so the process ends.
            if self.perform(action, call).is_err() {
                return;
            }
        }
    }

    /// Sends a request to the client and waits for its answer.
    fn ask(&self, message: Value, call: &Call) -> io::Result<()> {
        write(io::stdout(), &format!("{message}\n"))?;
        let id = message["id"].to_string();
        let answered = self.answered.lock().unwrap();
        let waiting = |answered: &mut HashMap<String, Value>| !answered.contains_key(&id);
        let mut answered = self.heard_answer.wait_while(answered, waiting).unwrap();
        *call.last_answer.lock().unwrap() = answered.remove(&id).unwrap_or_default();
        Ok(())
    }

    fn perform(&self, action: &Action, call: &Call) -> io::Result<()> {
        let id = &call.message["id"];
        match action {
            Action::Result(result) => {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                write(
                    io::stdout(),
                    &call.fill(&format!("{answer}\n"), call.number),
                )
            }
            Action::Error(code, message) => {
                let error = json!({"code": code, "message": message});
                let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
                write(
                    io::stdout(),
                    &call.fill(&format!("{answer}\n"), call.number),
                )
            }
            Action::Text(text, times) => {
                let text = text.repeat(*times);
                let result = json!({"content": [{"type": "text", "text": text}]});
                self.perform(&Action::Result(result), call)
            }
            Action::Out(text, times) => repeat(io::stdout().lock(), text, *times, call),
            Action::Err(text, times) => repeat(io::stderr().lock(), text, *times, call),
            Action::Bytes(bytes) => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            Action::Sleep(ms) => {
                thread::sleep(Duration::from_millis(*ms));
                Ok(())
            }
            Action::Exit(code) => process::exit(*code),
            Action::Ask(method) => {
                let id = format!("ask {method}");
                self.ask(json!({"jsonrpc": "2.0", "id": id, "method": method}), call)
            }
            Action::AskWith(method, params) => {
                let n = self.asked.fetch_add(1, Ordering::SeqCst);
                let id = format!("ask {method} {n}");
                let message =
                    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
                self.ask(message, call)
            }
            Action::LastClientAnswer => {
                let last_answer = call.last_answer.lock().unwrap().to_string();
                self.perform(&Action::Text(last_answer, 1), call)
            }
            Action::Progress(times, ms) => {
                let token = &call.message["params"]["_meta"]["progressToken"];
                for n in 1..=*times {
                    thread::sleep(Duration::from_millis(*ms));
                    let params = json!({"progressToken": token, "progress": n});
                    self.perform(&Action::notify("notifications/progress", params), call)?;
                }
                Ok(())
            }
        }
    }
}

fn write(mut to: impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

fn repeat(to: impl Write, text: &str, times: usize, call: &Call) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(64 << 10, to);
    for n in 1..=times {
        if text.contains('{') {
            to.write_all(call.fill(text, n).as_bytes())?
        } else {
            to.write_all(text.as_bytes())?
        }
    }
    to.flush()
}
