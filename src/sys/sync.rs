//! The locks and the clock of what is model-checked: std's, unless the crate is built with
//! `--cfg model`. Then they are those of `loom`, which runs a test once for every order in which its
//! threads can take turns, and finds the order in which they wait for each other for ever. The tests
//! of that kind are in files named `loom_tests.rs`, next to what they check; `.ci/run` says how to run them.

#[cfg(not(model))]
pub(crate) use super::lock;
#[cfg(not(model))]
pub(crate) use std::{
    sync::{Condvar, Mutex, atomic},
    time::Instant as Clock,
};

#[cfg(model)]
mod loom_shim;
#[cfg(model)]
pub(crate) use loom_shim::{Clock, Condvar, Mutex, atomic, lock};
#[cfg(all(test, model))]
pub(crate) use loom_shim::{advance, check};
