//! A signal of this process to itself.

/// Lets this process end as if the system told it to.
pub fn terminate_self() {
    crate::windows::terminate_self();
}
