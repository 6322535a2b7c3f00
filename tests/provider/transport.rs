//! The HTTP exchange with a provider: connections, retries, errors, timeouts and cancelling.

use crate::harness::{KEY, Question, brief, openai, with};
use crate::model_server::{ModelServer, Reply, delta, event, says};
use gosling::provider::{ErrorClass, Provider};
use gosling::sys::cancel::Cancel;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn an_answer_comes_in_pieces_and_whole() {
    let server = ModelServer::new(vec![Reply::stream(says(&["hel", "lo"]))]);
    let (answer, recorded) = Question::default().ask(&openai(&server.url));
    let answer = answer.unwrap();
    assert_eq!(recorded.all, ["begin chatcmpl-1", "text hel", "text lo"]);
    assert_eq!(brief(&answer), ["text hello"]);
    assert_eq!(answer.id.as_deref(), Some("chatcmpl-1"));
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(
        seen.header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
}

#[test]
fn a_cut_anywhere_in_the_transfer_changes_nothing() {
    let stream = says(&["hé", "llo"]);
    let bytes = stream.as_bytes();
    for at in (1..bytes.len()).step_by(29) {
        let (first, second) = bytes.split_at(at);
        let chunk =
            |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        let reply = (Reply::events().send(chunk(first)))
            .wait(Duration::from_millis(2))
            .send([&chunk(second)[..], b"0\r\n\r\n"].concat());
        let server = ModelServer::new(vec![reply]);
        let (answer, _) = Question::default().ask(&openai(&server.url));
        assert_eq!(brief(&answer.unwrap()), ["text héllo"]);
    }
}

#[test]
fn a_server_that_does_not_stream_answers_too() {
    let body = r#"{"id":"x","choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let server = ModelServer::new(vec![Reply::json("200 OK", body)]);
    let (answer, recorded) = Question::default().ask(&openai(&server.url));
    assert_eq!(brief(&answer.unwrap()), ["text hello"]);
    assert_eq!(recorded.all, ["begin x", "text hello"]);
}

#[test]
fn calls_share_a_connection() {
    let replies = vec![Reply::stream(says(&["a"])); 3];
    let server = ModelServer::new(replies);
    let provider = openai(&server.url);
    for _ in 0..3 {
        Question::default().ask(&provider).0.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_stream_that_stays_open_behind_its_end_does_not_hold_the_answer_up() {
    let open = Reply::events().chunk(&says(&["a"])).hold();
    let server = ModelServer::new(vec![open, Reply::stream(says(&["b"]))]);
    let provider = openai(&server.url);
    let begin = Instant::now();
    let (answer, _) = Question::default().ask(&provider);
    assert_eq!(brief(&answer.unwrap()), ["text a"]);
    assert!(begin.elapsed() < Duration::from_secs(5));
    server.wait_for_hangup();
    let (answer, _) = Question::default().ask(&provider);
    assert_eq!(brief(&answer.unwrap()), ["text b"]);
}

#[test]
fn a_connection_that_the_server_closed_meanwhile_is_replaced_at_once() {
    let server = ModelServer::new(vec![
        Reply::stream(says(&["a"])).close(),
        Reply::stream(says(&["b"])),
    ]);
    let provider = openai(&server.url);
    for text in ["a", "b"] {
        let (answer, recorded) = Question::default().ask(&provider);
        assert_eq!(brief(&answer.unwrap()), [format!("text {text}")]);
        assert_eq!(recorded.retries, []);
    }
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_request_that_a_kept_connection_swallowed_is_sent_again_at_once() {
    let server = ModelServer::with(|seen| match (seen.connection, seen.nth) {
        (1, 2) => Reply::default().close(),
        _ => Reply::stream(says(&["a"])),
    });
    let provider = openai(&server.url);
    for _ in 0..2 {
        let (answer, recorded) = Question::default().ask(&provider);
        assert_eq!(brief(&answer.unwrap()), ["text a"]);
        assert_eq!(recorded.retries, []);
    }
    assert_eq!((server.connections(), server.seen().len()), (2, 3));
}

#[test]
fn each_failure_has_its_class_and_never_shows_the_key() {
    let long = r#"{"error":{"message":"This model's maximum context length is 9 tokens","code":"context_length_exceeded"}}"#;
    let echo = format!(r#"{{"error":{{"message":"no such key: {KEY} "}}}}"#);
    let broke =
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#;
    for (status, body, class, says) in [
        (
            "401 Unauthorized",
            &*echo,
            ErrorClass::Authentication,
            "set EXAMPLE_API_KEY",
        ),
        (
            "403 Forbidden",
            &echo,
            ErrorClass::Authentication,
            "set EXAMPLE_API_KEY",
        ),
        ("402 Payment Required", "{}", ErrorClass::Credits, "402"),
        ("429 Too Many Requests", broke, ErrorClass::Credits, "quota"),
        (
            "400 Bad Request",
            long,
            ErrorClass::ContextExceeded,
            "9 tokens",
        ),
        (
            "400 Bad Request",
            &echo,
            ErrorClass::Refused,
            "no such key: [secret]",
        ),
        (
            "404 Not Found",
            "model m not found",
            ErrorClass::Refused,
            "model m not found",
        ),
        (
            "422 Unprocessable",
            r#"{"detail":"\u001b[31mx"}"#,
            ErrorClass::Refused,
            "\\u{1b}[31mx",
        ),
    ] {
        let server = ModelServer::new(vec![Reply::json(status, body)]);
        let (answer, recorded) = Question::default().ask(&openai(&server.url));
        let error = answer.unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.contains("Example"), "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
        assert!(error.message.len() < 1000, "{error}");
        assert_eq!((recorded.all.len(), server.seen().len()), (0, 1));
    }
}

#[test]
fn words_without_end_are_cut_and_masked_before_the_cut() {
    let body = format!("{}{KEY}{}", "x".repeat(490), "y".repeat(1_000_000));
    let server = ModelServer::new(vec![Reply::new("400 Bad Request", body)]);
    let (answer, _) = Question::default().ask(&openai(&server.url));
    let error = answer.unwrap_err();
    assert!(error.message.len() < 1000, "{error}");
    assert!(!error.message.contains("sk-"), "{error}");
}

#[test]
fn a_busy_provider_is_asked_again_and_that_is_told() {
    let busy = |after: &str| {
        let head = format!("429 Too Many Requests\r\nContent-Type: application/json\r\n{after}");
        Reply::new(&head, r#"{"error":{"message":"slow down"}}"#)
    };
    let server = ModelServer::new(vec![
        busy("Retry-After: 0"),
        busy("retry-after-ms: 50"),
        Reply::stream(says(&["a"])),
    ]);
    let (answer, recorded) = Question::default().ask(&openai(&server.url));
    assert_eq!(brief(&answer.unwrap()), ["text a"]);
    let retries: Vec<(u32, u128)> = recorded
        .retries
        .iter()
        .map(|(attempt, wait, _)| (*attempt, wait.as_millis()))
        .collect();
    assert_eq!(retries, [(1, 0), (2, 50)]);
    assert!(recorded.retries[0].2.contains("slow down"));
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_provider_that_wants_long_peace_is_left_alone() {
    for seconds in [3600, 99_999_999] {
        let head = format!("429 Too Many Requests\r\nRetry-After: {seconds}");
        let server = ModelServer::new(vec![Reply::new(&head, "{}")]);
        let (answer, recorded) = Question::default().ask(&openai(&server.url));
        let error = answer.unwrap_err();
        let after = Some(Duration::from_secs(seconds));
        assert_eq!(error.class, ErrorClass::RateLimit { after });
        assert!(
            error.message.contains(&format!("in {seconds} s")),
            "{error}"
        );
        assert_eq!(recorded.retries, []);
    }
}

#[test]
fn an_error_in_mid_stream_is_retried_only_if_nothing_was_heard() {
    let error = event(r#"{"error":{"message":"boom","code":503}}"#);
    let server = ModelServer::new(vec![
        Reply::stream(&error),
        Reply::stream(delta(r#"{"content":"a"}"#) + &error),
    ]);
    let (answer, recorded) = Question::default().ask(&openai(&server.url));
    let error = answer.unwrap_err();
    assert_eq!(error.class, ErrorClass::Server);
    assert!(error.message.contains("boom"), "{error}");
    assert_eq!((recorded.retries.len(), recorded.text().as_str()), (1, "a"));
}

#[test]
fn a_connection_that_breaks_before_anything_was_heard_is_tried_again() {
    let server = ModelServer::new(vec![Reply::default().close(), Reply::stream(says(&["a"]))]);
    let (answer, recorded) = Question::default().ask(&openai(&server.url));
    assert_eq!(brief(&answer.unwrap()), ["text a"]);
    let (attempt, wait, _) = &recorded.retries[0];
    assert_eq!(*attempt, 1);
    assert!((800..=1200).contains(&wait.as_millis()), "{wait:?}");
}

#[test]
fn a_connection_that_breaks_in_mid_answer_is_no_answer() {
    let server = ModelServer::new(vec![
        Reply::events().chunk(&delta(r#"{"content":"a"}"#)).close(),
    ]);
    let (answer, recorded) = Question::default().ask(&openai(&server.url));
    assert_eq!(answer.unwrap_err().class, ErrorClass::Transport);
    assert_eq!((recorded.text().as_str(), recorded.retries.len()), ("a", 0));
}

#[test]
fn a_cancelled_answer_closes_its_connection_and_no_other() {
    let held = Reply::events().chunk(&delta(r#"{"content":"a"}"#)).hold();
    let other = Reply::events()
        .chunk(&delta(r#"{"content":"b"}"#))
        .wait(Duration::from_millis(600))
        .chunk(&(delta(r#"{"content":"c"}"#) + "data: [DONE]\n\n"))
        .chunk("");
    let server = ModelServer::with(move |seen| {
        if seen.body.contains("cancelled") {
            held.clone()
        } else {
            other.clone()
        }
    });
    let provider = openai(&server.url);
    let cancel = Cancel::new();
    let question = Question {
        system: "cancelled".into(),
        ..Question::default()
    };
    thread::scope(|scope| {
        let stays = scope.spawn(|| Question::default().ask(&provider).0);
        let goes = scope.spawn(|| {
            let (answer, recorded) = question.ask_until(&provider, &cancel);
            (answer, recorded, Instant::now())
        });
        thread::sleep(Duration::from_millis(200));
        let begin = Instant::now();
        cancel.cancel();
        let (answer, recorded, ended) = goes.join().unwrap();
        assert_eq!(answer.unwrap_err().class, ErrorClass::Cancelled);
        assert_eq!(recorded.text(), "a");
        assert!(ended.duration_since(begin) < Duration::from_secs(1));
        assert!(server.wait_for_hangup() < Duration::from_secs(1));
        assert_eq!(brief(&stays.join().unwrap().unwrap()), ["text bc"]);
    });
    let (answer, _) = Question::default().ask_until(&provider, &cancel);
    assert_eq!(answer.unwrap_err().class, ErrorClass::Cancelled);
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn a_wait_before_a_retry_ends_with_the_token() {
    let head = "503 Busy\r\nRetry-After: 30";
    let server = ModelServer::new(vec![Reply::new(head, "")]);
    let provider = openai(&server.url);
    let cancel = Cancel::new();
    thread::scope(|scope| {
        let waits = scope.spawn(|| Question::default().ask_until(&provider, &cancel).0);
        server.wait_for_request();
        thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        let begin = Instant::now();
        assert_eq!(
            waits.join().unwrap().unwrap_err().class,
            ErrorClass::Cancelled
        );
        assert!(begin.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn a_provider_that_falls_silent_is_given_up() {
    let silent = Reply::events().chunk(&delta(r#"{"content":"a"}"#)).hold();
    let server = ModelServer::new(vec![silent]);
    let provider = with(&server.url, |_| {}, Duration::from_millis(300));
    let (answer, recorded) = Question::default().ask(&provider);
    let error = answer.unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout, "{error}");
    assert_eq!(recorded.text(), "a");
    server.wait_for_hangup();
}

#[test]
fn nobody_there_is_said_at_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (answer, recorded) = Question::default().ask(&openai(&url));
    let error = answer.unwrap_err();
    assert_eq!(error.class, ErrorClass::Transport);
    assert!(error.message.contains(&url), "{error}");
    assert_eq!(recorded.retries, []);
}

#[test]
fn a_redirect_is_not_followed_and_names_where_it_leads() {
    let head = "307 Temporary Redirect\r\nLocation: https://elsewhere.example/v2?token=12345678";
    let server = ModelServer::new(vec![Reply::new(head, "")]);
    let (answer, _) = Question::default().ask(&openai(&server.url));
    let error = answer.unwrap_err();
    assert_eq!(error.class, ErrorClass::Config);
    assert!(
        error.message.contains("https://elsewhere.example"),
        "{error}"
    );
    assert!(!error.message.contains("12345678"), "{error}");
}

#[test]
fn a_web_page_and_a_compressed_answer_are_no_answers() {
    for head in [
        "200 OK\r\nContent-Type: text/html; charset=utf-8",
        "200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: br",
    ] {
        let server = ModelServer::new(vec![Reply::new(head, "<html>")]);
        let (answer, _) = Question::default().ask(&openai(&server.url));
        assert_eq!(answer.unwrap_err().class, ErrorClass::Protocol);
    }
}

#[test]
fn an_answer_without_end_is_given_up() {
    let padding = format!(": {}\n", "x".repeat(1 << 20));
    let mut reply = Reply::events();
    for _ in 0..65 {
        reply = reply.chunk(&padding);
    }
    let server = ModelServer::new(vec![reply.hold()]);
    let (answer, _) = Question::default().ask(&openai(&server.url));
    let error = answer.unwrap_err();
    assert_eq!(error.class, ErrorClass::Protocol);
    assert!(error.message.contains("64 MiB"), "{error}");
}

#[test]
fn offline_no_other_machine_is_asked() {
    use gosling::providers::{Endpoint, HttpProvider, HttpProviderOptions};
    let openai = Endpoint::new("http://192.0.2.1/v1/chat", "http://192.0.2.1/v1/models");
    let options = HttpProviderOptions {
        offline: true,
        ..HttpProviderOptions::new("Example")
    };
    let (answer, _) = Question::default().ask(&HttpProvider::openai("example", openai, options));
    let error = answer.unwrap_err();
    assert_eq!(error.class, ErrorClass::Config);
    assert!(error.message.contains("offline"), "{error}");
}

#[test]
fn the_models_are_listed_and_a_list_without_end_is_not_read() {
    let list = r#"{"data":[{"id":"a"},{"id":"b"}]}"#;
    let server = ModelServer::new(vec![
        Reply::json("200 OK", list),
        Reply::json("200 OK", &" ".repeat((4 << 20) + 1)),
        Reply::json("401 Unauthorized", "{}"),
    ]);
    let provider = openai(&server.url);
    assert_eq!(provider.models(&Cancel::new()).unwrap(), ["a", "b"]);
    let seen = &server.seen()[0];
    assert_eq!((&*seen.method, &*seen.path), ("GET", "/v1/models"));
    let errors = [(); 2].map(|()| provider.models(&Cancel::new()).unwrap_err());
    assert_eq!(errors[0].class, ErrorClass::Protocol);
    assert_eq!(errors[1].class, ErrorClass::Authentication);
}
