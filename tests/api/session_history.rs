//! Stored sessions: list, read, search, copy, truncate, export and import.

use crate::support::client::{Answer, KEY};
use crate::support::server::{RunningServer, Server};
use gosling::conversation::{Message, Role};
use gosling::store::{Paths, Sessions};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

const UNKNOWN: &str = "20000101_1";

/// The store in the server's folder, opened by the process of the test.
fn store(server: &RunningServer) -> Sessions {
    Sessions::new(&Paths::under(server.root()))
}

fn text_message(text: &str, created: i64) -> Message {
    let mut message = Message::text(Role::User, text).with_id("m");
    message.created = created;
    message
}

/// A session with these messages, created at the seconds 1, 2, 3 and so on.
#[track_caller]
fn talk(server: &RunningServer, texts: &[&str]) -> String {
    let id = server.session([]).id.clone();
    let messages = (1..)
        .zip(texts)
        .map(|(at, text)| text_message(text, at))
        .collect();
    let store = store(server);
    store.journal(&id).unwrap().append(messages).unwrap();
    id
}

#[track_caller]
fn heard(server: &RunningServer, id: &str) -> Vec<String> {
    let session = server.get(&format!("/sessions/{id}")).is(200).body;
    let messages = session["conversation"].as_array().expect("messages");
    assert_eq!(session["message_count"], messages.len());
    let text = |message: &Value| message["content"][0]["text"].as_str().unwrap().to_owned();
    messages.iter().map(text).collect()
}

#[track_caller]
fn ids(sessions: &Value) -> Vec<String> {
    let sessions = sessions.as_array().expect("sessions");
    let id = |session: &Value| session["id"].as_str().unwrap().to_owned();
    sessions.iter().map(id).collect()
}

#[track_caller]
fn put(server: &RunningServer, path: &str, body: Value) -> Answer {
    server.ask("PUT", path, Some(KEY), Some(&body.to_string()))
}

#[test]
fn the_list_and_the_insights_have_the_sessions_in_which_something_was_said() {
    let server = Server::new().start();
    server
        .get("/sessions")
        .is(200)
        .gives(json!({"sessions": []}));
    let insights = |sessions: u64, tokens: u64| {
        let expected = json!({"totalSessions": sessions, "totalTokens": tokens});
        server.get("/sessions/insights").is(200).gives(expected);
    };
    insights(0, 0);
    let first = talk(&server, &["a"]);
    server.session([]);
    let second = talk(&server, &["b", "c"]);
    let store = store(&server);
    for (id, tokens) in [(&first, Some(100)), (&second, Some(80))] {
        let keep = |session: &mut gosling::conversation::Session| {
            session.accumulated_total_tokens = tokens;
        };
        store.update(id, keep).unwrap();
    }
    let mut aged = store.load(&first).unwrap().unwrap();
    aged.updated_at = "2026-01-01T00:00:00Z".to_owned();
    let path = server
        .root()
        .join("data/sessions")
        .join(&first)
        .join("session.json");
    fs::write(&path, serde_json::to_vec(&aged).unwrap()).unwrap();
    let listed = server.get("/sessions").is(200).body;
    assert_eq!(ids(&listed["sessions"]), [second.clone(), first.clone()]);
    let fields = listed["sessions"][0].as_object().unwrap();
    assert_eq!(fields["message_count"], 2);
    assert_eq!(fields["conversation"], Value::Null);
    insights(2, 180);

    fs::write(&path, "{ broken").unwrap();
    let listed = server.get("/sessions").is(200).body;
    assert_eq!(ids(&listed["sessions"]), [second]);
    server.logs("left out of the list");
    insights(1, 80);
}

#[test]
fn what_another_process_says_is_shown_at_once_and_survives() {
    let server = Server::new().start();
    let id = talk(&server, &["a"]);
    assert_eq!(heard(&server, &id), ["a"]);
    let store = store(&server);
    let mut journal = store.journal(&id).unwrap();
    journal.append(vec![text_message("b", 2)]).unwrap();
    assert_eq!(heard(&server, &id), ["a", "b"]);
    journal.hide_all_then(vec![text_message("c", 3)]).unwrap();
    let session = server.get(&format!("/sessions/{id}")).is(200).body;
    let seen = &session["conversation"][0]["metadata"];
    assert_eq!(seen, &json!({"userVisible": true, "agentVisible": false}));
    let server = server.restart_after_kill();
    assert_eq!(heard(&server, &id), ["a", "b", "c"]);
}

