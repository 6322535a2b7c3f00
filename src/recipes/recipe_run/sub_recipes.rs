//! The tool with which a recipe runs its `sub_recipes`, each in a session of its own. Its name and parameters are
//! those of Goose 1.24; a task without a sub-recipe is not supported.

use super::{Nesting, NoEvents, RecipeRun, RunOptions, run_nested};
use crate::agent::{Mode, ModelChoice, RecipeSource, Registry};
use crate::conversation::{RecipeOrigin, Session, SessionType};
use crate::mcp::types::CallToolResult;
use crate::recipe::{MAX_SUB_RECIPES, Recipe, Requirement, SubRecipe, library};
use crate::sys::cancel::Cancel;
use crate::sys::paths;
use crate::text::printable;
use crossbeam_channel::{Receiver, Sender, bounded};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The tool's name, as in Goose.
pub(super) const NAME: &str = "subagent";
/// How deep runs may be nested.
const MAX_DEPTH: usize = 3;
/// The most runs within one turn of a client or a schedule.
const MAX_RUNS: usize = 100;
/// The longest description of a sub-recipe, in characters.
const MAX_DESCRIPTION: usize = 1_000;

const DESCRIPTION: &str = "Runs one of the predefined tasks below in a session of its own, which sees nothing \
                           of this conversation, and gives its final answer. Tasks that do not depend on each \
                           other can be called at once.";

/// The sub-recipes of a session's recipe, for one turn.
pub(super) struct SubRecipes {
    entries: Vec<Entry>,
    session: Session,
    nesting: Nesting,
}

struct Entry {
    sub: SubRecipe,
    file: Result<(PathBuf, Recipe), String>,
    /// Held during a run of a sub-recipe whose runs are sequential.
    turn: (Sender<()>, Receiver<()>),
}

#[derive(Deserialize)]
struct Arguments {
    subrecipe: String,
    parameters: Option<Map<String, Value>>,
    instructions: Option<String>,
}

impl SubRecipes {
    /// The sub-recipes in `list`; `None` if there are none, or the session is nested too deep to run them.
    pub(super) fn of(session: &Session, list: &[SubRecipe], nesting: &Nesting) -> Option<Self> {
        if list.is_empty() || nesting.depth >= MAX_DEPTH {
            return None;
        }
        if list.len() > MAX_SUB_RECIPES {
            log::warn!("more than {MAX_SUB_RECIPES} sub-recipes; the others are left out");
        }
        let origin = session.extension_data.recipe_origin();
        let entry = |sub: &SubRecipe| {
            let path = locate(&sub.path, &origin, &session.working_dir);
            let turn = bounded(1);
            let _ = turn.0.send(());
            Entry {
                file: path.and_then(|path| match library::load(&path) {
                    Ok(recipe) => Ok((path, recipe)),
                    Err(error) => Err(error.to_string()),
                }),
                sub: sub.clone(),
                turn,
            }
        };
        Some(SubRecipes {
            entries: list.iter().take(MAX_SUB_RECIPES).map(entry).collect(),
            session: session.clone(),
            nesting: nesting.clone(),
        })
    }

