//! Programs of the system that are none: scripts on a `PATH` of their own, which write down how they are
//! called.

use crate::support::server::Server;
use crate::support::{TempDir, script, temp_dir};
use std::fs;
use std::path::PathBuf;

/// A place with such programs, and what they leave.
pub struct FakePrograms {
    root: TempDir,
}

impl FakePrograms {
    /// One without any program.
    pub fn new() -> Self {
        let root = temp_dir();
        for folder in ["bin", "more", "tmp", "said"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        FakePrograms { root }
    }

    /// Adds a program. Its script has the usual programs, writes into the folder `$SAID`, and with `say`
    /// its arguments into a file of its own name there, one a line.
    pub fn program(self, name: &str, text: &str) -> Self {
        self.write("bin", name, text)
    }

    /// The same, in a folder that comes later on the `PATH`.
    pub fn later(self, name: &str, text: &str) -> Self {
        self.write("more", name, text)
    }

    fn write(self, folder: &str, name: &str, text: &str) -> Self {
        let path = self.root.path().join(folder).join(name);
        let said = self.said_in();
        let text = format!(
            "#!/bin/sh\nPATH=/usr/bin:/bin\nSAID='{}'\nsay() {{ printf '%s\\n' \"$@\" >>\"$SAID/{name}\"; }}\n{text}\n",
            said.display()
        );
        script(&path, &text);
        self
    }

    /// ImageMagick, which writes down how it is called, keeps what it is given and makes `picture` of it.
    pub fn magick(self, picture: &[u8]) -> Self {
        fs::write(self.said_in().join("picture"), picture).unwrap();
        self.program(
            "magick",
            "[ \"$1\" = -version ] && { echo 'Version: ImageMagick 7.1.1-43 Q16'; exit; }\n\
             say \"$@\"\n\
             if [ \"$1\" = import ]; then for last; do :; done; cp \"$SAID/picture\" \"${last#png:}\"; exit; fi\n\
             cp in.* \"$SAID/in\"; cp \"$SAID/picture\" out.jpeg",
        )
    }

    /// A server that finds these programs and no others, and has no screen.
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

    pub fn said_in(&self) -> PathBuf {
        self.root.path().join("said")
    }

    /// What a program has written down; nothing if it was not called.
    pub fn said(&self, name: &str) -> String {
        fs::read_to_string(self.said_in().join(name)).unwrap_or_default()
    }

    /// Whether anything is in the folder for temporary files.
    pub fn is_tidy(&self) -> bool {
        fs::read_dir(self.root.path().join("tmp")).unwrap().count() == 0
    }
}

/// A PNG of this size, as far as anybody looks who does not decode it.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    png.extend(width.to_be_bytes());
    png.extend(height.to_be_bytes());
    png.extend(b"\x08\x02\0\0\0____\0\0\0\x04IDATdata____\0\0\0\0IEND____");
    png
}

/// The same as JPEG.
pub fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut jpeg = b"\xff\xd8\xff\xc0\0\x11\x08".to_vec();
    jpeg.extend(height.to_be_bytes());
    jpeg.extend(width.to_be_bytes());
    jpeg.extend(b"\x03123456789\xff\xda\0\x02pixels\xff\xd9");
    jpeg
}
