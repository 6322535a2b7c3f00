//! A program that embeds gosling and brings a model of its own.

use gosling::agent::{Event, EventSink, ModelChoice, Registry, Start, Stores, TurnInput};
use gosling::conversation::{Content, Message, Role};
use gosling::part::Part;
use gosling::provider::{
    Completion, CompletionRequest, DeltaSink, Error, InProcessProvider, Provider,
};
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use std::sync::Arc;

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

#[test]
fn a_part_of_the_program_brings_a_model() {
    let root = std::env::temp_dir().join(format!("gosling-own-model-{}", std::process::id()));
    let parts: Vec<&'static Part> = [&[&OWN], gosling::parts::PARTS].concat();
    let registry = Registry::new(Stores::new(&Paths::under(&root)), parts.leak(), true);
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
