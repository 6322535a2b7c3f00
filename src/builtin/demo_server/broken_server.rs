//! `gosling mcp demo --break FAULT`: the demo server with one requirement broken.

use super::faults::{self, FAULTS, Fault};
use super::{broken_http, server};
use crate::command_line::{Failure, failed, logging, print, serve};
use crate::mcp_endpoint;
use crate::sys::cancel::Cancel;
use crate::sys::signal;

/// Serves it, over HTTP if there is a port; `list` prints the faults.
pub(crate) fn serve(fault: &str, pages: bool, port: Option<u16>) -> Result<(), Failure> {
    if fault == "list" {
        let lines = FAULTS
            .iter()
            .map(|it| format!("{:<22} {:<27} {}\n", it.name, it.check, it.does));
        return print(&lines.collect::<String>());
    }
    let Some(fault) = Fault::find(fault) else {
        return Err(Failure::Usage(format!(
            "--break: there is no fault {fault:?}; `gosling mcp demo --break list` prints them"
        )));
    };
    match port {
        Some(port) if fault.is_http() => {
            signal::block();
            logging::begin(None, log::LevelFilter::Trace);
            let cancel = Cancel::new();
            let access = broken_http::access_control(fault);
            let router = broken_http::router(fault, &cancel);
            let http = mcp_endpoint::serve(router, access, port)?;
            let at = http.local_addr();
            logging::say(&format!("gosling mcp demo listens on http://{at}/mcp\n"));
            let end = cancel.clone();
            serve::until_signal(http, &cancel, || false, || {}, move || end.cancel());
            Ok(())
        }
        None if !fault.is_http() => {
            // A signal ends the process at once.
            logging::begin(None, log::LevelFilter::Trace);
            let server = server(pages || fault.has_pages());
            faults::serve(server, fault).map_err(failed("stdin"))
        }
        Some(_) => Err(Failure::Usage(format!(
            "--break {} is for stdio",
            fault.name
        ))),
        None => Err(Failure::Usage(format!(
            "--break {} goes with --http",
            fault.name
        ))),
    }
}
