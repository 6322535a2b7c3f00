//! Puts an archive in the place of a root: everything is unpacked beside it and compared with what the archive says of
//! itself, before anything is replaced. What was there before is moved aside.

use crate::activity::Entry;
use crate::agent::Stores;
use crate::contents::{FIRST, First, LAST, Last, Listed, MAX_FIRST, MAX_LAST, copy_hashed};
use crate::json;
use crate::names::{FOLDERS, Names};
use crate::root_files;
use crate::store::{Error, Paths, files};
use crate::sys::clock::now_rfc3339;
use crate::sys::file_owner::make_executable;
use crate::sys::fs::{FileCalls, lockable_folder, private, private_dir, remove_dir_all, rename};
use crate::sys::signal;
use crate::tar::{Fault, Header, Reader};
use crate::text::printable;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process;

/// The folders that are made durable and replaced together.
const COUNT: usize = FOLDERS.len();

/// What was restored.
pub(crate) struct Restored {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) first: First,
    /// Where the folders are that were there before.
    pub(crate) aside: Vec<PathBuf>,
}

/// Restores the archive `input`, which is called `name` in errors.
///
/// # Errors
/// Why not; everything is as it was then.
pub(crate) fn restore(
    paths: &Paths,
    input: &mut impl Read,
    name: &str,
    force: bool,
) -> Result<Restored, String> {
    drop(take_lock(paths)?);
    check_empty(paths, force)?;
    let entry = Entry {
        subject: name,
        outcome: "restored",
        ..Entry::new("backup", "")
    };
    let stores = Stores::new(paths);
    stores
        .activity
        .check(&entry)
        .map_err(|why| why.to_string())?;
    let staged = Staged::create(paths)?;
    let unpacked = unpack(input, &staged).map_err(|fault| match fault {
        Fault::Disk(error) => error.to_string(),
        fault => format!("{name} is not usable: {fault}"),
    })?;
    let in_use = take_lock(paths)?;
    check_empty(paths, force)?;
    // The log that is moved aside and the one that takes its place both tell of it.
    if fs::exists(paths.data.join("audit")).unwrap_or(false) {
        let recorded = stores.activity.record(&entry);
        recorded.map_err(|error| error.to_string())?;
    }
    drop(stores);
    let recorded = Stores::new(&staged.paths).activity.record(&entry);
    recorded.map_err(|error| error.to_string())?;
    staged.sync().map_err(|error| error.to_string())?;
    let aside = staged.put_in_place(paths)?;
    drop(in_use);
    Ok(Restored { aside, ..unpacked })
}

/// Takes the lock that every process shares that uses the root.
fn take_lock(paths: &Paths) -> Result<File, String> {
    let folder = files::parent(&paths.data);
    let opened = files::ensure_dir(folder)
        .and_then(|()| lockable_folder(folder).map_err(Error::io("open", folder)));
    let opened = opened.map_err(|error| error.to_string())?;
    FileCalls::try_lock(&opened).map_err(|_| {
        format!(
            "{} is in use by a server or another command of gosling; end it first",
            paths.data.display()
        )
    })?;
    Ok(opened)
}

/// Fails if something would be replaced that the user may want to keep.
fn check_empty(paths: &Paths, force: bool) -> Result<(), String> {
    for path in [&paths.config, &paths.data] {
        if !force && !is_absent_or_empty(path)? {
            return Err(format!(
                "there are files in {}; with --force they are moved aside",
                path.display()
            ));
        }
    }
    Ok(())
}

fn is_absent_or_empty(path: &Path) -> Result<bool, String> {
    let entries = files::if_exists(fs::read_dir(path)).map_err(Error::io("list", path));
    let entries = entries.map_err(|error| error.to_string())?;
    Ok(entries.is_none_or(|mut entries| entries.next().is_none()))
}

/// New folders beside those of a root; removed unless they are put in their place.
struct Staged {
    /// For what is recorded there.
    paths: Paths,
    folders: [PathBuf; COUNT],
    targets: [PathBuf; COUNT],
}

