//! The vendors with a wire protocol of their own.

use crate::features;
use crate::provider_spec::ProviderSpec;
use crate::wire_protocol::WireProtocol;
use crate::{Error, ErrorClass, openai};

macro_rules! vendors {
    ($($feature:literal => $module:ident,)*) => {
        /// The vendors of the wire protocols of this build, in the order in which clients show them.
        pub(crate) static VENDORS: &[&ProviderSpec] = &[
            &openai::VENDOR,
            $(
                #[cfg(feature = $feature)]
                &crate::$module::VENDOR,
            )*
        ];
    };
}

vendors! {
    "anthropic" => anthropic,
    "ollama" => ollama,
    "google" => google,
    "bedrock" => bedrock,
    "vertex" => vertex,
    "copilot" => copilot,
}

/// The wire protocol of this name.
///
/// # Errors
/// [`ErrorClass::Config`] when the build leaves it out.
pub(super) fn protocol_named(name: &str) -> Result<&'static WireProtocol, Error> {
    // A file has no credentials but a key.
    let keyed = VENDORS.iter().filter(|vendor| vendor.credentials.is_none());
    let keyed = keyed.map(|vendor| vendor.protocol);
    let mut protocols = keyed.chain([&openai::RESPONSES_PROTOCOL]);
    let found = protocols.find(|protocol| protocol.name == name);
    found.ok_or_else(|| {
        let hint = features::hint(name);
        let reason = format!("the protocol `{name}` is not available{hint}");
        Error::new(ErrorClass::Config, reason)
    })
}
