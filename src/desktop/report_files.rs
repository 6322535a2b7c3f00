//! Which files a report has.

use crate::sorting::sort_by;
use crate::store::Sessions;
use crate::store::session_file_names::{MESSAGES, SESSION, TOOL_OUTPUTS};
use std::fs;
use std::path::{Path, PathBuf};

/// How many files of a folder [`newest`] looks at.
const MAX_LISTED: usize = 100_000;

/// The files of the session `id`, each with its name below the session's folder: the session and its
/// messages, then the `outputs` newest stored outputs of tools. `None` if there is no such folder.
pub(crate) fn of_session(
    sessions: &Sessions,
    id: &str,
    outputs: usize,
) -> Option<Vec<(String, PathBuf)>> {
    let dir = sessions.dir(id).filter(|dir| dir.is_dir())?;
    let mut files = vec![
        (SESSION.to_owned(), dir.join(SESSION)),
        (MESSAGES.to_owned(), dir.join(MESSAGES)),
    ];
    let newest = newest(&dir.join(TOOL_OUTPUTS), outputs);
    files.extend(
        newest
            .into_iter()
            .map(|(name, path)| (format!("{TOOL_OUTPUTS}/{name}"), path)),
    );
    Some(files)
}

/// The names and paths of the `count` regular files in `folder` that changed last, the newest first. Links and
/// names that are not UTF-8 are left out; a folder that cannot be read has no files.
pub(crate) fn newest(folder: &Path, count: usize) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries
        .flatten()
        .take(MAX_LISTED)
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let name = entry.file_name().into_string().ok()?;
            Some((metadata.modified().ok()?, name, entry.path()))
        })
        .collect();
    sort_by(&mut files, |a, b| b.0.cmp(&a.0));
    let newest = files.into_iter().take(count);
    newest.map(|(_, name, path)| (name, path)).collect()
}

#[cfg(all(test, unix))]
mod tests;
