//! Walls around a child, which it cannot leave and its own children inherit: Landlock for files, ports and signals,
//! seccomp for system calls, a view of the mounts in which the rest is read-only, and fewer capabilities. Linux on x86-64 and 64-bit ARM; elsewhere there are none.
#![allow(unsafe_code)]

use crate::child_command::Confinement;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
use linux as kernel;

/// A system that offers nothing.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod kernel {
    use super::{Confinement, Offer, Plan, io};

    pub(super) fn offer() -> Offer {
        Offer::default()
    }

    pub(super) fn build(_: &Plan) -> io::Result<Box<dyn Confinement>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What this kernel offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The version of Landlock's interface; 0 without Landlock.
    pub landlock: u32,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether a child can have its own view of the mounts, in which the rest is read-only.
    pub mounts: Option<Mounts>,
}

/// What a child needs for its own view of the mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mounts {
    /// A namespace of mounts; this process may make one.
    Own,
    /// A namespace of users as well, in which files of others have an owner that is not known.
    WithUsers,
}

/// What a child may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Files and folders, with all below, that it may read and run. Here and below, missing ones are skipped, and no
    /// part of a path may be a symbolic link.
    pub read: Vec<PathBuf>,
    /// Folders in which, and below which, it may list the names.
    pub list: Vec<PathBuf>,
    /// Files and folders that it may change as well.
    pub write: Vec<PathBuf>,
    /// Devices that it may use.
    pub devices: Vec<PathBuf>,
    /// Its network.
    pub network: Network,
    /// Whether it has no capability at all, and may not look into its own children.
    pub strict: bool,
}

/// The network of a child. It never gets Unix sockets, other than pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// TCP and UDP.
    #[default]
    Open,
    /// TCP connections to these ports, and UDP, or neither.
    Only {
        /// The ports.
        ports: Vec<u16>,
        /// Whether UDP is allowed, to any port.
        udp: bool,
    },
}

/// What this kernel offers to this process. Asks it once.
pub fn offer() -> Offer {
    static OFFER: OnceLock<Offer> = OnceLock::new();
    *OFFER.get_or_init(kernel::offer)
}

/// Builds the walls that this plan describes.
///
/// # Errors
/// The kernel offers less than it takes, or the system has no descriptors left.
pub fn build(plan: &Plan) -> io::Result<Box<dyn Confinement>> {
    kernel::build(plan)
}
