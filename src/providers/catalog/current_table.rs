//! The table in use: the user's file if it is newer, else the one of the program. Each is read when it is needed
//! first; of the program's table only the models of the providers in use stay in memory.

use super::model_table::{MAX_TABLE, Model, ModelTable, SNAPSHOT};
use crate::store::Result;
use crate::store::file_lock::{FileLock, LOCK_TIMEOUT};
use crate::store::files::{self, Cached};
use crate::sys::clock::{self, Utc};
use crate::sys::lock;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// The name of the user's table in the data folder.
pub const FILE: &str = "models.json";
/// How many providers' models stay in memory.
const MAX_KEPT: usize = 8;
/// A model that is retired within so many days is not offered first, and the user is told.
const SOON_DAYS: i64 = 60;
const SECONDS_PER_DAY: i64 = 86_400;

/// The models of one provider.
pub(super) type Models = Arc<[Model]>;

/// The tables.
#[derive(Default)]
pub(super) struct ModelTables {
    file: Option<PathBuf>,
    /// The user's table if it is newer than the program's.
    own: Cached<Option<ModelTable>>,
    /// Models of the program's table, the ones used last at the end.
    kept: Mutex<Vec<(String, Models)>>,
}

impl ModelTables {
    pub(super) fn new(file: PathBuf) -> Self {
        ModelTables {
            file: Some(file),
            ..ModelTables::default()
        }
    }

    /// The models of a provider. A newer table without the provider leaves those of the program.
    pub(super) fn of(&self, provider: &str) -> Models {
        if let Some(table) = &*self.own()
            && let Some(models) = table.providers.get(provider)
        {
            return models.as_slice().into();
        }
        let mut kept = lock(&self.kept);
        if let Some(at) = kept.iter().position(|(name, _)| name == provider) {
            let found = kept.remove(at);
            let models = found.1.clone();
            kept.push(found);
            return models;
        }
        let models: Models = ModelTable::models_of(SNAPSHOT, provider).into();
        if kept.len() == MAX_KEPT {
            kept.remove(0);
        }
        kept.push((provider.to_owned(), models.clone()));
        models
    }

    /// The whole table in use, which is not kept, and whether it is the program's.
    pub(super) fn whole(&self) -> (ModelTable, bool) {
        let mut table = ModelTable::parse(SNAPSHOT).unwrap_or_default();
        let own = self.own();
        let Some(newer) = &*own else {
            return (table, true);
        };
        (newer.providers.iter()).for_each(|(name, models)| {
            table.providers.insert(name.clone(), models.clone());
        });
        let all = ModelTable::new(&newer.date, &newer.source, table.providers);
        (all, false)
    }

    /// The user's table if it is newer than the program's. A file that cannot be used is logged.
    fn own(&self) -> Arc<Option<ModelTable>> {
        let Some(path) = &self.file else {
            return Arc::default();
        };
        let read = self.own.load(path, || {
            let Some(mut file) = files::open(path)? else {
                return Ok(None);
            };
            let (text, stamp) = files::read(&mut file, path, MAX_TABLE)?;
            let text = String::from_utf8_lossy(&text);
            let newer = match ModelTable::parse(&text) {
                Ok(table) => (table.date.as_str() > snapshot_date()).then_some(table),
                Err(why) => {
                    log::warn!("{} is not used: {why}", path.display());
                    None
                }
            };
            Ok(Some((newer, stamp)))
        });
        read.unwrap_or_else(|error| {
            log::warn!("{} is not used: {error}", path.display());
            Arc::default()
        })
    }
}

/// The date of the program's table.
pub(super) fn snapshot_date() -> &'static str {
    static DATE: OnceLock<String> = OnceLock::new();
    DATE.get_or_init(|| ModelTable::date_of(SNAPSHOT).unwrap_or_default())
}

/// Stores a table as the user's.
///
/// # Errors
/// [`store::Error::Io`](crate::store::Error::Io).
pub fn replace_table(data: &Path, table: &ModelTable) -> Result<PathBuf> {
    let path = data.join(FILE);
    files::ensure_dir(data)?;
    let _lock = FileLock::acquire(&files::beside(&path, ".", ".lock"), LOCK_TIMEOUT)?;
    files::write_atomic(&path, table.to_json().as_bytes())?;
    Ok(path)
}

/// Today's date in UTC, `YYYY-MM-DD`.
pub fn today() -> String {
    date_in_days(0)
}

/// The date until which a model must not be retired to be offered first.
pub(super) fn soon() -> String {
    date_in_days(SOON_DAYS)
}

fn date_in_days(days: i64) -> String {
    let moment = clock::unix_seconds().saturating_add(days * SECONDS_PER_DAY);
    let mut text = Utc::from_unix(moment).to_string();
    text.truncate(10);
    text
}
