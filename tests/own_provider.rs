//! A program that embeds gosling and brings a model of its own, and a disk.

use gosling::agent::{
    Error as AgentError, Event, EventSink, ModelChoice, Registry, Start, Stores, TurnInput,
};
use gosling::conversation::{Content, Message, Role};
use gosling::part::Part;
use gosling::provider::{
    Completion, CompletionRequest, DeltaSink, Error, InProcessProvider, Provider,
};
use gosling::store::disk::{Disk, Files};
use gosling::store::{Paths, Sessions};
use gosling::sys::cancel::Cancel;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fs, io};

/// Answers with the number of letters of the last message.
struct Counter;

impl Provider for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        _: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Error> {
        let last = request.messages.last().map(|message| message.concat_text());
        let text = format!("{} letters", last.unwrap_or_default().len());
        sink.text(&text);
        Ok(Completion {
            content: vec![Content::text(text)],
            ..Completion::default()
        })
    }

    fn models(&self, _: &Cancel) -> Result<Vec<String>, Error> {
        Ok(vec!["count".to_owned()])
    }
}

const OWN: Part = Part {
    providers: &[|| InProcessProvider {
        name: "counter".into(),
        display_name: "Counter".into(),
        description: "Counts letters".into(),
        model: "count".into(),
        make: Box::new(|_| Ok(Arc::new(Counter))),
    }],
    ..Part::new("own")
};

struct Text(String);

impl EventSink for Text {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Message { message, .. } = event {
            self.0 += &message.concat_text();
        }
    }
    fn flush(&mut self) {}
}

/// The parts of this program, which are the same for all that it does.
fn parts() -> &'static [&'static Part] {
    [&[&OWN], gosling::parts::PARTS].concat().leak()
}

#[test]
fn a_part_of_the_program_brings_a_model() {
    let root = std::env::temp_dir().join(format!("gosling-own-model-{}", std::process::id()));
    let registry = Registry::new(Stores::new(&Paths::under(&root)), parts(), true);
    let listed = registry.catalog().entries().into_iter();
    assert_eq!(listed.filter(|it| it.name == "counter").count(), 1);
    let start = Start {
        working_dir: std::env::temp_dir(),
        ..Start::default()
    };
    let session = registry.start(start).unwrap();
    let choice = ModelChoice {
        provider: "counter".to_owned(),
        ..ModelChoice::default()
    };
    registry.models().choose(&session.id, choice).unwrap();
    let mut text = Text(String::new());
    let input = TurnInput::new(Message::text(Role::User, "good morning"));
    let turn = registry.reply(&session.id, input, &mut text, &Cancel::new());
    turn.unwrap();
    assert_eq!(text.0, "12 letters");
    let unknown = ModelChoice {
        provider: "absent".to_owned(),
        ..ModelChoice::default()
    };
    let error = registry.models().choose(&session.id, unknown).unwrap_err();
    assert!(error.to_string().contains("counter"), "{error}");
    registry.close();
    std::fs::remove_dir_all(&root).unwrap();
}

/// The files of the system, which notes what is open below a folder that is renamed.
#[derive(Debug, Default)]
struct Watched(Mutex<Vec<Vec<PathBuf>>>);

impl Disk for Watched {
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.lock().unwrap().push(open_below(from));
        Files.rename(from, to)
    }
}

/// The files of this process below a folder. None are known where there is no `/proc`; Windows refuses the rename.
fn open_below(folder: &Path) -> Vec<PathBuf> {
    let descriptors = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let open = descriptors.filter_map(|it| fs::read_link(it.path()).ok());
    open.filter(|path| path.starts_with(folder)).collect()
}

#[test]
fn nothing_below_the_folder_of_a_session_is_open_when_it_is_deleted() {
    let temporary = std::env::temp_dir().canonicalize().unwrap();
    let root = temporary.join(format!("gosling-deleted-{}", std::process::id()));
    let paths = Paths::under(&root);
    let disk = Arc::new(Watched::default());
    let mut stores = Stores::new(&paths);
    let folder = paths.data.join("sessions");
    stores.sessions = Arc::new(Sessions::on(disk.clone(), folder.clone()));
    let registry = Registry::new(stores, parts(), true);
    let start = Start {
        working_dir: temporary,
        ..Start::default()
    };
    let id = registry.start(start).unwrap().id;
    let choice = ModelChoice {
        provider: "counter".to_owned(),
        ..ModelChoice::default()
    };
    registry.models().choose(&id, choice).unwrap();
    let input = TurnInput::new(Message::text(Role::User, "hello"));
    let turn = registry.reply(&id, input, &mut Text(String::new()), &Cancel::new());
    turn.unwrap();
    // A request that goes on still has it.
    let agent = registry.agent(&id).unwrap();
    let kept = open_below(&folder.join(&id));
    assert_eq!(kept.is_empty(), !cfg!(target_os = "linux"), "{kept:?}");
    registry.delete(&id).unwrap();
    assert_eq!(*disk.0.lock().unwrap(), [Vec::<PathBuf>::new()]);
    assert!(agent.cancel().is_cancelled());
    assert!(matches!(registry.delete(&id), Err(AgentError::NoSession)));
    // The marker of its number.
    let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    assert!(left.len() == 1, "{left:?}");
    registry.close();
    fs::remove_dir_all(&root).unwrap();
}
