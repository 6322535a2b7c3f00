//! The HTTP server through raw sockets: what it serves and refuses, and that clients cannot exhaust it.

mod harness;
mod limits;
mod refusals;
mod serving;
