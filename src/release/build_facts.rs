//! What the build script of this crate found out.

/// A crate that was compiled for this build.
pub(crate) struct Crate {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// SHA-256 of its package, from `Cargo.lock`; `None` for gosling's own.
    pub(crate) sha256: Option<&'static str>,
}

include!(concat!(env!("OUT_DIR"), "/build_facts.rs"));
