//! What a file has besides its content and its list of rights: other streams, and other names.

use super::{checked, ffi};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;

/// `FileStandardInfo` and `FileStreamInfo`.
const STANDARD: i32 = 1;
const STREAMS: i32 = 7;
/// `ERROR_MORE_DATA`.
const MORE_DATA: i32 = 234;
/// The most bytes of the list of streams.
const MAX_LIST: usize = 1 << 20;
/// The stream that is the content of the file.
const CONTENT: &str = "::$DATA";

fn read(file: &File, class: i32, into: &mut [u64]) -> io::Result<()> {
    // SAFETY: the handle is open as long as `file` is borrowed, and there is room for this many bytes.
    checked(unsafe {
        ffi::GetFileInformationByHandleEx(
            file.as_raw_handle(),
            class,
            into.as_mut_ptr().cast::<c_void>(),
            size_of_val(into) as u32,
        )
    })
}

/// The number of hard links of a file.
///
/// # Errors
/// When the file cannot be reached.
pub(crate) fn links(file: &File) -> io::Result<u32> {
    // Two sizes, and the number.
    let mut information = [0; 3];
    read(file, STANDARD, &mut information)?;
    Ok(information[2] as u32)
}

/// The names of the other streams of a file, with their sizes. None where the file system has no streams.
///
/// # Errors
/// When there are more than fit into [`MAX_LIST`].
pub(crate) fn others(file: &File) -> io::Result<Vec<(String, u64)>> {
    let mut list: Vec<u64> = vec![0; 512];
    loop {
        match read(file, STREAMS, &mut list) {
            Ok(()) => return Ok(listed(&bytes(&list))),
            Err(error) => match error.raw_os_error() {
                Some(MORE_DATA) if list.len() * 8 < MAX_LIST => list.resize(list.len() * 4, 0),
                Some(MORE_DATA) => return Err(error),
                _ => return Ok(Vec::new()),
            },
        }
    }
}

fn bytes(list: &[u64]) -> Vec<u8> {
    list.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// The other streams in a list of entries: the place of the next one, the length of the name, the size, the size on the
/// disk, and the name.
fn listed(list: &[u8]) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut rest = list;
    while let Some((next, name, size)) = entry(rest) {
        if name != CONTENT {
            found.push((name, size));
        }
        match rest.get(next..) {
            Some(after) if next > 0 => rest = after,
            _ => break,
        }
    }
    found
}

fn entry(list: &[u8]) -> Option<(usize, String, u64)> {
    let long = |at: usize| Some(u32::from_le_bytes(*list.get(at..)?.first_chunk()?) as usize);
    let (next, len) = (long(0)?, long(4)?);
    let size = u64::from_le_bytes(*list.get(8..)?.first_chunk()?);
    let name = list.get(24..24 + len)?.as_chunks().0.iter();
    let name: Vec<u16> = name.map(|unit| u16::from_le_bytes(*unit)).collect();
    (len > 0).then(|| (next, String::from_utf16_lossy(&name), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_streams_are_listed_and_names_counted() {
        let entry = |next: u32, name: &str, size: u64| {
            let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let head = [next.to_le_bytes(), (name.len() as u32).to_le_bytes()].concat();
            [head, size.to_le_bytes().to_vec(), vec![0; 8], name].concat()
        };
        let first = entry(40, CONTENT, 5);
        let second = entry(0, ":Zone.Identifier:$DATA", 26);
        let list = [&first[..], &[0; 2], &second, &[0; 20]].concat();
        let others = [(":Zone.Identifier:$DATA".to_owned(), 26)];
        assert_eq!(listed(&list), others);
        assert_eq!(listed(&first), []);
        assert_eq!(listed(&list[..60]), []);

        let path = std::env::temp_dir().join(format!("gosling-links-{}", std::process::id()));
        let other = path.with_extension("other");
        let file = File::create(&path).unwrap();
        assert_eq!(links(&file).unwrap(), 1);
        std::fs::hard_link(&path, &other).unwrap();
        assert_eq!(links(&file).unwrap(), 2);
        assert_eq!(super::others(&file).unwrap(), []);
        for path in [path, other] {
            std::fs::remove_file(path).unwrap();
        }
    }
}
