//! The HTTP edge through raw sockets: what it serves, what it refuses, and that nobody can wear it out.

mod harness;
mod limits;
mod refusals;
mod serving;
