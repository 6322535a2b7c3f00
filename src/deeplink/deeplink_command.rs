//! `gosling deeplink`: what a `goose://` link would do, and the installation of its extension.

use crate::agent::{Stores, session_recipes};
use crate::command_line::{Command, Failure, failed, paths, print};
use crate::text::printable;
use crate::{
    ExtensionLink, Installation, Installer, Judged, Judgement, Link, LinkTransport, MAX_LINK,
};
use gosling_core::part;
use gosling_shared::{missing, quoted, words};
use std::fmt::Write;
use std::io::{self, Read};

pub(crate) const COMMAND: Command = Command {
    name: "deeplink",
    summary: "say what a goose:// link would install, and install it",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling deeplink LINK [--json] [--install [--yes]]
example: gosling deeplink 'goose://extension?name=Time&cmd=uvx&arg=mcp-server-time'

Prints what a goose:// link would do. LINK may be - to read it from stdin. See
`gosling help deeplinks`.

options:
  --install    add the extension of the link to the configuration; it is
               disabled while its secrets are not set
  --yes        with --install: also what needs a confirmation
  --json       print one JSON object
  -h, --help   show this

exit codes: 0 allowed or to be confirmed, or installed; 1 blocked, invalid or
not installed, 2 the command line makes no sense
";

/// The longest text of a link that is printed, in characters.
const WIDTH: usize = 2_000;

struct Options {
    json: bool,
    install: bool,
    yes: bool,
}

fn run(parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut words, [json, install, yes]) = words(parser, 1, ["json", "install", "yes"])?;
    let options = Options { json, install, yes };
    let link = words.pop().ok_or_else(|| missing("LINK"))?;
    if options.yes && !options.install {
        return Err(Failure::Usage("--yes belongs to --install".to_owned()));
    }
    let link = if link == "-" { from_stdin()? } else { link };
    match Link::parse(&link) {
        Ok(Link::Extension(link)) => extension(&link, &options),
        Ok(other) => opens(&other, &options),
        Err(error) => report(None, &error.into(), &options),
    }
}

fn from_stdin() -> Result<String, Failure> {
    let mut link = String::new();
    let mut limited = io::stdin().lock().take(MAX_LINK as u64 + 1_000);
    let read = limited.read_to_string(&mut link);
    read.map_err(failed("cannot read the link from stdin"))?;
    Ok(link)
}

/// What a link to a recipe or a session does. Clients open these.
fn opens(link: &Link, options: &Options) -> Result<(), Failure> {
    if options.install {
        let reason = "this link names no extension, so there is nothing to install";
        return Err(Failure::Failed(reason.to_owned()));
    }
    let what = match link {
        Link::Recipe { config, .. } => {
            let recipe = session_recipes::of_program().and_then(|it| it.read_link(config));
            let recipe = recipe.map_err(failed("the link has no valid recipe"))?;
            let title = printable(recipe.title(), WIDTH);
            format!("opens the recipe {title:?} in a client")
        }
        _ => "opens a shared session in a client".to_owned(),
    };
    if options.json {
        let object = serde_json::json!({
            "judgement": null, "class": null, "reasons": [what], "needs_configuration": [], "config": null,
        });
        return print(&format!("{object}\n"));
    }
    print(&format!("{what}\n"))
}

fn extension(link: &ExtensionLink, options: &Options) -> Result<(), Failure> {
    let unreadable = "cannot read the configuration";
    let paths = paths()?;
    let stores = Stores::new(&paths);
    let catalog = part::catalog(&stores, true);
    let installer = Installer {
        config: &stores.config,
        secrets: &stores.secrets,
        catalog: &*catalog,
        screening: gosling_screening::Settings::read(&stores.config, &paths, false),
    };
    let judged = installer.classify(link).map_err(failed(unreadable))?;
    report(Some(link), &judged, options)?;
    if !options.install {
        return Ok(());
    }
    let installed = installer.install(&judged, options.yes);
    let installed = installed.map_err(failed("the extension was not installed"))?;
    let said = match installed {
        Installation::Added { enabled: true } => "installed",
        Installation::Added { enabled: false } => {
            "installed, but disabled: set what is missing, then enable it"
        }
        Installation::Exists => {
            let reason = "an extension of this name is configured, and stays as it is";
            return Err(Failure::Failed(reason.to_owned()));
        }
        Installation::Refused => {
            let reason = "not installed: read the reasons, then repeat it with --yes";
            return Err(Failure::Failed(reason.to_owned()));
        }
    };
    if options.json {
        return Ok(());
    }
    print(&format!("{said}\n"))
}

/// Prints the judgement. Errs if the extension may not be installed.
fn report(link: Option<&ExtensionLink>, judged: &Judged, options: &Options) -> Result<(), Failure> {
    if options.json {
        let object = crate::json::to_value(judged).unwrap_or_default();
        print(&format!("{object}\n"))?;
    } else {
        print(&in_words(link, judged))?;
    }
    match judged.judgement {
        Judgement::Allowed | Judgement::ConfirmRequired => Ok(()),
        Judgement::Blocked | Judgement::InvalidPayload => Err(Failure::Reported),
    }
}

fn in_words(link: Option<&ExtensionLink>, judged: &Judged) -> String {
    let shown = |text: &str| printable(text, WIDTH);
    let mut words = match judged.judgement {
        Judgement::Allowed => "allowed\n",
        Judgement::ConfirmRequired => "to be confirmed\n",
        Judgement::Blocked => "blocked\n",
        Judgement::InvalidPayload => "invalid\n",
    }
    .to_owned();
    let mut line = |what: &str, text: &str| {
        if !text.is_empty() {
            let _ = writeln!(words, "  {what}: {text}");
        }
    };
    if let Some(link) = link {
        line("name", &shown(&link.name));
        match &link.transport {
            LinkTransport::Stdio { cmd, args } => {
                let args: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
                line(
                    "starts",
                    shown(&format!("{cmd} {}", args.join(" "))).trim_end(),
                );
            }
            LinkTransport::StreamableHttp { url, headers } => {
                let names = headers.iter().map(|(name, _)| name.as_str());
                let names = shown(&names.collect::<Vec<_>>().join(", "));
                let with = if names.is_empty() {
                    ""
                } else {
                    ", with the headers "
                };
                line("connects to", &format!("{}{with}{names}", shown(url)));
            }
        }
        line("gets the secrets", &shown(&link.env.join(", ")));
        line("description", &shown(&link.description));
        let notes = link.installation_notes.as_deref().unwrap_or_default();
        line("to do", &shown(notes));
    }
    let missing = judged.needs_configuration.join(", ");
    for reason in &judged.reasons {
        let _ = writeln!(words, "  - {}", shown(reason));
    }
    if !missing.is_empty() {
        let _ = writeln!(words, "  not set yet: {}", shown(&missing));
    }
    words
}
