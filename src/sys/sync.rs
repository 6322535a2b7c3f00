//! The locks and the clock of the code that is model-checked: those of std, or, if the crate is built with
//! `--cfg model`, those of `loom`. loom runs a test once for every order in which its threads can run, and so
//! finds deadlocks. Its tests are in files named `loom_tests.rs`, next to the code that they check; `.ci/run`
//! says how to run them.

#[cfg(not(model))]
pub use super::lock;
#[cfg(not(model))]
pub use std::{
    sync::{Condvar, Mutex, atomic},
    time::Instant as Clock,
};

#[cfg(model)]
mod loom_shim;
#[cfg(model)]
pub use loom_shim::{Clock, Condvar, Mutex, advance, atomic, check, lock};
