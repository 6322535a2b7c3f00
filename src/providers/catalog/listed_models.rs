//! The limits of models that providers have told in their lists of models, in memory and in a file, so that they
//! count after a restart.

use crate::listed_limits::ListedLimits;
use crate::store::file_lock::{FileLock, LOCK_TIMEOUT};
use crate::store::{self, files};
use crate::sys::lock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The name of the file in the data folder.
const FILE: &str = "listed_models.json";
/// The largest file, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// The most providers.
const MAX_PROVIDERS: usize = 64;

/// What one provider has told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct List {
    /// The URL that it was asked at: another server of the same name has other models.
    url: String,
    /// The window and the limit on output of each model.
    models: BTreeMap<String, (u64, Option<u64>)>,
}

type Lists = BTreeMap<String, List>;

/// The lists of all providers.
#[derive(Default)]
pub(super) struct ListedModels {
    file: Option<PathBuf>,
    /// Absent until they are needed.
    lists: Mutex<Option<Lists>>,
}

impl ListedModels {
    pub(super) fn new(data: &Path) -> Self {
        ListedModels {
            file: Some(data.join(FILE)),
            lists: Mutex::default(),
        }
    }

    /// What the provider has told of this model.
    pub(super) fn of(&self, provider: &str, model: &str) -> Option<ListedLimits> {
        self.load();
        let lists = lock(&self.lists);
        let (window, output) = *lists.as_ref()?.get(provider)?.models.get(model)?;
        Some(ListedLimits { window, output })
    }

    /// All that the provider has told at this URL.
    pub(super) fn all(&self, provider: &str, url: &str) -> Vec<(String, ListedLimits)> {
        self.load();
        let lists = lock(&self.lists);
        let list = lists.as_ref().and_then(|lists| lists.get(provider));
        let models = list.filter(|list| list.url == url).into_iter();
        let models = models.flat_map(|list| &list.models);
        models
            .map(|(name, (window, output))| {
                let (window, output) = (*window, *output);
                (name.clone(), ListedLimits { window, output })
            })
            .collect()
    }

    /// The provider has another URL now: what it has told at another one does not count.
    pub(super) fn begin(&self, provider: &str, url: &str) {
        self.load();
        if let Some(lists) = &mut *lock(&self.lists)
            && lists.get(provider).is_some_and(|list| list.url != url)
        {
            lists.remove(provider);
        }
    }

    /// Replaces what the provider has told.
    pub(super) fn learn(&self, provider: &str, url: &str, models: Vec<(String, ListedLimits)>) {
        if models.is_empty() {
            return;
        }
        let models = models.into_iter();
        let list = List {
            url: url.to_owned(),
            models: models
                .map(|(name, limits)| (name, (limits.window, limits.output)))
                .collect(),
        };
        self.load();
        let text = {
            let mut lists = lock(&self.lists);
            let lists = lists.get_or_insert_default();
            let is_full = lists.len() >= MAX_PROVIDERS && !lists.contains_key(provider);
            if is_full || lists.get(provider) == Some(&list) {
                return;
            }
            lists.insert(provider.to_owned(), list);
            serde_json::to_vec(&*lists)
        };
        if let (Some(path), Ok(text)) = (&self.file, text)
            && let Err(error) = write(path, &text)
        {
            log::warn!("the limits of models are not stored: {error}");
        }
    }

    /// Reads the file, once. One that cannot be used is as good as none: the next list replaces it.
    fn load(&self) {
        if lock(&self.lists).is_some() {
            return;
        }
        let read = self.file.as_deref().and_then(read);
        lock(&self.lists).get_or_insert_with(|| read.unwrap_or_default());
    }
}

fn read(path: &Path) -> Option<Lists> {
    let mut file = files::open(path).ok()??;
    let (text, _) = files::read(&mut file, path, MAX_FILE).ok()?;
    let mut lists: Lists = crate::json::from_slice(&text).ok()?;
    while lists.len() > MAX_PROVIDERS {
        lists.pop_last();
    }
    Some(lists)
}

fn write(path: &Path, text: &[u8]) -> store::Result<()> {
    files::ensure_dir(files::parent(path))?;
    let _lock = FileLock::acquire(&files::beside(path, ".", ".lock"), LOCK_TIMEOUT)?;
    files::write_atomic(path, text)
}
