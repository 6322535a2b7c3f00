//! gosling: a synchronous server that speaks Goose's HTTP API and runs MCP extensions.
//!
//! Comments cite what Goose's clients require as `CORE §7.4`, `SERVER §5.1` or `GUIDE §6`; `manual::contract`
//! explains these.
//!
//! What a request passes, the modules, the members and the threads follow; `architecture.md` beside this file has the
//! text.
//!
#![doc = include_str!("architecture.md")]
#![doc = include_str!("manual/embedding.md")]
#![forbid(unsafe_code)]

pub mod parts;

pub use gosling_core::{agent, conversation, http, mcp, provider};

/// The routes of Goose's API.
pub mod api {
    pub use gosling_core::api::router;
    #[doc(hidden)]
    pub use gosling_core::api::*;
}

/// Where the files of a server are.
pub mod store {
    pub use gosling_core::store::Paths;
    #[doc(hidden)]
    pub use gosling_core::store::*;
}

/// The token that ends work early, and what a program does that starts children.
pub mod sys {
    #[doc(hidden)]
    pub use gosling_core::sys::*;
    pub use gosling_core::sys::{cancel, guardian, protect_memory, take_variable};
}

/// Offers the members and modules of those features that are in this build.
macro_rules! offer {
    ($($feature:literal => $($module:ident)::+ as $name:ident,)*) => {
        $(
            #[cfg(feature = $feature)]
            pub use $($module)::+ as $name;
        )*
    };
}

offer! {
    "embedding" => gosling_embedding as embedding,
}

/// What the program, its tests and the members of gosling share. It may change with each version.
pub mod unversioned {
    #[cfg(not(feature = "builtin"))]
    pub use gosling_core::builtin;
    pub use gosling_core::{api, command_line, extension, features, part, store, sys, text};

    offer! {
        "acp" => gosling_acp as acp,
        "builtin" => gosling_builtin as builtin,
        "check" => gosling_check as check,
        "deeplinks" => gosling_deeplink as deeplink,
        "keys" => gosling_keys as keys,
        "openai" => gosling_providers as providers,
        "openai" => gosling_providers::outbound as outbound,
        "pinning" => gosling_pinning as pinning,
        "policy" => gosling_policy as policy,
        "recipes" => gosling_recipes::recipe as recipe,
        "recipes" => gosling_recipes::recipe_run as recipe_run,
        "schedules" => gosling_recipes::schedule as schedule,
        "screening" => gosling_screening as screening,
        "search" => gosling_search as search,
        "tls" => gosling_core::tls as tls,
    }
}

// The program and its tests name it without the module.
#[doc(hidden)]
pub use unversioned::*;

#[doc(hidden)]
pub mod cmd;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "manual")]
pub mod manual;