#[test]
fn a_name_is_kept_and_bounded() {
    let server = Server::new().start();
    let id = talk(&server, &["a"]);
    let path = format!("/sessions/{id}/name");
    put(&server, &path, json!({"name": " renamed "}))
        .is(200)
        .says_nothing();
    let session = server.get(&format!("/sessions/{id}")).body;
    assert_eq!(
        (&session["name"], &session["user_set_name"]),
        (&json!("renamed"), &json!(true))
    );
    put(&server, &path, json!({"name": "é".repeat(200)})).is(200);
    put(&server, &path, json!({"name": "é".repeat(201)}))
        .is(400)
        .says("200");
    put(&server, &path, json!({"name": " "}))
        .is(400)
        .says("empty");
    put(&server, &path, json!({"title": "x"})).is(422);
    let unknown = format!("/sessions/{UNKNOWN}/name");
    put(&server, &unknown, json!({"name": "x"}))
        .is(200)
        .says_nothing();
    assert!(!server.root().join("data/sessions").join(UNKNOWN).exists());
}

#[cfg(feature = "recipes")]
#[test]
fn recipe_values_are_stored_and_the_recipe_comes_back() {
    let server = Server::new().start();
    let recipe = json!({"version": "1.0.0", "title": "T", "description": "D", "prompt": "go"});
    let body = json!({"working_dir": server.work(), "recipe": recipe});
    let id = server.start(body).id.clone();
    let path = format!("/sessions/{id}/user_recipe_values");
    let values = json!({"word": "x"});
    put(&server, &path, json!({"userRecipeValues": values}))
        .is(200)
        .gives(json!({"recipe": recipe}));
    let session = server.get(&format!("/sessions/{id}")).body;
    assert_eq!(session["user_recipe_values"], values);
    put(&server, &path, json!({"userRecipeValues": {"word": 5}})).is(422);
    let without = talk(&server, &["a"]);
    for (id, status) in [(UNKNOWN, 404), (&without, 400)] {
        let path = format!("/sessions/{id}/user_recipe_values");
        put(&server, &path, json!({"userRecipeValues": {}})).is(status);
    }
}

#[cfg(feature = "recipes")]
#[test]
fn recipe_values_are_filled_in_and_must_fit() {
    let server = Server::new().start();
    let parameter = json!({"key": "n", "input_type": "number", "requirement": "required",
        "description": ""});
    let recipe = json!({"title": "T", "description": "D", "prompt": "Count to {{ n }}",
        "parameters": [parameter]});
    let body = json!({"working_dir": server.work(), "recipe": recipe});
    let id = server.start(body).id.clone();
    let path = format!("/sessions/{id}/user_recipe_values");
    let values = |values: Value| json!({"userRecipeValues": values});
    put(&server, &path, values(json!({})))
        .is(200)
        .gives(json!({"recipe": recipe}));
    let mut filled = recipe.clone();
    filled["prompt"] = "Count to 3".into();
    put(&server, &path, values(json!({"n": "3"})))
        .is(200)
        .gives(json!({"recipe": filled}));
    put(&server, &path, values(json!({"n": "three"}))).is(400);
    let session = server.get(&format!("/sessions/{id}")).body;
    assert_eq!(session["user_recipe_values"], json!({"n": "3"}));
}

