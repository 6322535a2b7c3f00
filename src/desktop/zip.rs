//! Writes ZIP archives whose files are not compressed (APPNOTE.TXT 6.3, sections 4.3 and 4.4).

use std::io::{self, Write};

/// The bit of a UTF-8 name, section 4.4.4.
const UTF8_NAME: u16 = 1 << 11;

/// The version needed to extract: 1.0, section 4.4.3.2.
const VERSION: u16 = 10;

/// The version made by: 2.0, with the file attributes of Unix.
const MADE_BY: u16 = (3 << 8) | 20;

/// A regular file that only its owner reads and writes, as Unix keeps it in the upper half.
const ATTRIBUTES: u32 = 0o100_600 << 16;

/// Writes an archive to `out` as its files are added, with the memory of their names only.
pub(crate) struct ZipWriter<'a> {
    out: &'a mut dyn Write,
    /// How many bytes were written.
    offset: u64,
    time: DosTime,
    /// The central directory so far, section 4.3.12.
    directory: Vec<u8>,
    count: u16,
}

/// A time in the form of MS-DOS, section 4.4.6.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DosTime {
    date: u16,
    time: u16,
}

impl DosTime {
    /// The time of a text like `2026-11-21T22:16:27Z`; the start of 1980 for another text.
    pub(crate) fn parse(text: &str) -> Self {
        let part = |from: usize| -> Option<u16> {
            let end = if from == 0 { 4 } else { from + 2 };
            text.get(from..end)?.parse().ok()
        };
        let parts = [0, 5, 8, 11, 14, 17].map(part);
        let [
            Some(year @ 1980..=2107),
            Some(month),
            Some(day),
            Some(hour),
            Some(min),
            Some(sec),
        ] = parts
        else {
            return DosTime {
                date: (1 << 5) | 1,
                time: 0,
            };
        };
        DosTime {
            date: ((year - 1980) << 9) | ((month & 15) << 5) | (day & 31),
            time: ((hour & 31) << 11) | ((min & 63) << 5) | ((sec & 63) / 2),
        }
    }
}

impl<'a> ZipWriter<'a> {
    /// An archive whose files were last changed at `time`.
    pub(crate) fn new(out: &'a mut dyn Write, time: DosTime) -> Self {
        ZipWriter {
            out,
            offset: 0,
            time,
            directory: Vec::new(),
            count: 0,
        }
    }

    /// Adds a file. `content` writes it, and runs twice, because its size and checksum come first.
    ///
    /// # Errors
    /// Those of `out` and `content`, and when the two runs differ, or the archive would need the extension for
    /// large ones. The archive cannot be completed then.
    pub(crate) fn add(
        &mut self,
        name: &str,
        content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut measured = Checked::new(None);
        content(&mut measured)?;
        let (size, crc) = (small(measured.size)?, measured.crc());
        let offset = small(self.offset)?;
        let length = u16::try_from(name.len()).map_err(|_| too_large())?;
        self.count = self.count.checked_add(1).ok_or_else(too_large)?;
        let mut common = Vec::new();
        push16(
            &mut common,
            &[VERSION, UTF8_NAME, 0, self.time.time, self.time.date],
        );
        push32(&mut common, &[crc, size, size]);
        push16(&mut common, &[length, 0]);

        let mut header = b"PK\x03\x04".to_vec();
        header.extend_from_slice(&common);
        header.extend_from_slice(name.as_bytes());
        self.out.write_all(&header)?;
        let mut written = Checked::new(Some(&mut *self.out));
        content(&mut written)?;
        if (written.size, written.crc()) != (u64::from(size), crc) {
            return Err(io::Error::other("a file changed while it was packed"));
        }
        self.offset += header.len() as u64 + u64::from(size);

        self.directory.extend_from_slice(b"PK\x01\x02");
        push16(&mut self.directory, &[MADE_BY]);
        self.directory.extend_from_slice(&common);
        // No comment, first disk, no internal attributes.
        push16(&mut self.directory, &[0, 0, 0]);
        push32(&mut self.directory, &[ATTRIBUTES, offset]);
        self.directory.extend_from_slice(name.as_bytes());
        Ok(())
    }

    /// Writes the directory, which completes the archive.
    ///
    /// # Errors
    /// As [`ZipWriter::add`].
    pub(crate) fn finish(self) -> io::Result<()> {
        let size = small(self.directory.len() as u64)?;
        let mut end = self.directory;
        end.extend_from_slice(b"PK\x05\x06");
        push16(&mut end, &[0, 0, self.count, self.count]);
        push32(&mut end, &[size, small(self.offset)?]);
        push16(&mut end, &[0]);
        self.out.write_all(&end)
    }
}

/// A size or offset without the ZIP64 extension.
fn small(size: u64) -> io::Result<u32> {
    let size = u32::try_from(size).ok().filter(|size| *size < u32::MAX);
    size.ok_or_else(too_large)
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "the archive is too large")
}

fn push16(out: &mut Vec<u8>, values: &[u16]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn push32(out: &mut Vec<u8>, values: &[u32]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Counts and checks what passes, section 4.4.7.
struct Checked<'a> {
    out: Option<&'a mut dyn Write>,
    size: u64,
    inverted_crc: u32,
}

impl<'a> Checked<'a> {
    fn new(out: Option<&'a mut dyn Write>) -> Self {
        Checked {
            out,
            size: 0,
            inverted_crc: u32::MAX,
        }
    }

    fn crc(&self) -> u32 {
        !self.inverted_crc
    }
}

impl Write for Checked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(out) = &mut self.out {
            out.write_all(bytes)?;
        }
        for byte in bytes {
            let index = (self.inverted_crc ^ u32::from(*byte)) & 0xff;
            self.inverted_crc = CRC_TABLE[index as usize] ^ (self.inverted_crc >> 8);
        }
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The CRC-32 of each byte, for the reversed polynomial of section 4.4.7.
const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests;
