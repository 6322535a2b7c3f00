//! What only some need to know of sockets.

/// Whether a shutdown by the standard library ends a read that waits in another thread, as `net::shutdown` does on
/// every system.
pub const STD_SHUTDOWN_ENDS_READS: bool = cfg!(not(windows));
