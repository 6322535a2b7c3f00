use super::*;

fn complete_stream(bytes: usize) -> Arc<ResponseStream> {
    let stream = Arc::new(ResponseStream::default());
    stream.sink()(vec![b' '; bytes]);
    stream
}

#[test]
fn of_what_was_told_little_is_kept_and_of_the_rest_everything() {
    let mut streams = Streams::default();
    let (open, _sink) = {
        let stream = Arc::new(ResponseStream::default());
        let sink = stream.sink();
        (stream, sink)
    };
    streams.kept.insert(0, open);
    for number in 1..=40 {
        streams.kept.insert(number, complete_stream(10));
        streams.tidy();
    }
    let kept: Vec<u64> = streams.kept.keys().copied().collect();
    assert_eq!(kept, [&[0][..], &(25..=40).collect::<Vec<_>>()].concat());
    streams
        .kept
        .insert(41, complete_stream(MAX_COMPLETE_BYTES - 20));
    streams.tidy();
    let kept: Vec<u64> = streams.kept.keys().copied().collect();
    assert_eq!(kept, [0, 39, 40, 41]);
    streams
        .kept
        .insert(42, complete_stream(MAX_COMPLETE_BYTES + 1));
    streams.tidy();
    assert_eq!(streams.kept.keys().copied().collect::<Vec<_>>(), [0]);
}

#[test]
fn the_client_that_is_idle_longest_makes_room() {
    let sessions = Sessions::new(|| Server::new("empty", "1"));
    let mut ids = Vec::new();
    for _ in 0..=MAX_SESSIONS {
        let session = sessions.begin().unwrap();
        sessions.add(&session).unwrap();
        ids.push(session.id.clone());
    }
    assert!(sessions.find(&ids[0]).is_err());
    assert!(ids[1..].iter().all(|id| sessions.find(id).is_ok()));
    sessions.close();
    assert!(sessions.find(&ids[1]).is_err());
    let late = sessions.begin().unwrap();
    sessions.add(&late).unwrap();
    assert!(sessions.find(&late.id).is_err());
}
