//! What the build script of this crate found out.

/// A crate that was compiled for this build.
pub(crate) struct Crate {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// SHA-256 of its package, from `Cargo.lock`; `None` if it is not from a registry.
    pub(crate) sha256: Option<&'static str>,
    /// Whether it is a member of gosling's workspace.
    pub(crate) is_own: bool,
}

include!(concat!(env!("OUT_DIR"), "/build_facts.rs"));
