//! What is typed at the terminal of stdin, without being shown.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};

/// Whether the process belongs to a terminal, which tells it when it is closed.
pub fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// While it exists, the terminal of stdin shows nothing of what is typed.
pub struct HiddenInput {
    terminal: RawFd,
    before: libc::termios,
}

impl HiddenInput {
    /// Hides what is typed from now on; `None` if stdin is no terminal.
    pub fn begin() -> Option<Self> {
        let terminal = io::stdin().as_raw_fd();
        let mut settings = MaybeUninit::uninit();
        // SAFETY: the call writes the settings, or fails.
        let before = unsafe {
            if libc::tcgetattr(terminal, settings.as_mut_ptr()) != 0 {
                return None;
            }
            settings.assume_init()
        };
        let hidden = HiddenInput { terminal, before };
        let mut settings = before;
        settings.c_lflag &= !libc::ECHO;
        settings.c_lflag |= libc::ECHONL;
        hidden.set(&settings).then_some(hidden)
    }

    fn set(&self, settings: &libc::termios) -> bool {
        // SAFETY: the settings are those of this terminal, with other flags.
        unsafe { libc::tcsetattr(self.terminal, libc::TCSANOW, settings) == 0 }
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        self.set(&self.before);
    }
}
