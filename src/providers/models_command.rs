//! `gosling models`: the table of models.

use crate::catalog::litellm_table::parse_any;
use crate::catalog::model_table::{MAX_TABLE, Model, ModelTable};
use crate::catalog::{ProviderCatalog, replace_table, today};
use crate::outbound::{Fetch, is_loopback_url};
use gosling_core::command_line::{Command, Failure, failed, logging, paths, print, text};
use gosling_core::provider::Catalog;
use gosling_core::store::{Config, Secrets, files};
use gosling_core::sys::cancel::Cancel;
use gosling_core::text::printable;
use gosling_shared::without_advice;
use lexopt::prelude::*;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(super) const COMMAND: Command = Command {
    name: "models",
    summary: "list the known models with limits and prices, or renew the list",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling models [PROVIDER] [--json]
       gosling models update FILE|URL [--offline]
       gosling models login PROVIDER
example: gosling models anthropic
example: gosling models update model_prices_and_context_window.json

Lists the models that gosling knows, of one provider or of all, with the date
and the source of the list; see `gosling help models`.

subcommands:
  update   check a list and use it instead, if it is newer than the one in the
           program: a list of gosling, or LiteLLM's
           model_prices_and_context_window.json
  login    sign in to a provider in a browser, and store the secret

columns: name, window and output limit in tokens, protocol, what it can do (t
tools, i images, r reasoning), US dollars for a million tokens (input, output,
cache read, cache write), date from which on it does not answer

options:
  --json       as a list for `update`, in JSON
  --offline    refuse every URL but one on this machine
  -h, --help   show this

exit codes: 0 done, 1 the provider is unknown or the list cannot be used, 2
the command line makes no sense
";

/// How long fetching a list may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest text of a table that is printed, in characters.
const MAX_SHOWN: usize = 200;

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut provider, mut as_json) = (None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return print(HELP),
            Long("json") => as_json = true,
            Value(name) if provider.is_none() && name == "update" => return update(parser),
            Value(name) if provider.is_none() && name == "login" => return login(parser),
            Value(name) if provider.is_none() => provider = Some(text(name)?),
            other => return Err(other.unexpected().into()),
        }
    }
    list(provider.as_deref(), as_json)
}

fn catalog(offline: bool) -> Result<ProviderCatalog, Failure> {
    let paths = paths()?;
    let secrets = Arc::new(Secrets::new(&paths));
    Ok(ProviderCatalog::new(Config::new(&paths), secrets, offline).with_data(&paths.data))
}

/// Signs in to a provider.
fn login(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let provider = text(parser.value()?)?;
    if let Some(other) = parser.next()? {
        return Err(other.unexpected().into());
    }
    let mut progress =
        |text: &str| logging::say(&format!("gosling: {}\n", printable(text, MAX_SHOWN)));
    let signed_in = catalog(false)?.sign_in(&provider, &Cancel::new(), &mut progress);
    signed_in.map_err(failed("not signed in"))?;
    print(&format!("signed in to {provider}\n"))
}

fn list(provider: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let catalog = catalog(true)?;
    let (mut table, is_of_program) = catalog.model_table();
    if let Some(wanted) = provider {
        let names = catalog.table_names();
        let known = names.iter().find(|(name, _)| *name == wanted);
        // Providers may share their models.
        let in_table = known.map_or(wanted, |(_, in_table)| in_table);
        table.providers.retain(|name, _| name == in_table);
        if known.is_none() && table.providers.is_empty() {
            let wanted = printable(wanted, MAX_SHOWN);
            return Err(Failure::Failed(format!(
                "no provider {wanted} is known; `gosling models` lists them all"
            )));
        }
    }
    print(&if as_json {
        table.to_json()
    } else {
        as_text(&table, is_of_program)
    })
}

