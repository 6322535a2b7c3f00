//! Two servers on one root, one of which is repeatedly killed at a random moment. Afterwards, everything that
//! either has acknowledged is stored completely, and both return the same.
//!
//! `GOSLING_CRASHES` sets the number of rounds (12), `GOSLING_CRASHES_SEED` the seed of the random choices.

use crate::support::client::KEY;
use crate::support::server::{RunningServer, Server};
use crate::support::turns::user;
use crate::support::{TEST_TIMEOUT, until};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const ROUNDS: u64 = 12;
/// The longest life of a server in a round, in microseconds.
const LIFE: u64 = 150_000;

fn setting(name: &str, usual: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(usual, |text| text.parse().expect("a number"))
}

/// An acknowledgement of a server.
#[derive(Clone, Debug)]
enum Fact {
    /// A message of the user; `whole` if the turn finished.
    Turn {
        session: String,
        text: String,
        whole: bool,
    },
    Setting {
        key: String,
        is_secret: bool,
    },
    Session {
        id: String,
        texts: Vec<String>,
    },
    Named {
        id: String,
        name: String,
    },
    Deleted {
        id: String,
    },
}

impl Fact {
    fn kind(&self) -> &'static str {
        match self {
            Fact::Turn { whole: true, .. } => "turns",
            Fact::Turn { whole: false, .. } => "turns begun",
            Fact::Setting { is_secret, .. } if *is_secret => "secrets",
            Fact::Setting { .. } => "settings",
            Fact::Session { .. } => "imports and forks",
            Fact::Named { .. } => "names",
            Fact::Deleted { .. } => "deletions",
        }
    }
}

/// What the clients know.
#[derive(Default)]
struct Ledger {
    facts: Mutex<Vec<Fact>>,
    /// Sessions with a request to delete them, acknowledged or not.
    doomed: Mutex<HashSet<String>>,
    /// Requests without a response.
    cut: AtomicUsize,
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Ledger {
    fn add(&self, fact: Fact) {
        self.facts.lock().unwrap().push(fact);
    }

    /// A unique text.
    fn unique(&self, what: &str) -> String {
        format!("{what}{}", self.next.fetch_add(1, Ordering::SeqCst))
    }
}

/// A client of one server; it ends when the server was killed.
struct Client<'a> {
    to: SocketAddr,
    ledger: &'a Ledger,
}

/// The server was killed.
struct Gone;

impl Client<'_> {
    /// The bytes before the connection ended, which may be a part of a response.
    fn exchange(&self, method: &str, path: &str, body: &Value) -> Result<String, Gone> {
        let mut stream = TcpStream::connect(self.to).map_err(|_| Gone)?;
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let body = body.to_string();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Secret-Key: {KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        let timed_out = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!timed_out, "{method} {path}: no answer");
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// The response, if it came; it must not be an error.
    fn ask(&self, method: &str, path: &str, body: Value) -> Result<Value, Gone> {
        let answer = self.exchange(method, path, &body)?;
        let head = answer.split_once("\r\n\r\n");
        let Some((head, body)) = head.filter(|(_, body)| is_complete(&answer, body)) else {
            self.ledger.cut.fetch_add(1, Ordering::SeqCst);
            return Err(Gone);
        };
        assert!(
            head.contains(" 200 "),
            "{method} {path} answered {head}\n{body}"
        );
        Ok(serde_json::from_str(body).unwrap_or_default())
    }

    fn says(&self, session: &str) -> Result<(), Gone> {
        let text = self.ledger.unique("go ");
        let body = json!({"session_id": session, "user_message": user(&text)});
        let answer = self.exchange("POST", "/reply", &body)?;
        let whole = answer.contains("\"type\":\"Finish\"");
        let refused = answer.contains("\"type\":\"Error\"");
        if refused {
            assert!(answer.contains("another process"), "{answer}");
        } else if answer.contains("\"type\":\"Message\"") {
            let session = session.to_owned();
            self.ledger.add(Fact::Turn {
                session,
                text,
                whole,
            });
        }
        if whole || refused {
            return Ok(());
        }
        self.ledger.cut.fetch_add(1, Ordering::SeqCst);
        Err(Gone)
    }

    fn sets(&self, is_secret: bool) -> Result<(), Gone> {
        let key = self.ledger.unique("crash_");
        let body = json!({"key": key, "value": format!("of {key}"), "is_secret": is_secret});
        self.ask("POST", "/config/upsert", body)?;
        self.ledger.add(Fact::Setting { key, is_secret });
        Ok(())
    }

    fn imports(&self, deletes: bool) -> Result<(), Gone> {
        let text = self.ledger.unique("imported ");
        let file = export(&[&text, "b", "c"]);
        let made = self.ask("POST", "/sessions/import", json!({"json": file}))?;
        let id = made["id"].as_str().expect("an id").to_owned();
        let texts = vec![text, "b".to_owned(), "c".to_owned()];
        self.ledger.add(Fact::Session {
            id: id.clone(),
            texts,
        });
        if deletes {
            self.ledger.doomed.lock().unwrap().insert(id.clone());
            self.ask("DELETE", &format!("/sessions/{id}"), Value::Null)?;
            self.ledger.add(Fact::Deleted { id });
        }
        Ok(())
    }

    fn forks(&self, base: &str) -> Result<(), Gone> {
        let body = json!({"timestamp": null, "truncate": false, "copy": true});
        let made = self.ask("POST", &format!("/sessions/{base}/fork"), body)?;
        let id = made["sessionId"].as_str().expect("an id").to_owned();
        let texts = vec!["base".to_owned(), "more".to_owned()];
        self.ledger.add(Fact::Session {
            id: id.clone(),
            texts,
        });
        let name = self.ledger.unique("name ");
        let path = format!("/sessions/{id}/name");
        self.ask("PUT", &path, json!({"name": name}))?;
        self.ledger.add(Fact::Named { id, name });
        Ok(())
    }

    /// Repeats the work, at least once, until the round is over or the server was killed.
    fn works(&self, mut step: impl FnMut(&Self, usize) -> Result<(), Gone>) {
        for n in 0.. {
            if step(self, n).is_err() || self.ledger.stop.load(Ordering::SeqCst) {
                return;
            }
        }
    }
}

