use gosling::agent::{
    Event, EventSink, ModelChoice, Registry, Start, Stores, TurnInput,
};
use gosling::conversation::{Content, Message, Role};
use gosling::parts::PARTS;
use gosling::provider::{
    Completion, CompletionRequest, DeltaSink, Error, InProcessProvider,
    Provider,
};
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use std::sync::Arc;

struct Echo;

impl Provider for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        _: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Error> {
        let said = request.messages.last().map(|it| it.concat_text());
        let text = format!("You said: {}", said.unwrap_or_default());
        sink.text(&text);
        Ok(Completion {
            content: vec![Content::text(text)],
            ..Completion::default()
        })
    }

    fn models(&self, _: &Cancel) -> Result<Vec<String>, Error> {
        Ok(vec!["echo-1".to_owned()])
    }
}

struct Collected(String);

impl EventSink for Collected {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Message { message, .. } = event {
            self.0 += &message.concat_text();
        }
    }
    fn flush(&mut self) {}
}

fn main() -> Result<(), gosling::agent::Error> {
    let root = std::env::temp_dir().join("gosling-manual-model");
    let stores = Stores::new(&Paths::under(&root));
    let echo = InProcessProvider {
        name: "echo".into(),
        display_name: "Echo".into(),
        description: "Repeats what it is told".into(),
        model: "echo-1".into(),
        make: Box::new(|_| Ok(Arc::new(Echo))),
    };
    let registry = Registry::new(stores, PARTS, true).with_providers([echo]);
    let session = registry.start(Start::default())?;
    registry.models().choose(&session.id, ModelChoice {
        provider: "echo".to_owned(),
        ..ModelChoice::default()
    })?;
    let mut text = Collected(String::new());
    let input = TurnInput::new(Message::text(Role::User, "good morning"));
    registry.reply(&session.id, input, &mut text, &Cancel::new())?;
    assert_eq!(text.0, "You said: good morning");
    registry.close();
    Ok(())
}
