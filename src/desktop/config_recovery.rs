//! A `config.yaml` that does not parse is replaced by a backup that does.

use crate::store::file_lock::FileLock;
use crate::store::shared_yaml_file::OLDER_BACKUPS;
use crate::store::{Config, Error, MAX_YAML, Result, files};
use gosling_shared::{parse_yaml_object, read_object};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The outcome of a recovery.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    /// The keys of the file.
    pub(crate) keys: Vec<String>,
    /// The backup that took the place of the file.
    pub(crate) backup: Option<PathBuf>,
}

impl Recovered {
    fn new(settings: Map<String, Value>, backup: Option<PathBuf>) -> Self {
        let keys = settings.into_iter().map(|(key, _)| key).collect();
        Recovered { keys, backup }
    }
}

/// If the file does not parse, or does not exist, replaces it by the newest backup that does, after copying it to
/// `config.yaml.broken`. A file that parses stays as it is. The file is the configuration in effect afterwards.
///
/// # Errors
/// [`Error::Broken`] when the file does not parse and no backup does, [`Error::Locked`], [`Error::Changing`],
/// [`Error::Io`]. The file is unchanged then.
pub(crate) fn recover_config(config: &Config) -> Result<Recovered> {
    let path = config.path();
    files::ensure_dir(files::parent(path))?;
    let target = files::follow_links(path)?;
    let _lock = FileLock::beside(&target)?;
    let stamp = files::stamp(path)?;
    let broken = match read_object(path, MAX_YAML) {
        Ok(Some(settings)) => return Ok(Recovered::new(settings, None)),
        Ok(None) => None,
        Err(error @ Error::Broken { .. }) => Some(error),
        Err(error) => return Err(error),
    };
    let Some((backup, content, settings)) = newest_good_backup(config) else {
        return broken.map_or_else(|| Ok(Recovered::default()), Err);
    };
    if broken.is_some() {
        copy_to_broken(path)?;
    }
    files::replace(&target, &content, || {
        if files::stamp(path)? == stamp {
            Ok(())
        } else {
            let path = path.to_owned();
            Err(Error::Changing { path })
        }
    })?;
    files::sync_names(files::parent(&target))?;
    Ok(Recovered::new(settings, Some(backup)))
}

fn newest_good_backup(config: &Config) -> Option<(PathBuf, Vec<u8>, Map<String, Value>)> {
    let older = (1..=OLDER_BACKUPS).map(|n| format!(".bak.{n}"));
    let ends = std::iter::once(".bak".to_owned()).chain(older);
    let mut backups = ends.map(|end| files::beside(config.path(), "", &end));
    backups.find_map(|path| {
        let (content, _) = files::read_file(&path, MAX_YAML).ok()??;
        let settings = parse_yaml_object(str::from_utf8(&content).ok()?).ok()?;
        Some((path, content, settings))
    })
}

fn copy_to_broken(path: &Path) -> Result<()> {
    match files::open(path)? {
        Some(mut file) => files::copy(&mut file, &files::beside(path, "", ".broken")),
        None => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::sys::fs::synced::{now, take};
    use std::fs;

    #[test]
    fn a_recovery_is_durable() {
        let name = format!("gosling-recovery-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("config.yaml");
        let config = Config::with_env(file.clone(), Box::new(|_| None));
        fs::write(dir.join("config.yaml.bak"), "A: 2\n").unwrap();
        fs::write(&file, "A: [").unwrap();
        take();
        let recovered = recover_config(&config).unwrap();
        assert_eq!(recovered.keys, ["A"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "A: 2\n");
        let broken = dir.join("config.yaml.broken");
        assert_eq!(take(), now(&[&broken, &file, &dir]));
        fs::remove_dir_all(&dir).unwrap();
    }
}
