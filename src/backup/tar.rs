//! Tar archives as POSIX describes them (ustar, with pax headers for long names and large files): folders and regular
//! files, and nothing else.

use std::fmt;
use std::io::{self, Read, Write};

/// Everything in an archive is a multiple of this, in bytes.
const BLOCK: usize = 512;
/// The longest pax header that is read, in bytes.
const MAX_PAX: u64 = 64 << 10;
/// The largest size that the octal digits of a header can say.
const MAX_OCTAL: u64 = (1 << 33) - 1;

/// What comes before the content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The name; of a folder without the slash at its end.
    pub(crate) name: String,
    pub(crate) is_folder: bool,
    /// Whether its owner may execute the file.
    pub(crate) is_executable: bool,
    /// The size of the content, in bytes.
    pub(crate) size: u64,
    /// When it was changed, in seconds since 1970.
    pub(crate) modified: u64,
}

/// Why an archive cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It ends too early.
    Cut,
    /// It is not what a backup is; why.
    Wrong(String),
    /// Its bytes cannot be read.
    Io(io::Error),
    /// What is in it cannot be stored.
    Disk(crate::store::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Cut => f.write_str("it is cut off: its end is missing"),
            Fault::Wrong(why) => f.write_str(why),
            Fault::Io(error) => write!(f, "it cannot be read: {error}"),
            Fault::Disk(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Cut,
            _ => Fault::Io(error),
        }
    }
}

/// Writes the header of an entry; its content and [`write_padding`] follow.
pub(crate) fn write_header(out: &mut impl Write, header: &Header) -> io::Result<()> {
    let mut name = header.name.clone();
    if header.is_folder {
        name.push('/');
    }
    let mut pax = Vec::new();
    if name.len() > 100 {
        pax.extend(pax_record("path", &name));
    }
    if header.size > MAX_OCTAL {
        pax.extend(pax_record("size", &header.size.to_string()));
    }
    if !pax.is_empty() {
        let size = pax.len() as u64;
        out.write_all(&block("gosling-long-name", b'x', 0o600, size, 0))?;
        out.write_all(&pax)?;
        write_padding(out, size)?;
    }
    let kind = if header.is_folder { b'5' } else { b'0' };
    let is_executable = header.is_folder || header.is_executable;
    let mode = if is_executable { 0o700 } else { 0o600 };
    let short = &name[..name.floor_char_boundary(100)];
    out.write_all(&block(short, kind, mode, header.size, header.modified))
}

/// Writes what completes the last block of a content of this size.
pub(crate) fn write_padding(out: &mut impl Write, size: u64) -> io::Result<()> {
    out.write_all(&[0; BLOCK][..padding(size)])
}

/// Writes what ends an archive.
pub(crate) fn write_end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(&[0; 2 * BLOCK])
}

fn padding(size: u64) -> usize {
    (BLOCK - (size % BLOCK as u64) as usize) % BLOCK
}

/// A record begins with its own length.
fn pax_record(key: &str, value: &str) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length.to_string().len() + rest != length {
        length = length.to_string().len() + rest;
    }
    format!("{length} {key}={value}\n").into_bytes()
}

fn block(name: &str, kind: u8, mode: u32, size: u64, modified: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000\x000000000\0");
    put(124, format!("{:011o}", size.min(MAX_OCTAL)).as_bytes());
    put(136, format!("{:011o}", modified.min(MAX_OCTAL)).as_bytes());
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(329, b"0000000\x000000000\0");
    let sum = checksum(&block);
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// The sum of all bytes, with spaces in the place of the sum.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let bytes = block[..148].iter().chain(&block[156..]);
    bytes.map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ')
}

/// Reads an archive.
pub(crate) struct Reader<R> {
    input: R,
    /// How much of the content of the last entry was not read yet, and what completes its last block.
    left: u64,
    padding: usize,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(input: R) -> Self {
        Reader {
            input,
            left: 0,
            padding: 0,
        }
    }

    /// The next entry, behind the content of the one before; `None` at the end of the archive.
    pub(crate) fn next(&mut self) -> Result<Option<Header>, Fault> {
        self.skip_content()?;
        let mut pax = Pax::default();
        loop {
            let mut block = [0; BLOCK];
            self.input.read_exact(&mut block)?;
            if block == [0; BLOCK] {
                return Ok(None);
            }
            let (kind, header) = read_block(&block)?;
            if kind != b'x' {
                let header = pax.apply(kind, header)?;
                self.begin_content(header.size);
                return Ok(Some(header));
            }
            if header.size > MAX_PAX || pax.is_set {
                return Err(Fault::Wrong("a long name in it is too long".to_owned()));
            }
            self.begin_content(header.size);
            let mut records = Vec::new();
            self.content().read_to_end(&mut records)?;
            self.skip_content()?;
            pax = Pax::read(&records)
                .ok_or_else(|| Fault::Wrong("a long name in it cannot be read".to_owned()))?;
        }
    }

