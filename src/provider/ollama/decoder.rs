//! Reads an answer: objects of JSON, one a line, the last of which says `done`.

use crate::conversation::{Content, Reasoning};
use crate::provider::calls::{one_more, tool_request};
use crate::provider::failure;
use crate::provider::lenient::{Str, arguments_text};
use crate::provider::protocol::Decoder;
use crate::provider::whole::Whole;
use crate::provider::{Answer, Class, Error, Listener, Stop};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
    #[serde(default)]
    done: bool,
    #[serde(borrow, default)]
    done_reason: Option<Str<'a>>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
    #[serde(default)]
    eval_count: Option<u64>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Option<Str<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Str<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Option<Str<'a>>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Default)]
pub(super) struct Reader {
    line: Whole,
    begun: bool,
    done: bool,
    calls: usize,
    answer: Answer,
}

impl Decoder for Reader {
    fn push(&mut self, mut piece: &[u8], listener: &mut dyn Listener) -> Result<bool, Error> {
        while !self.done
            && let Some((line, rest)) = self.line.push(piece)
        {
            piece = rest;
            match std::str::from_utf8(&line) {
                Ok(line) => self.line(line, listener)?,
                Err(_) => self.line(&String::from_utf8_lossy(&line), listener)?,
            }
        }
        Ok(self.done)
    }

    fn finish(self: Box<Self>) -> Result<Answer, Error> {
        match self.done {
            true => Ok(self.answer),
            false => Err(Error::new(
                Class::Transport,
                match self.begun {
                    true => "the connection ended in the middle of the answer",
                    false => "the connection ended without an answer",
                },
            )),
        }
    }
}

impl Reader {
    fn line(&mut self, json: &str, listener: &mut dyn Listener) -> Result<(), Error> {
        let line: Line<'_> = crate::json::from_str(json).map_err(|e| {
            let head: String = json.chars().take(500).collect();
            let what = format!("what came is no line of a chat ({e}): {head}");
            Error::new(Class::Protocol, what)
        })?;
        if line.error.is_some() {
            let error: Value = crate::json::from_str(json).unwrap_or_default();
            return Err(failure::in_stream(&error));
        }
        if !self.begun {
            self.begun = true;
            listener.begin(None);
        }
        if let Some(said) = line.message {
            self.said(said, listener)?;
        }
        let usage = &mut self.answer.usage;
        usage.input = line.prompt_eval_count.or(usage.input);
        usage.output = line.eval_count.or(usage.output);
        if line.done {
            self.done = true;
            if line.done_reason.is_some_and(|reason| reason.0 == "length") {
                self.answer.stop = Stop::Length;
            }
        }
        Ok(())
    }

    fn said(&mut self, said: Said<'_>, listener: &mut dyn Listener) -> Result<(), Error> {
        let content = &mut self.answer.content;
        if let Some(Str(thought)) = said.thinking
            && !thought.is_empty()
        {
            match content.last_mut() {
                Some(Content::Reasoning(all)) => all.text.push_str(&thought),
                _ => content.push(Content::Reasoning(Reasoning {
                    text: thought.to_string(),
                })),
            }
            listener.reasoning(&thought);
        }
        if let Some(Str(text)) = said.content
            && !text.is_empty()
        {
            match content.last_mut() {
                Some(Content::Text(all)) => all.text.push_str(&text),
                _ => content.push(Content::text(text.clone())),
            }
            listener.text(&text);
        }
        for call in said.tool_calls.into_iter().flatten() {
            one_more(self.calls)?;
            self.calls += 1;
            let arguments = call.function.arguments.map(arguments_text);
            content.push(Content::ToolRequest(tool_request(
                call.id.map(|id| id.0.into_owned()),
                call.function.name.0.into_owned(),
                arguments.unwrap_or_default().into_owned(),
            )));
        }
        Ok(())
    }
}
