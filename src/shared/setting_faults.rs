//! What is wrong with the settings.

use gosling_core::store::settings::{self, Fault, Kind, Setting, in_file, misspelled};
use gosling_core::store::{Config, Result};

/// The faults of the settings: wrong values of those in `ALL` and of `more`, and wrong names in the file and in the
/// environment. Secrets are not read.
///
/// # Errors
/// As [`Config::get`].
pub fn value_and_name_faults(config: &Config, more: &[Setting<'_>]) -> Result<Vec<Fault>> {
    let root = config.all()?;
    let mut found = Vec::new();
    for setting in settings::ALL.iter().copied().chain(more) {
        if !matches!(setting.kind, Kind::Secret)
            && let Some(given) = config.given(setting.name)?
            && (!given.is_in_file() || !setting.environment_only)
        {
            found.extend(setting.fault_of(&given));
        }
    }
    found.extend(settings::variables().filter_map(|name| misspelled(&name, None)));
    found.extend(in_file(config.path(), root.keys().map(String::as_str)));
    Ok(found)
}
