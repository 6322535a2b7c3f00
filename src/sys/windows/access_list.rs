//! Access control lists of files: a new file gets that of its folder, and one that takes the place of a file gets that
//! of the file.

use super::{checked, ffi};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;

/// `OWNER_SECURITY_INFORMATION`, and `DACL_SECURITY_INFORMATION`: the list that says who may do what.
const OWNER: u32 = 1;
const LIST: u32 = 4;
/// Rights of a handle: to read the list, and to change it.
const READ_CONTROL: u32 = 0x2_0000;
const WRITE_DAC: u32 = 0x4_0000;
/// Flags that open a folder, and a link itself.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// The bits of a descriptor with a list, and with one that takes nothing over from the folder.
const HAS_LIST: u16 = 0x4;
const IS_PROTECTED: u16 = 0x1000;

/// The descriptor of a file's list or owner, with room for it in whole numbers; `None` where the file system has none.
fn descriptor(file: &File, wanted: u32) -> Option<Vec<u32>> {
    let mut descriptor: Vec<u32> = vec![0; 256];
    loop {
        let len = descriptor.len() * size_of::<u32>();
        let mut needed = 0;
        // SAFETY: the handle is open as long as `file` is borrowed, and there is room for `len` bytes.
        let done = checked(unsafe {
            ffi::GetKernelObjectSecurity(
                file.as_raw_handle(),
                wanted,
                descriptor.as_mut_ptr().cast(),
                len as u32,
                &raw mut needed,
            )
        });
        match done {
            Ok(()) => return Some(descriptor),
            Err(_) if needed as usize > len => {
                descriptor.resize((needed as usize).div_ceil(size_of::<u32>()), 0);
            }
            Err(_) => return None,
        }
    }
}

/// Whether the list in a descriptor is protected from what the folder has, and its entries.
fn entries(descriptor: &[u8]) -> Option<(bool, &[u8])> {
    let short = |at: usize| Some(u16::from_le_bytes(*descriptor.get(at..)?.first_chunk()?));
    let control = short(2)?;
    let list = u32::from_le_bytes(*descriptor.get(16..)?.first_chunk()?) as usize;
    // Without a list everybody may do everything.
    if control & HAS_LIST == 0 || list == 0 {
        return None;
    }
    let begin = list + 8;
    let mut end = begin;
    for _ in 0..short(list + 4)? {
        end += usize::from(short(end + 2)?);
    }
    Some((control & IS_PROTECTED != 0, descriptor.get(begin..end)?))
}

fn bytes(descriptor: &[u32]) -> Vec<u8> {
    descriptor.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// What the list of a file says, to be compared; `None` without one.
pub(crate) fn content(file: &File) -> Option<Vec<u8>> {
    let descriptor = bytes(&descriptor(file, LIST)?);
    let (is_protected, entries) = entries(&descriptor)?;
    Some([&[u8::from(is_protected)], entries].concat())
}

/// Gives the file `to` the list of another one, if it has a different one.
///
/// # Errors
/// When it cannot be set.
pub(crate) fn copy(from: &File, to: &Path) -> io::Result<()> {
    let file = open(to, READ_CONTROL)?;
    if content(&file) == content(from) {
        return Ok(());
    }
    let Some(descriptor) = descriptor(from, LIST) else {
        return Ok(());
    };
    let file = open(to, READ_CONTROL | WRITE_DAC)?;
    // SAFETY: the handle is open as long as `file` lives, and the descriptor is one that the system has made.
    checked(unsafe {
        ffi::SetKernelObjectSecurity(file.as_raw_handle(), LIST, descriptor.as_ptr().cast())
    })
}

/// The owner of a file or folder, to be compared; `None` where the file system has none. A link is not followed.
///
/// # Errors
/// When the file cannot be reached.
pub(crate) fn owner(path: &Path) -> io::Result<Option<Vec<u32>>> {
    let mut options = OpenOptions::new();
    options.access_mode(READ_CONTROL);
    let file = options.custom_flags(BACKUP_SEMANTICS | OPEN_REPARSE_POINT);
    Ok(descriptor(&file.open(path)?, OWNER))
}

/// The same for the file `to`, which takes the place of the file `from`, if that exists.
///
/// # Errors
/// When it cannot be set.
pub(crate) fn keep(from: &Path, to: &Path) -> io::Result<()> {
    let is_file = |path| fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
    match open(from, READ_CONTROL) {
        Ok(before) if is_file(from) && is_file(to) => copy(&before, to),
        _ => Ok(()),
    }
}

fn open(path: &Path, rights: u32) -> io::Result<File> {
    OpenOptions::new().access_mode(rights).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::rename;

    /// A list with one entry, which lets everybody do everything, and takes nothing over.
    fn own_list() -> Vec<u32> {
        let header = [
            1, 0, 0x04, 0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
        ];
        let list = [2, 0, 28, 0, 1, 0, 0, 0];
        let entry = [
            0, 0, 20, 0, 0xff, 0x01, 0x1f, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
        ];
        let whole: Vec<u8> = [&header[..], &list, &entry].concat();
        assert_eq!(entries(&whole), Some((true, &entry[..])));
        assert_eq!(entries(&whole[..40]), None);
        let words = whole.as_chunks().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    }

    #[test]
    fn what_takes_the_place_of_a_file_gets_its_list() {
        let dir = std::env::temp_dir().join(format!("gosling-list-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (old, new) = (dir.join("old"), dir.join("new"));
        let list_of = |path: &Path| content(&open(path, READ_CONTROL).unwrap()).unwrap();
        fs::write(&new, "new").unwrap();
        let usual = list_of(&new);
        rename(&new, &old).unwrap();
        assert_eq!(list_of(&old), usual, "there was no other file");
        let file = open(&old, READ_CONTROL | WRITE_DAC).unwrap();
        let own = own_list();
        // SAFETY: the descriptor is valid, and the handle open.
        checked(unsafe {
            ffi::SetKernelObjectSecurity(file.as_raw_handle(), LIST, own.as_ptr().cast())
        })
        .unwrap();
        drop(file);
        let changed = list_of(&old);
        assert_ne!(changed, usual);
        fs::write(&new, "newer").unwrap();
        assert_eq!(list_of(&new), usual);
        rename(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"newer");
        assert_eq!(list_of(&old), changed);
        fs::remove_dir_all(&dir).unwrap();
    }
}
