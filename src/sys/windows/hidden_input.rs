//! What is typed at the console of stdin, without being shown.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::OpenOptions;
use std::io;
use std::os::windows::io::{AsRawHandle, RawHandle};

/// `ENABLE_ECHO_INPUT`.
const ECHO: u32 = 4;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetConsoleMode(console: *mut c_void, mode: *mut u32) -> i32;
    fn SetConsoleMode(console: *mut c_void, mode: u32) -> i32;
}

/// Whether the process belongs to a console, which tells it when it is closed.
pub fn has_terminal() -> bool {
    OpenOptions::new().read(true).open("CONIN$").is_ok()
}

/// While it exists, the console of stdin shows nothing of what is typed.
pub struct HiddenInput {
    console: RawHandle,
    before: u32,
}

impl HiddenInput {
    /// Hides what is typed from now on; `None` if stdin is no console.
    pub fn begin() -> Option<Self> {
        let console = io::stdin().as_raw_handle();
        let mut before = 0;
        // SAFETY: stdin stays open, or the call fails; a place for the mode.
        if unsafe { GetConsoleMode(console, &raw mut before) } == 0 {
            return None;
        }
        let hidden = HiddenInput { console, before };
        hidden.set(before & !ECHO).then_some(hidden)
    }

    fn set(&self, mode: u32) -> bool {
        // SAFETY: the mode is that of this console, with another flag.
        unsafe { SetConsoleMode(self.console, mode) != 0 }
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        self.set(self.before);
    }
}
