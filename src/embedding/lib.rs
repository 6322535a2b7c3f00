//! What a program that embeds gosling may bring along instead of files and a front: a store of sessions, and a user who
//! is asked by calls.
//!
//! - `storage` has the trait of a store, [`Storage`], and [`Memory`]; `storage_disk` keeps sessions in one.
//! - `user` has the trait [`User`], whose type answers the questions of sessions.
#![forbid(unsafe_code)]

mod storage;
mod storage_disk;
mod user;

use gosling_core::part::Part;
use gosling_core::{agent, conversation, store, sys};

pub use storage::{Memory, Storage};
pub use storage_disk::sessions;
pub use user::{Approval, Elicitation, User, UserHandle, ask};

/// What embedding adds to gosling: nothing that commands or clients see.
pub const PART: Part = Part::new("embedding");
