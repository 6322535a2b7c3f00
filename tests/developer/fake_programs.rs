//! Fakes of helper programs: scripts on their own `PATH` that record their calls.

use crate::support::server::Server;
use crate::support::system::script;
use crate::support::{TempDir, temp_dir};
use std::fs;
use std::path::PathBuf;

/// A folder with fake programs and their records.
pub struct FakePrograms {
    root: TempDir,
}

impl FakePrograms {
    /// Creates it without any program.
    pub fn new() -> Self {
        let root = temp_dir();
        for folder in ["bin", "more", "tmp", "said"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        FakePrograms { root }
    }

    /// Adds a program. Its script can run the usual programs, write to the folder `$SAID`, and call `say`,
    /// which writes each argument as a line to the file of the program's name there.
    pub fn program(self, name: &str, text: &str) -> Self {
        self.write("bin", name, text)
    }

    /// The same, in a folder that is later on the `PATH`.
    pub fn later(self, name: &str, text: &str) -> Self {
        self.write("more", name, text)
    }

    fn write(self, folder: &str, name: &str, text: &str) -> Self {
        let path = self.root.path().join(folder).join(name);
        let said = self.record_folder();
        let text = format!(
            "#!/bin/sh\nPATH=/usr/bin:/bin\nSAID='{}'\nsay() {{ printf '%s\\n' \"$@\" >>\"$SAID/{name}\"; }}\n{text}\n",
            said.display()
        );
        script(&path, &text);
        self
    }

    /// Adds ImageMagick, which records its arguments, keeps its input and writes `picture` as its output.
    pub fn magick(self, picture: &[u8]) -> Self {
        fs::write(self.record_folder().join("picture"), picture).unwrap();
        self.program(
            "magick",
            "[ \"$1\" = -version ] && { echo 'Version: ImageMagick 7.1.1-43 Q16'; exit; }\n\
             say \"$@\"\n\
             if [ \"$1\" = import ]; then for last; do :; done; cp \"$SAID/picture\" \"${last#png:}\"; exit; fi\n\
             cp in.* \"$SAID/in\"; cp \"$SAID/picture\" out.jpeg",
        )
    }

    /// A server that finds only these programs, and has no screen.
    pub fn server(&self) -> Server {
        let path = |folder: &str| self.root.path().join(folder).display().to_string();
        script(&self.root.path().join("silent"), "#!/bin/sh\n");
        let mut server = Server::new()
            .env("PATH", &format!("{}:{}", path("bin"), path("more")))
            .env("SHELL", &path("silent"))
            .env("TMPDIR", &path("tmp"));
        for name in [
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "SWAYSOCK",
            "HYPRLAND_INSTANCE_SIGNATURE",
        ] {
            server = server.env(name, "");
        }
        server
    }

    pub fn record_folder(&self) -> PathBuf {
        self.root.path().join("said")
    }

    /// What a program has recorded; empty if it was not called.
    pub fn recorded(&self, name: &str) -> String {
        fs::read_to_string(self.record_folder().join(name)).unwrap_or_default()
    }

    /// Whether the folder for temporary files is empty.
    pub fn is_tidy(&self) -> bool {
        fs::read_dir(self.root.path().join("tmp")).unwrap().count() == 0
    }
}

/// The header of a PNG of this size, and chunks without pixels.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    png.extend(width.to_be_bytes());
    png.extend(height.to_be_bytes());
    png.extend(b"\x08\x02\0\0\0____\0\0\0\x04IDATdata____\0\0\0\0IEND____");
    png
}

/// The same for JPEG.
pub fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut jpeg = b"\xff\xd8\xff\xc0\0\x11\x08".to_vec();
    jpeg.extend(height.to_be_bytes());
    jpeg.extend(width.to_be_bytes());
    jpeg.extend(b"\x03123456789\xff\xda\0\x02pixels\xff\xd9");
    jpeg
}