#[test]
fn a_fork_is_a_copy_or_cuts_the_session_short() {
    let server = Server::new().start();
    let id = talk(&server, &["a", "b", "c"]);
    let fork = |of: &str, timestamp: Option<i64>, truncate: bool, copy: bool| {
        let body = json!({"timestamp": timestamp, "truncate": truncate, "copy": copy});
        server.post(&format!("/sessions/{of}/fork"), body)
    };
    let to = |answer: Answer| {
        answer.is(200).body["sessionId"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let whole = to(fork(&id, None, false, true));
    let cut = to(fork(&id, Some(2), true, true));
    let uncut = to(fork(&id, Some(2), false, true));
    assert!(id != whole && whole != cut && cut != uncut);
    assert_eq!(heard(&server, &whole), ["a", "b", "c"]);
    assert_eq!(heard(&server, &cut), ["a"]);
    assert_eq!(heard(&server, &uncut), ["a", "b", "c"]);
    assert_eq!(heard(&server, &id), ["a", "b", "c"]);

    let store = store(&server);
    let mut journal = store.journal(&id).unwrap();
    assert_eq!(to(fork(&id, Some(3), true, false)), id);
    assert_eq!(heard(&server, &id), ["a", "b"]);
    assert!(journal.refresh().unwrap());
    journal.append(vec![text_message("d", 4)]).unwrap();
    assert_eq!(heard(&server, &id), ["a", "b", "d"]);
    assert_eq!(to(fork(&id, Some(99), true, false)), id);
    assert_eq!(heard(&server, &id), ["a", "b", "d"]);
    assert_eq!(heard(&server, &whole), ["a", "b", "c"]);

    fork(&id, None, true, true).is(400).says("timestamp");
    for copy in [true, false] {
        fork(UNKNOWN, None, false, copy).is(404);
        fork(UNKNOWN, Some(1), true, copy).is(404);
    }
    server
        .post(&format!("/sessions/{id}/fork"), json!({"copy": true}))
        .is(422);
}

#[test]
fn what_is_not_a_message_is_named_and_kept_by_forks_and_exports() {
    let server = Server::new().start();
    let id = talk(&server, &["a", "b", "c"]);
    let file = |id: &str| {
        server
            .root()
            .join(format!("data/sessions/{id}/messages.jsonl"))
    };
    let lines = fs::read_to_string(file(&id)).unwrap();
    let (first, rest) = lines.split_once('\n').unwrap();
    let later = r#"{"role":"oracle","created":1,"content":[{"type":"prophecy"}]}"#;
    fs::write(file(&id), format!("{first}\n{later}\n{rest}")).unwrap();
    assert_eq!(heard(&server, &id), ["a", "b", "c"]);
    server.logs("lines that are not messages");
    server.logs("messages.jsonl\" lines=[2]");
    server.logs(&id);

    let fork = |of: &str, truncate: bool, copy: bool| {
        let body = json!({"timestamp": 3, "truncate": truncate, "copy": copy});
        let answer = server.post(&format!("/sessions/{of}/fork"), body).is(200);
        answer.body["sessionId"].as_str().unwrap().to_owned()
    };
    let copy = fork(&id, true, true);
    assert_eq!(heard(&server, &copy), ["a", "b"]);
    let copied = fs::read_to_string(file(&copy)).unwrap();
    assert_eq!(copied.lines().nth(1), Some(later));
    fork(&id, true, false);
    assert_eq!(heard(&server, &id), ["a", "b"]);
    for id in [&id, &copy] {
        let exported = server.get(&format!("/sessions/{id}/export")).is(200).body;
        let text = exported.as_str().unwrap();
        let export: Value = serde_json::from_str(text).unwrap();
        let later: Value = serde_json::from_str(later).unwrap();
        assert_eq!(export["unreadable_messages"], json!([later]));
        assert_eq!(export["message_count"], 2);
        let import = server.post("/sessions/import", json!({"json": text}));
        assert_eq!(import.is(200).body["message_count"], 2);
    }
}

#[test]
fn an_export_can_be_imported_again() {
    let server = Server::new().start();
    let id = talk(&server, &["é \"quoted\"\n", "b"]);
    let session = server.get(&format!("/sessions/{id}")).is(200).body;
    let exported = server.get(&format!("/sessions/{id}/export")).is(200).body;
    let text = exported.as_str().expect("text in a JSON string");
    assert!(text.starts_with("{\n  \"id\": "), "{text}");
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), session);

    let import = |text: &str| server.post("/sessions/import", json!({"json": text}));
    let imported = import(text).is(200).body;
    assert_ne!(imported["id"], session["id"]);
    for field in [
        "conversation",
        "name",
        "working_dir",
        "extension_data",
        "message_count",
    ] {
        assert_eq!(imported[field], session[field], "{field}");
    }
    let again = imported["id"].as_str().unwrap();
    assert_eq!(heard(&server, again), ["é \"quoted\"\n", "b"]);

    let before = ids(&server.get("/sessions").body["sessions"]);
    assert_eq!(before.len(), 2);
    let odd = json!({"working_dir": "/", "conversation": [{"role": "nobody"}]}).to_string();
    for text in ["", "{", "[]", "{}", &odd] {
        import(text).is(400).says("not an exported session");
    }
    server
        .post("/sessions/import", json!({"text": "x"}))
        .is(422);
    assert_eq!(ids(&server.get("/sessions").body["sessions"]), before);
    server.get(&format!("/sessions/{UNKNOWN}/export")).is(404);
}

