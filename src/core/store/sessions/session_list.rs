//! The list of sessions: the summaries of all, and the sessions of those that are shown.

use super::{Sessions, parse_id};
use crate::sorting::sort_by;
use crate::store::session_cache::{StoredSession, Summary};
use crate::store::{Error, Result};
use crate::sys::fs::Folder;
use crate::sys::lock;
use std::sync::Arc;
use std::time::SystemTime;

impl Sessions {
    /// The sessions that the client that asks may see, the one changed last first. One that cannot be read is logged
    /// and left out.
    ///
    /// # Errors
    /// [`Error::Io`](crate::store::Error::Io) when the folder cannot be read.
    pub fn list(&self) -> Result<Vec<Arc<Summary>>> {
        let names = self.names()?;
        let folder = Folder::open(&self.root).ok();
        let mut list = Vec::with_capacity(names.len());
        for (name, known) in names.iter().zip(self.cache.summaries(&names)) {
            if let (Some(folder), Some(summary)) = (&folder, known)
                && summary.is_current(folder)
            {
                list.push(summary);
                continue;
            }
            match self.load_cached(name) {
                Ok(loaded) => list.extend(loaded.map(|(summary, _)| summary)),
                Err(error) => log::warn!("left out of the list: {error}"),
            }
        }
        if let Some(filter) = self.filter.get() {
            list.retain(|summary| filter.is_visible(summary.owner.as_deref()));
        }
        sort_by(&mut list, |a, b| a.place(&b.updated_at, &b.id));
        Ok(list)
    }

    /// The sessions of `summaries`, read when they are needed. One that cannot be read is logged and left out.
    pub fn read<'a>(
        &'a self,
        summaries: impl IntoIterator<Item = Arc<Summary>> + 'a,
    ) -> impl Iterator<Item = Arc<StoredSession>> + 'a {
        summaries.into_iter().filter_map(|summary| {
            let known = self.cache.session(&summary);
            known.or_else(|| match self.load_cached(&summary.id) {
                Ok(loaded) => loaded.map(|(_, session)| session),
                Err(error) => {
                    log::warn!("left out of the list: {error}");
                    None
                }
            })
        })
    }

    /// The ids of all sessions, newest first; from memory if the folder has not changed.
    fn names(&self) -> Result<Arc<[Box<str>]>> {
        let read_at = SystemTime::now();
        let stamp = self.disk.stamp(&self.root)?;
        if let Some((known, names)) = &*lock(&self.names)
            && Some(*known) == stamp
        {
            return Ok(Arc::clone(names));
        }
        let names = self.disk.names(&self.root);
        let mut names = names.map_err(Error::io("list", &self.root))?;
        names.retain(|name| parse_id(name).is_some());
        sort_by(&mut names, |a, b| parse_id(b).cmp(&parse_id(a)));
        let names: Arc<[_]> = names.into_iter().map(String::into_boxed_str).collect();
        let settled = stamp.filter(|stamp| stamp.is_settled(read_at));
        *lock(&self.names) = settled.map(|stamp| (stamp, Arc::clone(&names)));
        Ok(names)
    }
}
