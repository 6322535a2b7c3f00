//! The system that this process runs on: what it is, how much memory it gives, and what it lacks.

use crate::{memory_limit, system_memory};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as kernel;

/// A system of which none of this is known.
#[cfg(not(target_os = "linux"))]
mod kernel {
    pub(super) fn machine() -> Option<String> {
        None
    }

    pub(super) fn missing() -> Vec<&'static str> {
        Vec::new()
    }
}

/// The system that this process runs on. What it does not tell is absent.
#[derive(Clone, Debug)]
pub struct Host {
    /// The processor, as the kernel names it. A 32-bit program may run on a 64-bit kernel.
    pub machine: Option<String>,
    /// The memory of the system in bytes.
    pub memory: Option<u64>,
    /// What this process may have of it at most, in bytes.
    pub memory_limit: Option<u64>,
    /// What gosling does without, because this kernel, or who limits this process, does not give it. Linux only.
    pub missing: Vec<&'static str>,
}

/// Asks the system. For a process with one thread.
pub fn host() -> Host {
    Host {
        machine: kernel::machine(),
        memory: system_memory(),
        memory_limit: Some(memory_limit()).filter(|limit| *limit < u64::MAX),
        missing: kernel::missing(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