/// Whether `body` is as long as the head of `answer` says.
fn is_complete(answer: &str, body: &str) -> bool {
    let head = answer.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    length == Some(body.len())
}

fn export(texts: &[&str]) -> String {
    let messages: Vec<Value> = texts.iter().map(|text| user(text)).collect();
    json!({"working_dir": "/", "conversation": messages}).to_string()
}

/// Runs all kinds of requests on this server at the same time.
fn at_work<'s>(
    scope: &'s thread::Scope<'s, '_>,
    client: &'s Client<'s>,
    own: &'s str,
    shared: &'s str,
    base: &'s str,
) {
    let either = move |n: usize| if n.is_multiple_of(2) { shared } else { own };
    scope.spawn(move || client.works(|client, n| client.says(either(n))));
    scope.spawn(move || client.works(|client, n| client.sets(n % 3 == 1)));
    scope.spawn(move || client.works(|client, n| client.imports(n % 3 == 1)));
    scope.spawn(move || client.works(|client, _| client.forks(base)));
}

/// Checks that the server has everything that was acknowledged from the fact `from` on.
fn has_all(server: &RunningServer, ledger: &Ledger, from: usize, when: &str) {
    let facts = ledger.facts.lock().unwrap()[from..].to_vec();
    let doomed = ledger.doomed.lock().unwrap().clone();
    let config = server.get("/config").is(200).body;
    let listed = server.get("/sessions").is(200).body;
    let listed = listed["sessions"].as_array().expect("sessions").iter();
    let listed: HashSet<String> = listed
        .map(|session| session["id"].as_str().unwrap().to_owned())
        .collect();
    let mut transcripts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for fact in &facts {
        match fact {
            Fact::Turn {
                session,
                text,
                whole,
            } => {
                let said = transcripts
                    .entry(session)
                    .or_insert_with(|| whole_turns(server, session, when));
                let question = format!("user: {text}");
                let at = said.iter().position(|message| *message == question);
                let at = at.unwrap_or_else(|| panic!("{when}: {fact:?} is lost: {said:?}"));
                let answer = said.get(at + 1).map(String::as_str);
                let expected = format!("assistant: heard {text}");
                assert!(
                    !whole || answer == Some(&expected),
                    "{when}: the answer to {fact:?} is lost: {said:?}"
                );
            }
            Fact::Setting { key, is_secret } => {
                let body = json!({"key": key, "is_secret": is_secret});
                if *is_secret {
                    let read = server.post("/config/read", body).is(200).body;
                    assert!(!read.is_null(), "{when}: {fact:?} is lost");
                } else {
                    let read = &config["config"][key];
                    assert_eq!(read, &format!("of {key}"), "{when}: {fact:?} is lost");
                }
            }
            Fact::Session { id, .. } if doomed.contains(id) => {}
            Fact::Session { id, texts } => {
                let expected: Vec<_> = texts.iter().map(|text| format!("user: {text}")).collect();
                assert_eq!(server.known(id).transcript(), expected, "{when}: {fact:?}");
                assert!(listed.contains(id), "{when}: {fact:?} is not listed");
            }
            Fact::Named { id, name } => {
                assert_eq!(server.known(id).stored()["name"], *name, "{when}: {fact:?}");
            }
            Fact::Deleted { id } => {
                let _ = server.get(&format!("/sessions/{id}")).is(404);
                assert!(!listed.contains(id), "{when}: {fact:?} is listed");
            }
        }
    }
}

