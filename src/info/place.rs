//! The state of a file or folder.

use crate::store::files::if_exists;
use crate::sys::effective_user;
use crate::sys::file_owner::owner_and_mode;
use serde_json::{Map, Value};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The permissions of others than the owner.
const SHARED: u32 = 0o077;

/// A file or folder, as it was when it was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: PathBuf,
    /// Whether it exists; `None` if that cannot be found out.
    exists: Option<bool>,
    /// Its owner and its mode, if it exists and they are known.
    owner_and_mode: Option<(u32, u32)>,
    /// What is wrong with it.
    pub(crate) fault: Option<String>,
}

impl Place {
    /// A folder that no other user may use.
    pub(crate) fn folder(path: PathBuf) -> Place {
        let mut place = Place::private(path);
        if place.exists == Some(true) && !place.path.is_dir() {
            place.fault = Some("it is not a folder".to_owned());
        }
        place
    }

    /// A file or folder that no other user may use.
    pub(crate) fn private(path: PathBuf) -> Place {
        let mut place = Place {
            path,
            exists: None,
            owner_and_mode: None,
            fault: None,
        };
        match if_exists(place.path.metadata()) {
            Ok(Some(found)) => {
                place.exists = Some(true);
                place.owner_and_mode = owner_and_mode(&found);
                place.fault = fault_of(&found);
            }
            Ok(None) => place.exists = Some(false),
            Err(error) => place.fault = Some(format!("it cannot be reached: {error}")),
        }
        place
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it exists.
    pub(crate) fn exists(&self) -> bool {
        self.exists == Some(true)
    }

    /// What it is for a person, behind its path.
    pub(crate) fn note(&self) -> &'static str {
        match (self.exists, &self.fault) {
            (Some(false), _) => " (does not exist)",
            (None, _) => " (cannot be reached)",
            (_, Some(_)) => " (see below)",
            _ => "",
        }
    }

    /// Its fields as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        set("path", self.path.to_string_lossy().into());
        set("exists", self.exists.into());
        if let Some((owner, mode)) = self.owner_and_mode {
            set("mode", format!("{mode:04o}").into());
            set("owner", owner.into());
        }
        fields.into()
    }
}

/// What is wrong with the owner or the mode of a file or folder that this user uses alone, where that is known.
fn fault_of(found: &Metadata) -> Option<String> {
    let ((owner, mode), user) = owner_and_mode(found).zip(effective_user())?;
    if owner != user {
        return Some(format!(
            "it belongs to the user {owner}, and gosling runs as {user} here"
        ));
    }
    let wanted = if found.is_dir() { "700" } else { "600" };
    (mode & SHARED != 0)
        .then(|| format!("others than its owner can use it (mode {mode:o}); `chmod {wanted}` it"))
}