impl Staged {
    fn create(paths: &Paths) -> Result<Staged, String> {
        let end = format!(".restore-{}", process::id());
        let beside = |path: &Path| files::beside(path, ".", &end);
        let (config, data) = (beside(&paths.config), beside(&paths.data));
        let state = beside(&paths.state);
        let staged = Staged {
            folders: [config.clone(), data.clone(), state.clone()],
            targets: root_files::folders(paths),
            paths: Paths {
                config,
                data,
                state,
            },
        };
        for folder in &staged.folders {
            let made = files::if_exists(remove_dir_all(folder))
                .map_err(Error::io("remove the left-over", folder))
                .and_then(|_| files::ensure_dir(files::parent(folder)))
                .and_then(|()| {
                    private_dir()
                        .create(folder)
                        .map_err(Error::io("create", folder))
                });
            made.map_err(|error| error.to_string())?;
        }
        Ok(staged)
    }

    /// Makes everything durable.
    fn sync(&self) -> crate::store::Result<()> {
        self.folders.iter().try_for_each(|folder| sync_tree(folder))
    }

    /// Moves the folders aside that were there before, and the new ones in their places; undoes both if it fails.
    fn put_in_place(&self, paths: &Paths) -> Result<Vec<PathBuf>, String> {
        // Between the first and the last step the root is not whole.
        signal::block();
        let end = format!(".before-{}", now_rfc3339().replace(':', ""));
        let mut done: Vec<(&Path, &Path)> = Vec::new();
        let mut aside: Vec<(PathBuf, &Path)> = Vec::new();
        let mut work = || -> crate::store::Result<()> {
            files::ensure_dir(&paths.state)?;
            for (folder, target) in self.folders.iter().zip(&self.targets) {
                let is_certificate = *target == self.targets[COUNT - 1];
                if is_certificate && is_absent_or_empty(folder).unwrap_or(false) {
                    // The archive has none.
                    continue;
                }
                if fs::symlink_metadata(target).is_ok() {
                    let to = files::beside(target, "", &end);
                    rename(target, &to).map_err(Error::io("move aside", target))?;
                    aside.push((to, target));
                }
                rename(folder, target).map_err(Error::io("put in place", target))?;
                done.push((folder, target));
            }
            for target in &self.targets {
                files::sync_names(files::parent(target))?;
            }
            Ok(())
        };
        if let Err(error) = work() {
            for (folder, target) in done.into_iter().rev() {
                let _ = rename(target, folder);
            }
            for (to, target) in aside.iter().rev() {
                let _ = rename(to, target);
            }
            return Err(error.to_string());
        }
        // An empty folder need not be kept.
        aside.retain(|(to, _)| fs::remove_dir(to).is_err());
        Ok(aside.into_iter().map(|(to, _)| to).collect())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = remove_dir_all(folder);
        }
    }
}

fn sync_tree(folder: &Path) -> crate::store::Result<()> {
    let entries = fs::read_dir(folder).map_err(Error::io("list", folder))?;
    for entry in entries {
        let entry = entry.map_err(Error::io("list", folder))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            sync_tree(&entry.path())?;
        }
    }
    files::sync_names(folder)
}

/// Unpacks an archive, and compares each file with what the last entry says of it.
fn unpack(input: &mut impl Read, staged: &Staged) -> Result<Restored, Fault> {
    let mut place = |number: usize, path: &str, header: &Header, content: &mut dyn Read| {
        let path = staged.folders[number].join(path);
        if header.is_folder {
            files::ensure_dir(&path)
                .map(|()| String::new())
                .map_err(of_disk)
        } else {
            write_new(&path, header, content)
        }
    };
    let (first, last) = read(input, &mut place)?;
    Ok(Restored {
        files: last.files.iter().filter(|it| !it.sha256.is_empty()).count(),
        bytes: last.files.iter().map(|it| it.size).sum(),
        first,
        aside: Vec::new(),
    })
}

/// Puts a file or folder into one of [`FOLDERS`]; returns the hash of a file.
pub(crate) type Place<'a> =
    dyn FnMut(usize, &str, &Header, &mut dyn Read) -> Result<String, Fault> + 'a;

