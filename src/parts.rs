//! The parts of this build, in the order in which they are asked. What a part adds, it says itself, see
//! [`Part`].

use gosling_core::part::Part;

/// The features and what each contains, of those that are in this build.
macro_rules! parts {
    ($($feature:literal => $part:path,)*) => {
        /// Every part that the features of this build contain.
        pub const PARTS: &[&Part] = &[$(
            #[cfg(feature = $feature)]
            &$part,
        )*];
    };
}

parts! {
    "acp" => gosling_acp::PART,
    "audit" => gosling_audit::PART,
    "backup" => gosling_backup::PART,
    "builtin" => gosling_builtin::PART,
    "chat" => gosling_chat::PART,
    "check" => gosling_check::PART,
    "console" => gosling_console::PART,
    "containers" => gosling_containers::PART,
    "deeplinks" => gosling_deeplink::PART,
    "demo" => gosling_builtin::demo_server::PART,
    "desktop" => gosling_desktop::PART,
    "developer" => gosling_builtin::developer::PART,
    "embedding" => gosling_embedding::PART,
    "info" => gosling_info::PART,
    "inline-python" => gosling_inline_python::PART,
    "keys" => gosling_keys::PART,
    "manual" => crate::manual::PART,
    "memory" => gosling_builtin::memory::PART,
    "metrics" => gosling_metrics::PART,
    "openai" => gosling_providers::PART,
    "pinning" => gosling_pinning::PART,
    "policy" => gosling_policy::PART,
    "recipes" => gosling_recipes::PART,
    "release" => gosling_release::PART,
    "sandbox" => gosling_sandbox::PART,
    "schedules" => gosling_recipes::schedule::PART,
    "screening" => gosling_screening::PART,
    "scripted" => gosling_core::provider::scripted::PART,
    "search" => gosling_search::PART,
    "service" => gosling_service::PART,
    "session-events" => gosling_session_events::PART,
    "tls" => gosling_core::tls::PART,
    "todo" => gosling_builtin::todo::PART,
}
