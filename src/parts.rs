//! The parts of this build, in the order in which they are asked. What a part adds, it says itself, see
//! [`Part`].

use gosling_core::part::Part;

/// Every part that the features of this build contain.
pub const PARTS: &[&Part] = &[
    #[cfg(feature = "acp")]
    &gosling_acp::PART,
    #[cfg(feature = "builtin")]
    &gosling_builtin::PART,
    #[cfg(feature = "chat")]
    &gosling_chat::PART,
    #[cfg(feature = "check")]
    &gosling_check::PART,
    #[cfg(feature = "containers")]
    &gosling_containers::PART,
    #[cfg(feature = "deeplinks")]
    &gosling_deeplink::PART,
    #[cfg(feature = "demo")]
    &gosling_builtin::demo_server::PART,
    #[cfg(feature = "desktop")]
    &gosling_desktop::PART,
    #[cfg(feature = "developer")]
    &gosling_builtin::developer::PART,
    #[cfg(feature = "inline-python")]
    &gosling_inline_python::PART,
    #[cfg(feature = "manual")]
    &crate::manual::PART,
    #[cfg(feature = "memory")]
    &gosling_builtin::memory::PART,
    #[cfg(feature = "metrics")]
    &gosling_metrics::PART,
    #[cfg(feature = "pinning")]
    &gosling_pinning::PART,
    #[cfg(feature = "recipes")]
    &gosling_recipes::PART,
    #[cfg(feature = "schedules")]
    &gosling_recipes::schedule::PART,
    #[cfg(feature = "screening")]
    &gosling_screening::PART,
    #[cfg(feature = "session-events")]
    &gosling_session_events::PART,
    #[cfg(feature = "todo")]
    &gosling_builtin::todo::PART,
];