    fn begin_content(&mut self, size: u64) {
        (self.left, self.padding) = (size, padding(size));
    }

    /// The rest of the content of the last entry. It is an error if the archive ends before.
    pub(crate) fn content(&mut self) -> Content<'_, R> {
        Content(self)
    }

    fn skip_content(&mut self) -> Result<(), Fault> {
        io::copy(&mut self.content(), &mut io::sink())?;
        let mut padding = [0; BLOCK];
        self.input.read_exact(&mut padding[..self.padding])?;
        self.padding = 0;
        Ok(())
    }
}

/// The content of an entry.
pub(crate) struct Content<'a, R>(&'a mut Reader<R>);

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let reader = &mut *self.0;
        let most = usize::try_from(reader.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        let count = reader.input.read(&mut buffer[..most])?;
        if count == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        reader.left -= count as u64;
        Ok(count)
    }
}

/// What a pax header says about the entry behind it.
#[derive(Default)]
struct Pax {
    is_set: bool,
    path: Option<String>,
    size: Option<u64>,
}

impl Pax {
    fn read(mut records: &[u8]) -> Option<Pax> {
        let mut pax = Pax {
            is_set: true,
            ..Pax::default()
        };
        while !records.is_empty() {
            let digits = records.iter().position(|byte| *byte == b' ')?;
            let length = str::from_utf8(&records[..digits]).ok()?.parse().ok()?;
            let (record, rest) = records.split_at_checked(length)?;
            records = rest;
            let record = str::from_utf8(record.get(digits + 1..)?).ok()?;
            match record.strip_suffix('\n')?.split_once('=')? {
                ("path", path) => pax.path = Some(path.to_owned()),
                ("size", size) => pax.size = Some(size.parse().ok()?),
                // Times, owners and comments of other programs.
                _ => {}
            }
        }
        Some(pax)
    }

    fn apply(self, kind: u8, mut header: Header) -> Result<Header, Fault> {
        if let Some(path) = self.path {
            header.name = path;
        }
        header.size = self.size.unwrap_or(header.size);
        let what = match kind {
            b'0' | 0 => "",
            b'5' => {
                header.is_folder = true;
                header
                    .name
                    .truncate(header.name.trim_end_matches('/').len());
                match header.size {
                    0 => "",
                    _ => "a folder with a content",
                }
            }
            b'1' | b'2' => "a link",
            b'3' | b'4' => "a device",
            b'6' => "a pipe",
            _ => "an entry of another kind than files and folders",
        };
        if what.is_empty() {
            return Ok(header);
        }
        let name = crate::text::printable(&header.name, 200);
        Err(Fault::Wrong(format!(
            "{name:?} in it is {what}, which no backup has"
        )))
    }
}

/// Reads a header; its kind is not in it yet.
fn read_block(block: &[u8; BLOCK]) -> Result<(u8, Header), Fault> {
    let wrong = |why: &str| Fault::Wrong(why.to_owned());
    let is_ustar = block[257..262] == *b"ustar";
    if !is_ustar || octal(&block[148..156]) != Some(checksum(block).into()) {
        return Err(wrong("it is damaged, or not a tar archive"));
    }
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0);
        let text = str::from_utf8(&bytes[..end.unwrap_or(bytes.len())]);
        text.map(str::to_owned)
            .map_err(|_| wrong("a name in it is not Unicode"))
    };
    let (name, prefix) = (text(&block[..100])?, text(&block[345..500])?);
    let header = Header {
        name: if prefix.is_empty() {
            name
        } else {
            format!("{prefix}/{name}")
        },
        is_folder: false,
        is_executable: octal(&block[100..108]).is_some_and(|mode| mode & 0o100 != 0),
        size: octal(&block[124..136]).ok_or_else(|| wrong("a size in it cannot be read"))?,
        modified: octal(&block[136..148]).unwrap_or(0),
    };
    Ok((block[156], header))
}

/// Octal digits between spaces and zero bytes.
fn octal(field: &[u8]) -> Option<u64> {
    let text = str::from_utf8(field).ok()?;
    let digits = text.trim_matches([' ', '\0']);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| u64::from_str_radix(digits, 8).ok())?
}

#[cfg(test)]
mod tests;
