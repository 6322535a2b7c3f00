//! The sign-ins that stand in for a key: a provider takes them if no key is set.

#[cfg(feature = "databricks")]
mod databricks;
#[cfg(feature = "azure")]
mod entra;

use super::CredentialsSpec;

macro_rules! sign_ins {
    ($($feature:literal => $name:ident = $spec:path;)*) => {
        $(
            /// The sign-in of this feature; none in a build without it.
            pub(crate) const $name: Option<&CredentialsSpec> = {
                let specs: &[&CredentialsSpec] = &[
                    #[cfg(feature = $feature)]
                    &$spec,
                ];
                match specs {
                    [] => None,
                    [spec, ..] => Some(*spec),
                }
            };
        )*
    };
}

sign_ins! {
    "azure" => AZURE = entra::SPEC;
    "databricks" => DATABRICKS = databricks::SPEC;
}
