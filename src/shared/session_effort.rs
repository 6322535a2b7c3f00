//! How much the model of a session thinks.

use gosling_core::agent::{Error, Registry};
use gosling_core::provider::thinking_effort::EFFORT;

/// Changes how much the session's model thinks, from the next turn on: one of
/// [`EFFORTS`](gosling_core::provider::thinking_effort::EFFORTS), or as the settings say.
///
/// # Errors
/// When there is no such session, or no model answers for it.
pub fn set_effort(registry: &Registry, id: &str, effort: Option<&str>) -> Result<(), Error> {
    let models = registry.models();
    let mut model = models.of(&registry.files().session(id)?)?;
    let params = model.config.request_params.get_or_insert_default();
    params.remove(EFFORT);
    if let Some(effort) = effort {
        params.insert(EFFORT.to_owned(), effort.into());
    }
    model.config.request_params = model.config.request_params.filter(|it| !it.is_empty());
    let sessions = &registry.stores().sessions;
    sessions.update(id, |session| models.set_shown(session, &model))?;
    Ok(())
}
