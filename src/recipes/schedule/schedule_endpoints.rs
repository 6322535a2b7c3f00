//! `/schedule`, and `/recipes/schedule`: recipes that run at set times.
//!
//! As in Goose, `run_now` answers 500 if the run cannot begin. Unlike Goose, it does not wait for the run's end.

use crate::api::json_body;
use crate::http::Method::{Delete, Put};
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::recipe::{Library, Recipe};
use crate::schedule::{self, Listed, Scheduler};
use crate::sys::clock::{Utc, unix_seconds};
use serde_json::{Value, json};
use std::sync::Arc;

/// A handler of these routes.
type ScheduleHandler = fn(&Arc<Scheduler>, &Request) -> Result<Response, Error>;

pub(crate) fn routes(router: Router, scheduler: &Arc<Scheduler>) -> Router {
    let with = |handler: ScheduleHandler| {
        let scheduler = scheduler.clone();
        move |request: &Request| handler(&scheduler, request)
    };
    router
        .get("/schedule/list", Keyed, with(list))
        .post("/schedule/create", Keyed, with(create))
        .post("/recipes/schedule", Keyed, with(schedule_recipe))
        .route(Delete, "/schedule/delete/{id}", Keyed, with(delete))
        .route(Put, "/schedule/{id}", Keyed, with(update))
        .post("/schedule/{id}/pause", Keyed, with(pause))
        .post("/schedule/{id}/unpause", Keyed, with(unpause))
        .post("/schedule/{id}/run_now", Keyed, with(run_now))
        .post("/schedule/{id}/kill", Keyed, with(kill))
        .get("/schedule/{id}/inspect", Keyed, with(inspect))
        .get("/schedule/{id}/sessions", Keyed, with(sessions))
}

/// A schedule as Goose lists it, with an additional field `next_run`: when it is due, in local time.
fn to_json(listed: Listed) -> Value {
    let mut job = listed.job.into_object();
    job.shift_remove("handled_until");
    job.insert("next_run".to_owned(), listed.next_run.into());
    Value::Object(job)
}

fn list(scheduler: &Arc<Scheduler>, _: &Request) -> Result<Response, Error> {
    let jobs: Vec<Value> = scheduler.list()?.into_iter().map(to_json).collect();
    Ok(Response::json(&json!({"jobs": jobs})))
}

fn create(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    json_body!(request => Create { id: String, recipe: Recipe, cron: String });
    let created = scheduler.create(&id, recipe, &cron)?;
    Ok(Response::json(&to_json(created)))
}

fn schedule_recipe(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    json_body!(request => Schedule { id: String, cron_schedule: Option<String> });
    let library = Library::of_server(&scheduler.registry().stores().paths.config);
    let path = library.path(&id);
    let path = path.ok_or_else(|| Error::not_found(format!("there is no recipe {id:?}")))?;
    scheduler.schedule_recipe(&path, cron_schedule.as_deref())?;
    Ok(Response::empty(200))
}

fn delete(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    scheduler.delete(request.param("id"))?;
    Ok(Response::empty(204))
}

fn update(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    json_body!(request => Update { cron: String });
    let updated = scheduler.update(request.param("id"), &cron)?;
    Ok(Response::json(&to_json(updated)))
}

fn pause(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    scheduler.pause(request.param("id"))?;
    Ok(Response::empty(204))
}

fn unpause(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    scheduler.unpause(request.param("id"))?;
    Ok(Response::empty(204))
}

fn run_now(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    match scheduler.run_now(request.param("id")) {
        Ok(session) => Ok(Response::json(&json!({"session_id": session}))),
        Err(error @ schedule::Error::Running { .. }) => Err(Error::internal(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

fn kill(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    let id = request.param("id");
    scheduler.kill(id)?;
    let message = format!("the run of the schedule {id:?} was cancelled");
    Ok(Response::json(&json!({"message": message})))
}

/// The current run, with an additional field `lastOutcome`: how the last one ended.
fn inspect(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    let found = scheduler.inspect(request.param("id"))?;
    Ok(Response::json(&json!({
        "sessionId": found.session,
        "processStartTime": found.started.map(|started| Utc::from_unix(started).to_string()),
        "runningDurationSeconds": found.started.map(|started| (unix_seconds() - started).max(0)),
        "lastOutcome": found.last_outcome,
    })))
}

fn sessions(scheduler: &Arc<Scheduler>, request: &Request) -> Result<Response, Error> {
    let limit = request.required_query("limit")?;
    let limit = limit
        .parse()
        .map_err(|_| Error::bad_request("`limit` is not a number of sessions"))?;
    let sessions = scheduler.sessions(request.param("id"), limit)?;
    let infos = sessions.iter().map(|session| {
        json!({
            "id": session.id, "name": session.name, "createdAt": session.created_at,
            "workingDir": session.working_dir, "scheduleId": session.schedule_id,
            "messageCount": session.message_count, "totalTokens": session.total_tokens,
            "inputTokens": session.input_tokens, "outputTokens": session.output_tokens,
            "accumulatedTotalTokens": session.accumulated_total_tokens,
            "accumulatedInputTokens": session.accumulated_input_tokens,
            "accumulatedOutputTokens": session.accumulated_output_tokens,
        })
    });
    Ok(Response::json(&infos.collect::<Vec<Value>>()))
}

impl From<schedule::Error> for Error {
    fn from(error: schedule::Error) -> Self {
        let message = error.to_string();
        match error {
            schedule::Error::NotFound(_) => Error::not_found(message),
            schedule::Error::Exists(_) => Error::new(409, message),
            schedule::Error::Id(_)
            | schedule::Error::TooMany
            | schedule::Error::Cron(_)
            | schedule::Error::Recipe(_)
            | schedule::Error::Running { .. }
            | schedule::Error::NotRunning { .. } => Error::bad_request(message),
            schedule::Error::Store(error) => error.into(),
            schedule::Error::Busy
            | schedule::Error::Run { .. }
            | schedule::Error::Thread(_)
            | schedule::Error::Stopping => Error::internal(message),
        }
    }
}
