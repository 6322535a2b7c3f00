//! Turns whose outcome is checked: if a check fails, the turn starts again.

use crate::agent::Error;
use crate::agent::recipes::{CheckedTurn, SuccessChecks};
use crate::agent::turn::{End, Turn};
use crate::conversation::{Message, NotificationType};

impl Turn<'_> {
    /// Lets the model work until the recipe's success checks pass, or there are no more retries. Each retry
    /// begins with the messages of now.
    pub(in crate::agent) fn run_with_checks(&mut self) -> Result<End, Error> {
        match self.context.recipe.success_checks() {
            SuccessChecks::None => return self.ask_and_call(),
            SuccessChecks::NotRun(why) => {
                self.reply_without_model(why)?;
                return self.ask_and_call();
            }
            SuccessChecks::Run => {}
        }
        let start = self.state.journal.messages().iter();
        let start: Vec<Message> = start.map(|message| message.as_ref().clone()).collect();
        for attempt in 0.. {
            let end = self.ask_and_call()?;
            if self.tally.report.failure.is_some() || matches!(end, End::Cancelled) {
                return Ok(end);
            }
            let checked = (self.context.recipe).check_success(attempt, &self.context.cancel);
            if self.context.cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            match checked {
                CheckedTurn::Passed => break,
                CheckedTurn::Failed(reason) => {
                    self.fail(reason)?;
                    break;
                }
                CheckedTurn::Again(notice) => {
                    self.state.journal.replace(start.clone())?;
                    self.state.estimate.forget();
                    self.send_conversation();
                    let kind = NotificationType::InlineMessage;
                    self.output.notify(kind, notice);
                }
            }
        }
        Ok(End::Finished)
    }
}
