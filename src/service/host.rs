//! A server that another program has started for itself: the options by which that program, the host, hears where the
//! server listens, and by which the server ends with it.

use crate::command_line::{Failure, text};
use crate::host_stdin::HostStdin;
use crate::listeners::{UNIX, add_place};
use crate::port_file::PortFile;
use crate::sys::lock;
use gosling_shared::print_all;
use serde_json::{Value, json};
use std::mem;
use std::path::PathBuf;
use std::sync::Mutex;

/// What the options want.
#[derive(Debug)]
struct Wanted {
    ready: bool,
    port_file: Option<PathBuf>,
    end_with_stdin: bool,
}

/// Of this process: options are read before there is a service.
static WANTED: Mutex<Wanted> = Mutex::new(Wanted::NOTHING);

impl Wanted {
    const NOTHING: Wanted = Wanted {
        ready: false,
        port_file: None,
        end_with_stdin: false,
    };
}

/// Takes an option; false if it is one of others.
///
/// # Errors
/// Its value is missing or wrong.
pub(crate) fn take_option(name: &str, parser: &mut lexopt::Parser) -> Result<bool, Failure> {
    match name {
        "listen" => add_place(text(parser.value()?)?),
        "ready" => {
            let format = text(parser.value()?)?;
            if format != "json" {
                let why = format!("--ready: {format:?} is unknown; it is `json`");
                return Err(Failure::Usage(why));
            }
            lock(&WANTED).ready = true;
        }
        "port-file" => {
            let file = PathBuf::from(parser.value()?);
            lock(&WANTED).port_file = Some(file);
        }
        "end-with-stdin" => lock(&WANTED).end_with_stdin = true,
        _ => return Ok(false),
    }
    Ok(true)
}

/// What the host has asked for.
pub(crate) struct Host {
    ready: bool,
    port_file: Mutex<Option<PortFile>>,
    stdin: Option<HostStdin>,
}

impl Host {
    /// Prepares what the options want, before the server listens.
    ///
    /// # Errors
    /// What cannot be done, and why.
    pub(crate) fn from_options() -> Result<Self, String> {
        let wanted = mem::replace(&mut *lock(&WANTED), Wanted::NOTHING);
        let stdin = wanted.end_with_stdin.then(HostStdin::open).transpose()?;
        let port_file = wanted.port_file.as_deref().map(PortFile::prepare);
        Ok(Host {
            ready: wanted.ready,
            port_file: Mutex::new(port_file.transpose()?),
            stdin,
        })
    }

    /// Tells the host that the server listens at these places.
    ///
    /// # Errors
    /// It cannot be told, or the end of stdin would not be noticed.
    pub(crate) fn start(&self, places: &[String]) -> Result<(), String> {
        let line = description(places).to_string() + "\n";
        if let Some(file) = &mut *lock(&self.port_file) {
            file.publish(&line)?;
        }
        if let Some(stdin) = &self.stdin {
            stdin.watch()?;
        }
        if self.ready {
            print_all(&line)
                .map_err(|error| format!("--ready: stdout cannot be written: {error}"))?;
        }
        Ok(())
    }

    /// A signal has arrived: from now on the end of stdin has no effect.
    pub(crate) fn stopping(&self) {
        if let Some(stdin) = &self.stdin {
            stdin.ignore();
        }
    }

    /// Removes the file, and ends the thread.
    pub(crate) fn close(&self) {
        drop(lock(&self.port_file).take());
        if let Some(stdin) = &self.stdin {
            stdin.close();
        }
    }
}

/// What a host is told about this server: never the key.
pub(crate) fn description(places: &[String]) -> Value {
    let url = places.iter().find(|place| place.contains("://"));
    let port = url.and_then(|url| url.rsplit_once(':')?.1.parse::<u16>().ok());
    let sockets = places.iter().filter_map(|place| place.strip_prefix(UNIX));
    let sockets: Vec<&str> = sockets.collect();
    json!({
        "pid": std::process::id(),
        "url": url,
        "port": port,
        "sockets": sockets,
        "places": places,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// Whether a server of any version has written it: other programs, too, have files with the id of a process.
pub(crate) fn is_description(told: &Value) -> bool {
    let is_null = |name: &str| told.get(name) == Some(&Value::Null);
    let is_texts = |name: &str| {
        let texts = told[name].as_array();
        texts.is_some_and(|texts| texts.iter().all(Value::is_string))
    };
    let has_address = told["url"].is_string() && told["port"].is_u64();
    told["pid"].is_u64()
        && (has_address || is_null("url") && is_null("port"))
        && is_texts("sockets")
        && is_texts("places")
        && told["version"].is_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_of_the_first_address_and_of_every_socket() {
        let places = [
            "unix:/run/a",
            "http://[::1]:8080",
            "https://127.0.0.1:1",
            "unix:/run/b",
        ];
        let told = description(&places.map(str::to_owned));
        assert_eq!(told["url"], "http://[::1]:8080");
        assert_eq!(told["port"], 8080);
        assert_eq!(told["sockets"], json!(["/run/a", "/run/b"]));
        assert_eq!(told["places"], json!(places));
        let told = description(&["unix:/run/a".to_owned()]);
        assert_eq!(told["url"], Value::Null);
        assert_eq!(told["port"], Value::Null);
    }

    #[test]
    fn only_what_has_every_member_is_known_again() {
        for places in [&["http://[::1]:8080", "unix:/run/a"][..], &["unix:/run/a"]] {
            let places: Vec<String> = places.iter().map(|&it| it.to_owned()).collect();
            let told = description(&places);
            assert!(is_description(&told), "{told}");
            for name in told.as_object().unwrap().keys() {
                let (mut less, mut other) = (told.clone(), told.clone());
                less.as_object_mut().unwrap().remove(name);
                assert!(!is_description(&less), "{less}");
                other[name] = json!({});
                assert!(!is_description(&other), "{other}");
            }
        }
        assert!(!is_description(&json!([])));
        assert!(!is_description(
            &json!({"pid": 1, "port": 8888, "token": "x"})
        ));
    }
}
