//! What requests pass first, for the part that knows what stands before this server.

use super::{Error, Head};
use crate::activity::Caller;
use std::fmt::Debug;

/// Is told, in the thread of the caller, that a response has ended: its status, 0 if there was none, and how many bytes
/// were sent.
pub type AtEnd = Box<dyn FnOnce(u16, u64)>;

/// What requests pass first. Its methods return soon.
pub trait Ingress: Debug + Send + Sync {
    /// Says who asks, of whom the address of the connection is known, and changes the head, if it was valid. Also
    /// returns why the request is refused, if it is.
    fn arrives(&self, caller: &mut Caller, head: Option<&mut Head>) -> (AtEnd, Option<Error>);
}
