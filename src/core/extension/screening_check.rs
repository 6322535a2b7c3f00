//! Screening: whether the command line of an extension may start. A part decides that; a build without it starts
//! nothing that a setting wants screened.

use super::{Error, ExtensionConfig};
use crate::features;
use crate::store::settings::{self, Setting};
use crate::store::{Config, Paths};
use crate::sys::cancel::Cancel;
use serde::Serialize;
use std::sync::Arc;

/// Creates the screener of a part, with the settings of the user.
pub type CreateScreener = fn(&Config, &Paths, offline: bool) -> Arc<dyn Screener>;

/// Decides about command lines, with the settings that it was created with.
pub trait Screener: Send + Sync {
    /// Whether this command line may start with variables of these names; `None` if there is nothing to decide about
    /// it.
    fn screen(
        &self,
        cmd: &str,
        args: &[String],
        variables: &[&str],
        cancel: &Cancel,
    ) -> Option<Decision>;

    /// Logs the decision about the extension with this key.
    fn log(&self, decision: &Decision, extension: &str);
}

/// The screening of command lines before they start. The default screens nothing.
#[derive(Clone, Default)]
pub struct Screening {
    pub(super) screener: Option<Arc<dyn Screener>>,
    /// A setting wants it, and the build has none.
    pub(super) is_missing: bool,
}

impl Screening {
    /// What the screening says of the command line of an extension; `None` if there is nothing to decide about it, or
    /// the build has no screening.
    pub fn decide(
        &self,
        config: &ExtensionConfig,
        (cmd, args): (&str, &[String]),
        cancel: &Cancel,
    ) -> Option<Decision> {
        let screener = self.screener.as_ref()?;
        let variables: Vec<&str> = config.variables().collect();
        screener.screen(cmd, args, &variables, cancel)
    }

    /// Checks a command line before it starts.
    ///
    /// # Errors
    /// It may not start.
    pub(super) fn check(
        &self,
        config: &ExtensionConfig,
        line: (&str, &[String]),
        cancel: &Cancel,
    ) -> Result<Option<Decision>, Error> {
        if self.is_missing {
            // Nothing starts unscreened that the settings want screened.
            let hint = features::hint("screening");
            let reason = format!("packages cannot be screened, which a setting wants{hint}");
            return Err(Error::forbidden(config.name(), reason));
        }
        let Some(decision) = self.decide(config, line, cancel) else {
            return Ok(None);
        };
        if let Some(screener) = &self.screener {
            screener.log(&decision, &config.key());
        }
        if decision.decision == Outcome::Refused {
            return Err(Error::screened(config.name(), decision));
        }
        Ok(Some(decision))
    }
}

/// Whether the user wants more than warnings about look-alikes.
pub(super) fn is_wanted(config: &Config) -> bool {
    let mut fault = None;
    let mut text = |setting: &Setting<'_>| setting.text_or_fault(config, &mut fault);
    let is_set = [
        text(&settings::ADVISORIES),
        text(&settings::OSV_ENDPOINT),
        text(&settings::ALLOWLIST),
    ];
    is_set.iter().any(Option::is_some)
        || settings::SCREENING.word(config) == "strict"
        || fault.is_some()
}

/// Whether a command line may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It may.
    #[default]
    Allowed,
    /// It may, but the user should read the reasons; a link needs a confirmation.
    Warned,
    /// It may not.
    Refused,
}

/// What the screening found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Whether the command line may start.
    pub decision: Outcome,
    /// The packages that it installs.
    pub packages: Vec<String>,
    /// Why it was warned of or refused, one sentence each.
    pub reasons: Vec<String>,
}

impl Decision {
    /// The reasons as one text.
    pub fn reason(&self) -> String {
        self.reasons.join("; ")
    }
}
