use gosling::agent::{ModelChoice, Registry, Start, Stores};
use gosling::agent::{Event, EventSink, TurnInput};
use gosling::conversation::{Message, Role};
use gosling::embedding::{Storage, sessions};
use gosling::parts::PARTS;
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// The rows of a table: the name of a document and its content.
#[derive(Default)]
pub struct Table(Mutex<BTreeMap<String, Vec<u8>>>);

impl Storage for Table {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().unwrap().keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().insert(name.into(), content.into());
        Ok(())
    }

    fn append(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut rows = self.0.lock().unwrap();
        rows.entry(name.into()).or_default().extend(content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }
}

struct Ignored;

impl EventSink for Ignored {
    fn event(&mut self, _: Event<'_>) {}
    fn flush(&mut self) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = Arc::new(Table::default());
    let root = std::env::temp_dir().join("gosling-manual-store");
    let mut stores = Stores::new(&Paths::under(&root));
    stores.sessions = Arc::new(sessions(table.clone()));
    let registry = Registry::new(stores, PARTS, true);
    let session = registry.start(Start::default())?;
    registry.models().choose(&session.id, ModelChoice {
        provider: "scripted".to_owned(),
        ..ModelChoice::default()
    })?;
    let input = TurnInput::new(Message::text(Role::User, "good morning"));
    registry.reply(&session.id, input, &mut Ignored, &Cancel::new())?;
    registry.close();

    let messages = table.read(&format!("{}/messages.jsonl", session.id))?;
    let messages = String::from_utf8(messages.ok_or("no messages")?)?;
    assert!(messages.contains("good morning"), "{messages}");
    Ok(())
}