/// Reads an archive and passes its entries to `place`; fails unless they are those that its last entry lists.
pub(crate) fn read(input: &mut impl Read, place: &mut Place<'_>) -> Result<(First, Last), Fault> {
    let mut reader = Reader::new(input);
    let (mut names, mut found) = (Names::default(), Last::default());
    let first = match reader.next()? {
        Some(header) if header.name == FIRST && !header.is_folder => {
            let text = read_text(&header, reader.content(), MAX_FIRST)?;
            First::read(&text).map_err(Fault::Wrong)?
        }
        _ => return Err(Fault::Wrong("it is not a backup of gosling".to_owned())),
    };
    while let Some(header) = reader.next()? {
        if header.name == LAST && !header.is_folder {
            let text = read_text(&header, reader.content(), MAX_LAST)?;
            let last: Last = json::from_slice(&text)
                .map_err(|_| Fault::Wrong(format!("its entry {LAST} cannot be read")))?;
            if let Some(more) = reader.next()? {
                return Err(unlisted(&more.name));
            }
            compare(&found, &last)?;
            return Ok((first, last));
        }
        let taken = names.take(&header.name, header.is_folder);
        let (number, path) = taken.map_err(|why| {
            let name = printable(&header.name, 200);
            Fault::Wrong(format!("the name {name:?} in it {why}"))
        })?;
        let sha256 = place(number, path, &header, &mut reader.content())?;
        found.files.push(Listed {
            name: header.name,
            size: header.size,
            sha256,
        });
    }
    Err(Fault::Cut)
}

fn unlisted(name: &str) -> Fault {
    let name = printable(name, 200);
    Fault::Wrong(format!("{name:?} in it is not in its list of files"))
}

/// Fails unless what was read is what the archive lists.
fn compare(found: &Last, listed: &Last) -> Result<(), Fault> {
    for (found, listed) in found.files.iter().zip(&listed.files) {
        if found.name != listed.name {
            return Err(unlisted(&found.name));
        }
        if found != listed {
            let name = printable(&found.name, 200);
            return Err(Fault::Wrong(format!(
                "{name:?} in it is damaged: its hash is not the listed one"
            )));
        }
    }
    match found.files.len().cmp(&listed.files.len()) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(unlisted(&found.files[listed.files.len()].name)),
        std::cmp::Ordering::Less => {
            let name = printable(&listed.files[found.files.len()].name, 200);
            Err(Fault::Wrong(format!("{name:?} is missing in it")))
        }
    }
}

fn read_text(header: &Header, mut content: impl Read, most: u64) -> Result<Vec<u8>, Fault> {
    if header.size > most {
        let (name, size) = (&header.name, header.size);
        let why = format!("its entry {name} is too large ({size} bytes; at most {most})");
        return Err(Fault::Wrong(why));
    }
    let mut text = Vec::new();
    content.read_to_end(&mut text)?;
    Ok(text)
}

fn of_disk(error: Error) -> Fault {
    Fault::Disk(error)
}

fn write_new(path: &Path, header: &Header, mut content: &mut dyn Read) -> Result<String, Fault> {
    files::ensure_dir(files::parent(path)).map_err(of_disk)?;
    let mut options = OpenOptions::new();
    let file = private(options.write(true).create_new(true)).open(path);
    let mut file = file.map_err(Error::io("create", path)).map_err(of_disk)?;
    let mut failed = None;
    let hash = copy_hashed(&mut content, header.size, |bytes| {
        file.write_all(bytes).map_err(|error| {
            failed = Some(error);
            std::io::ErrorKind::Other.into()
        })
    });
    if let Some(error) = failed {
        return Err(of_disk(Error::io("write", path)(error)));
    }
    let hash = hash?;
    let done = if header.is_executable {
        make_executable(path).and_then(|()| file.sync_data())
    } else {
        file.sync_data()
    };
    done.map_err(Error::io("write", path)).map_err(of_disk)?;
    Ok(hash)
}