#[test]
#[cfg(feature = "search")]
fn a_search_looks_into_names_and_messages() {
    let server = Server::new().start();
    let first = talk(&server, &["the Quick brown", "FÜCHSE jump"]);
    let second = talk(&server, &["nothing of the kind"]);
    let path = format!("/sessions/{second}/name");
    put(&server, &path, json!({"name": "About quick things"})).is(200);
    let find = |query: &str| server.get(&format!("/sessions/search?query={query}"));
    let found = |query: &str| ids(&find(query).is(200).body);
    assert_eq!(found("QUICK").len(), 2);
    assert_eq!(found("f%C3%BCchse%20quick"), [first.as_str()]);
    assert_eq!(found("quick%20kind"), [second.as_str()]);
    assert!(found("quick%20absent").is_empty());
    assert_eq!(found("quick&limit=1").len(), 1);
    assert_eq!(found("quick&limit=1000000").len(), 2);
    assert_eq!(
        found("quick&after_date=2020-01-01&before_date=2999-12-31T00:00:00Z").len(),
        2
    );
    assert!(found("quick&after_date=2999-12-31").is_empty());
    assert!(found("quick&before_date=2020-01-01T00:00:00%2B02:00").is_empty());

    store(&server)
        .journal(&first)
        .unwrap()
        .replace(vec![text_message("cleared", 9)])
        .unwrap();
    assert!(found("brown").is_empty());
    assert_eq!(found("cleared"), [first]);
    find("%20").is(400).says("empty");
    find("a&limit=x").is(400).says("limit");
    find("a&after_date=yesterday").is(400).says("after_date");
    find(&"x".repeat(2_000)).is(400);
    server
        .get("/sessions/search")
        .is(400)
        .says("missing field `query`");
}

#[test]
fn a_session_file_of_an_early_goose_becomes_a_session() {
    let server = Server::new().start();
    let header = json!({"description": "Old one", "message_count": 1, "total_tokens": 70});
    let message = json!({"role": "user", "created": 1, "content": [{"type": "text", "text": "a"}]});
    let import = |text: String| server.post("/sessions/import", json!({ "json": text }));
    let made = import(format!("{header}\n{message}\n")).is(200).body;
    assert_eq!(
        (&made["name"], &made["message_count"]),
        (&json!("Old one"), &json!(1))
    );
    let home = server.root().join("home");
    assert_eq!(made["working_dir"], home.to_str().unwrap());
    let insights = json!({"totalSessions": 1, "totalTokens": 70});
    server.get("/sessions/insights").is(200).gives(insights);
    let torn = format!("{header}\n{message}\n{{\"role\": ");
    import(torn).is(400).says("line 3");
    let odd = format!("{header}\n{message}\n{{\"role\": \"user\"}}");
    import(odd).is(400).says("message 2");
    server
        .get("/sessions/insights")
        .is(200)
        .gives(json!({"totalSessions": 1, "totalTokens": 70}));
}

/// Prints timings with `--nocapture`; fails only on extreme values.
#[test]
fn seven_hundred_sessions_are_listed_quickly() {
    let server = Server::new().start();
    let id = talk(&server, &["a", "b"]);
    let root = server.root().join("data/sessions");
    for n in 1_000..1_699 {
        let dir = root.join(format!("20260101_{n}"));
        fs::create_dir(&dir).unwrap();
        for file in ["session.json", "messages.jsonl"] {
            fs::copy(root.join(&id).join(file), dir.join(file)).unwrap();
        }
    }
    let mut times: Vec<Duration> = (0..20)
        .map(|_| {
            let start = Instant::now();
            let listed = server.get("/sessions").is(200).body;
            assert_eq!(listed["sessions"].as_array().unwrap().len(), 700);
            start.elapsed()
        })
        .collect();
    println!("the first list of 700: {:?}", times[0]);
    times.sort();
    println!("others: p50 {:?}", times[10]);
    assert!(times[10] < Duration::from_secs(5));
}