    /// The tool as MCP describes it.
    pub(super) fn tool(&self) -> Value {
        let mut description = format!("{DESCRIPTION}\n\nTasks:");
        for entry in &self.entries {
            let _ = write!(description, "\n- {}", entry.describe());
        }
        let names: Vec<&str> = self.entries.iter().map(|it| it.sub.name.as_str()).collect();
        json!({
            "name": NAME,
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": {
                    "subrecipe": {
                        "type": "string", "enum": names, "description": "The name of the task",
                    },
                    "parameters": {
                        "type": "object", "additionalProperties": true,
                        "description": "Values for the parameters of the task",
                    },
                    "instructions": {
                        "type": "string", "description": "What the task should know in addition",
                    },
                },
                "required": ["subrecipe"],
            },
        })
    }

    /// Runs the sub-recipe that the arguments name, and waits for its end.
    pub(super) fn call(
        &self,
        arguments: &RawValue,
        registry: &Registry,
        cancel: &Cancel,
    ) -> CallToolResult {
        let arguments: Arguments = match crate::json::from_str(arguments.get()) {
            Ok(arguments) => arguments,
            Err(error) => {
                return CallToolResult::text(format!("The arguments cannot be read: {error}"))
                    .failed();
            }
        };
        let mut entries = self.entries.iter();
        let Some(entry) = entries.find(|entry| entry.sub.name == arguments.subrecipe) else {
            let name = printable(&arguments.subrecipe, 100);
            return CallToolResult::text(format!("There is no task {name:?}.")).failed();
        };
        let Some(_turn) = Turn::wait(entry, cancel) else {
            return CallToolResult::text("The call was cancelled before the task began.").failed();
        };
        match self.run(entry, arguments, registry, cancel) {
            Ok(text) => CallToolResult::text(text),
            Err(reason) => CallToolResult::text(format!("The task failed: {reason}")).failed(),
        }
    }

    fn run(
        &self,
        entry: &Entry,
        arguments: Arguments,
        registry: &Registry,
        cancel: &Cancel,
    ) -> Result<String, String> {
        let (path, recipe) = entry.file.as_ref().map_err(String::clone)?;
        if self.nesting.runs.fetch_add(1, Ordering::Relaxed) >= MAX_RUNS {
            return Err(format!("{MAX_RUNS} tasks were run in this turn already"));
        }
        // The values of the recipe's author count, not those of the model.
        let mut values = arguments.parameters.unwrap_or_default();
        values.extend(entry.sub.values.clone().unwrap_or_default());
        let origin = self.session.extension_data.recipe_origin();
        let run = RecipeRun {
            // The files of an untrusted recipe are no more trusted than itself.
            source: if origin.trusted {
                RecipeSource::User
            } else {
                RecipeSource::Project
            },
            folder: path.parent().map(Path::to_owned),
            values,
            session_type: SessionType::SubAgent,
            sandbox: self.session.extension_data.sandbox(),
            extensions: Some(self.session.enabled_extensions().to_vec()),
            ..RecipeRun::new(recipe.clone(), self.session.working_dir.clone())
        };
        let session = run.start(registry).map_err(|it| it.to_string())?;
        self.set_model(registry, &session.id, recipe);
        let mode = Mode::of_session(&self.session, registry.stores());
        if mode > Mode::of_session(&session, registry.stores()) {
            let set = registry.set_mode(&session.id, mode);
            set.map_err(|error| error.to_string())?;
        }
        let options = RunOptions {
            addition: arguments.instructions,
            ..RunOptions::default()
        };
        let nesting = Nesting {
            depth: self.nesting.depth + 1,
            ..self.nesting.clone()
        };
        let outcome = run_nested(
            registry,
            &session.id,
            options,
            nesting,
            &mut NoEvents,
            cancel,
        );
        outcome.result.map_err(|error| error.to_string())
    }

    /// Lets the model of this session answer, unless the sub-recipe names one.
    fn set_model(&self, registry: &Registry, id: &str, recipe: &Recipe) {
        let settings = recipe.fields().settings.as_ref();
        if settings.is_some_and(|it| it.goose_provider.is_some() || it.goose_model.is_some()) {
            return;
        }
        let Some(provider) = self.session.provider_name.clone() else {
            return;
        };
        let model = self.session.model_config.as_ref();
        let model = model.and_then(|config| config["model_name"].as_str());
        let choice = ModelChoice {
            provider,
            model: model.map(str::to_owned),
            ..ModelChoice::default()
        };
        if let Err(error) = registry.models().choose(id, choice) {
            log::warn!("model of the session not used for its sub-recipe reason={error}");
        }
    }
}

impl Entry {
    fn describe(&self) -> String {
        let mut text = self.sub.name.clone();
        let (about, parameters) = match &self.file {
            Ok((_, recipe)) => {
                let fields = recipe.fields();
                let about = self.sub.description.as_deref();
                (about.unwrap_or(&fields.description), &fields.parameters[..])
            }
            Err(_) => ("cannot be used, as its file cannot be read", &[][..]),
        };
        let _ = write!(text, ": {}", printable(about, MAX_DESCRIPTION));
        if self.sub.sequential_when_repeated {
            text.push_str(" [several calls run one after the other]");
        }
        let given = self.sub.values.as_ref();
        for parameter in parameters {
            if given.is_some_and(|given| given.contains_key(&parameter.key)) {
                continue;
            }
            let need = match parameter.requirement {
                Requirement::Optional => "optional",
                Requirement::Required | Requirement::UserPrompt => "required",
            };
            let about = printable(&parameter.description, MAX_DESCRIPTION);
            let _ = write!(text, "\n  - `{}` ({need}) {about}", parameter.key);
        }
        text
    }
}

/// The right to run a sub-recipe; exclusive if its runs are sequential.
struct Turn<'e>(Option<&'e Entry>);

impl<'e> Turn<'e> {
    /// Waits for the right. `None` if it was cancelled.
    fn wait(entry: &'e Entry, cancel: &Cancel) -> Option<Self> {
        if !entry.sub.sequential_when_repeated {
            return Some(Turn(None));
        }
        let turn = cancel.receive(&entry.turn.1, Duration::MAX);
        turn.ok().map(|()| Turn(Some(entry)))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.0 {
            let _ = entry.turn.0.send(());
        }
    }
}

/// Finds the file of a sub-recipe. A relative path starts at the recipe's folder, or else at the working
/// directory. The files of an untrusted recipe must be below its folder, links followed.
fn locate(path: &str, origin: &RecipeOrigin, working_dir: &Path) -> Result<PathBuf, String> {
    let shown = printable(path, 200);
    let folder = match (&origin.folder, origin.trusted) {
        (Some(folder), _) => folder,
        (None, true) => working_dir,
        (None, false) => {
            return Err(format!(
                "{shown}: a recipe that came in a link cannot name files"
            ));
        }
    };
    let canonical = |path: &Path| {
        let found = path.canonicalize();
        found.map_err(|error| format!("{shown} cannot be read: {error}"))
    };
    let refusal = paths::refusal_from(folder, path).filter(|_| !origin.trusted);
    if let Some(reason) = refusal {
        return Err(format!("{shown}: {reason}"));
    }
    let file = canonical(&folder.join(path))?;
    if !origin.trusted && !file.starts_with(canonical(folder)?) {
        return Err(format!("{shown} is not below the folder of the recipe"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