/// The messages of a session; checks that each answer belongs to the question right before it.
fn whole_turns(server: &RunningServer, session: &str, when: &str) -> Vec<String> {
    let said = server.known(session).transcript();
    for (n, message) in said.iter().enumerate() {
        let Some(answer) = message.strip_prefix("assistant: ") else {
            continue;
        };
        let question = n.checked_sub(1).map(|before| said[before].as_str());
        let expected = question.and_then(|it| it.strip_prefix("user: "));
        let expected = expected.map(|text| format!("heard {text}"));
        assert!(
            expected.is_some_and(|expected| expected.starts_with(answer)),
            "{when}: {answer:?} answers {question:?} in {session}"
        );
    }
    said
}

#[test]
fn whatever_was_acknowledged_before_one_of_two_servers_is_killed_is_there() {
    let rounds = setting("GOSLING_CRASHES", ROUNDS);
    let mut random = setting("GOSLING_CRASHES_SEED", 0x2545_f491_4f6c_dd1d).max(1);
    let script = json!({"repeat": true, "turns": [
        {"steps": [{"text": "heard {{last_user}}", "chunks": 4, "delay_ms": 1}]},
    ]});
    let mut one = Server::scripted(script).start();
    let mut two = one.beside();
    let base = one.post(
        "/sessions/import",
        json!({"json": export(&["base", "more"])}),
    );
    let base = base.is(200).body["id"].as_str().unwrap().to_owned();
    let [shared, first, second] = [(); 3].map(|()| one.session([]).id);
    let ledger = Ledger::default();
    let mut checked = 0;
    for round in 0..rounds {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ledger.stop.store(false, Ordering::SeqCst);
        let clients = [&one, &two].map(|server| Client {
            to: server.address(),
            ledger: &ledger,
        });
        let is_first = random & 1 == 0;
        thread::scope(|scope| {
            at_work(scope, &clients[0], &first, &shared, &base);
            at_work(scope, &clients[1], &second, &shared, &base);
            thread::sleep(Duration::from_micros(random / 2 % LIFE));
            if is_first {
                one.kill()
            } else {
                two.kill()
            }
            ledger.stop.store(true, Ordering::SeqCst);
        });
        let when = format!("round {round}, the first server was killed: {is_first}");
        let survivor = if is_first { &two } else { &one };
        has_all(survivor, &ledger, checked, &format!("{when}; the other"));
        survivor.never_logs("panicked");
        if is_first {
            one = one.again();
        } else {
            two = two.again();
        }
        let again = if is_first { &one } else { &two };
        has_all(again, &ledger, checked, &format!("{when}; started again"));
        checked = ledger.facts.lock().unwrap().len();
    }
    for server in [&one, &two] {
        has_all(server, &ledger, 0, "in the end");
        server.known(&shared).say("the end").finishes();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for fact in ledger.facts.lock().unwrap().iter() {
        *counts.entry(fact.kind()).or_default() += 1;
    }
    let cut = ledger.cut.load(Ordering::SeqCst);
    println!("{rounds} crashes cut off {cut} requests; acknowledged: {counts:?}");
    for kind in ["turns", "settings", "imports and forks", "names"] {
        let count = counts.get(kind).copied().unwrap_or_default();
        assert!(2 * count as u64 >= rounds, "{kind}: {counts:?}");
    }
    assert!(rounds < 10 || cut > 0, "nothing was cut off");
    until("no lock is left", || {
        one.known(&shared)
            .say("again")
            .events
            .last()
            .filter(|it| it["type"] == "Finish")
            .map(drop)
    });
}