fn as_text(table: &ModelTable, is_of_program: bool) -> String {
    let place = if is_of_program {
        "part of the program"
    } else {
        "data/models.json"
    };
    let source = printable(&table.source, MAX_SHOWN);
    let mut text = format!("models of {}, {place}: {source}\n", table.date);
    for (provider, models) in &table.providers {
        let _ = writeln!(text, "\n{}", printable(provider, MAX_SHOWN));
        let longest = |model: &Model| model.name.chars().count().min(MAX_SHOWN);
        let width = models.iter().map(longest).max().unwrap_or(0);
        for model in models {
            text.push_str(&line(model, width));
        }
    }
    if table.providers.is_empty() {
        text.push_str("no model of this provider is known; its own list has them\n");
    }
    text
}

/// A model as one line.
fn line(model: &Model, width: usize) -> String {
    let can = [
        (model.tools, 't'),
        (model.images, 'i'),
        (model.thinking, 'r'),
    ];
    let can: String = can
        .iter()
        .map(|(can, letter)| if *can { *letter } else { '-' })
        .collect();
    let prices: Vec<String> = (model.price.iter())
        .map(|price| price.map_or("?".to_owned(), |price| price.to_string()))
        .collect();
    let retired = match (&model.retired, &model.successor) {
        (Some(date), Some(successor)) => format!("retired {date}, then {successor}"),
        (Some(date), None) => format!("retired {date}"),
        (None, _) => String::new(),
    };
    let line = format!(
        "  {:width$}  {:>8}  {:>7}  {:<9}  {can}  {:<20}  {}",
        printable(&model.name, MAX_SHOWN),
        model.window,
        model
            .output
            .map_or("-".to_owned(), |output| output.to_string()),
        model.endpoint.name(),
        prices.join("/"),
        printable(&retired, MAX_SHOWN),
    );
    line.trim_end().to_owned() + "\n"
}

fn update(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut from, mut offline) = (None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return print(HELP),
            Long("offline") => offline = true,
            Value(place) if from.is_none() => from = Some(text(place)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let Some(from) = from else {
        return Err(Failure::Usage("no FILE or URL given".to_owned()));
    };
    let shown = printable(&from, MAX_SHOWN);
    let unused = format!("the list in {shown} is not used");
    let text = read(&from, offline).map_err(failed(&unused))?;
    let text = String::from_utf8(text).map_err(failed(&unused))?;
    let catalog = catalog(true)?;
    let names = catalog.table_names();
    let is_wanted = |name: &str| names.iter().any(|(_, in_table)| *in_table == name);
    let table = parse_any(&text, &today(), is_wanted).map_err(failed(&unused))?;
    let path = replace_table(&paths()?.data, &table).map_err(failed("the list is not stored"))?;
    let count: usize = table.providers.values().map(Vec::len).sum();
    let (used, is_of_program) = catalog.model_table();
    let older = if is_of_program {
        format!(
            "; it is not newer than that of the program ({}), which is used",
            used.date
        )
    } else {
        String::new()
    };
    print(&format!(
        "{count} models of {} providers in {}, of {}{older}\n",
        table.providers.len(),
        printable(&path.to_string_lossy(), MAX_SHOWN),
        table.date
    ))
}

/// The text at this place.
fn read(from: &str, offline: bool) -> Result<Vec<u8>, String> {
    if from.starts_with("http://") || from.starts_with("https://") {
        if from.starts_with("http://") && !is_loopback_url(from) {
            return Err("a list from another machine needs https".to_owned());
        }
        let fetch = Fetch {
            uri: from,
            body: None,
            offline,
            timeout: TIMEOUT,
            max: MAX_TABLE,
        };
        return fetch.run(&Cancel::new());
    }
    let path = Path::new(from);
    let file = files::open(path).map_err(without_advice)?;
    let mut file = file.ok_or("there is no such file")?;
    let (text, _) = files::read(&mut file, path, MAX_TABLE).map_err(without_advice)?;
    Ok(text)
}
