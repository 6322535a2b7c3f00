//! The parameters of a link.

use super::{
    Error, ErrorClass, ExtensionLink, Link, LinkTransport, MAX_NAME, MAX_REPEATED, MAX_TIMEOUT,
    MAX_VALUE, error, invalid,
};
use crate::extension::{config, environment};
use crate::text::may_hide_words;
use gosling_shared::is_token;
use percent_encoding::percent_decode_str;

/// The decoded parameters, in their order.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn read(query: &str) -> Result<Self, Error> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            // `+` is a character of base64.
            let value = if name == "config" {
                decode(value)?
            } else {
                decode(&value.replace('+', " "))?
            };
            check_value(&name, &value)?;
            Ok((name, value))
        });
        let pairs = pairs
            .take(4 * MAX_REPEATED + 1)
            .collect::<Result<Vec<_>, _>>()?;
        if pairs.len() > 4 * MAX_REPEATED {
            return Err(invalid("the link has too many parameters"));
        }
        Ok(Query(pairs))
    }

    /// The value of a parameter that occurs at most once. An empty value counts as none.
    fn one(&self, name: &str) -> Result<Option<&str>, Error> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(invalid(format!("`{name}` occurs more than once")));
        }
        Ok(first.filter(|value| !value.trim().is_empty()))
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(it, _)| it == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The values of a parameter that may be repeated.
    fn repeated(&self, name: &str) -> Result<Vec<&str>, Error> {
        let values: Vec<&str> = self.all(name).collect();
        if values.len() > MAX_REPEATED {
            return Err(invalid(format!(
                "`{name}` occurs more than {MAX_REPEATED} times"
            )));
        }
        Ok(values)
    }

    pub(super) fn recipe(self) -> Result<Link, Error> {
        let config = self.one("config")?;
        let config = config.ok_or_else(|| invalid("the link has no `config`"))?;
        let config = config.to_owned();
        let mut parameters = self.0;
        parameters.retain(|(name, _)| name != "config");
        Ok(Link::Recipe { config, parameters })
    }

    pub(super) fn extension(&self) -> Result<ExtensionLink, Error> {
        let name = self.one("name")?.map(str::trim);
        let name = name.ok_or_else(|| invalid("the link has no `name`"))?;
        if name.len() > MAX_NAME || !config::key(name).contains(|c: char| c.is_ascii_alphanumeric())
        {
            return Err(invalid(format!(
                "`name` has no letter or digit, or is longer than {MAX_NAME} bytes"
            )));
        }
        let timeout = self.one("timeout")?.map(seconds).transpose()?;
        let notes = self.one("installation_notes")?;
        let description = self.one("description")?.unwrap_or_default();
        let mut env = Vec::new();
        let mut ignored_values = Vec::new();
        for given in self.repeated("env")? {
            let (name, value) = given.split_once('=').unwrap_or((given, ""));
            let name = name.trim();
            if !is_variable(name) {
                return Err(invalid(format!(
                    "`env` names {name:?}, which cannot be an environment variable"
                )));
            }
            if !env.iter().any(|it| it == name) {
                env.push(name.to_owned());
            }
            if !value.is_empty() {
                ignored_values.push(name.to_owned());
            }
        }
        Ok(ExtensionLink {
            name: name.to_owned(),
            description: description.trim().to_owned(),
            installation_notes: notes.map(|notes| notes.trim().to_owned()),
            timeout,
            env,
            ignored_values,
            transport: self.transport()?,
        })
    }

    fn transport(&self) -> Result<LinkTransport, Error> {
        let args = self.repeated("arg")?;
        let headers = self.repeated("header")?;
        match (self.one("cmd")?, self.one("url")?) {
            (Some(_), Some(_)) => Err(invalid("the link has both `cmd` and `url`; it needs one")),
            (None, None) => Err(invalid("the link has neither `cmd` nor `url`")),
            (Some(_), None) if !headers.is_empty() => {
                Err(invalid("`header` belongs to `url`, and the link has `cmd`"))
            }
            (None, Some(_)) if !args.is_empty() => {
                Err(invalid("`arg` belongs to `cmd`, and the link has `url`"))
            }
            (Some(cmd), None) => Ok(LinkTransport::Stdio {
                cmd: cmd.to_owned(),
                args: args.into_iter().map(str::to_owned).collect(),
            }),
            (None, Some(url)) => Ok(LinkTransport::StreamableHttp {
                url: url.to_owned(),
                headers: headers.into_iter().map(header).collect::<Result<_, _>>()?,
            }),
        }
    }
}

/// Percent-decodes once. Browsers keep an invalid escape as it is; here the link is invalid.
fn decode(text: &str) -> Result<String, Error> {
    let failed = |reason: &str| error(ErrorClass::ParseFailed, reason);
    let mut after_percent = text.split('%').skip(1);
    let is_escape =
        |after: &str| after.len() >= 2 && after.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit);
    if !after_percent.all(is_escape) {
        return Err(failed(
            "a `%` in the link is not followed by two hexadecimal digits",
        ));
    }
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| failed("the link does not decode to UTF-8"))?;
    Ok(decoded.into_owned())
}

/// Refuses what could not be shown to the person who decides, or ends a header or a line.
fn check_value(name: &str, value: &str) -> Result<(), Error> {
    let has_lines = matches!(name, "description" | "installation_notes");
    let is_control = |c: char| c.is_control() && !(has_lines && matches!(c, '\n' | '\t'));
    if name.contains(is_control) || value.contains(is_control) {
        let name = name.escape_debug();
        return Err(invalid(format!("`{name}` has control characters")));
    }
    // Marks of the direction belong to prose in some scripts.
    let hides = |c: char| match c {
        '\u{200b}' | '\u{feff}' | '\u{180e}' => true,
        '\u{200e}' | '\u{200f}' | '\u{61c}' => !has_lines,
        c => may_hide_words(c),
    };
    if name.contains(hides) || value.contains(hides) {
        let name = name.escape_debug();
        let reason = format!("`{name}` has characters that hide or reorder text");
        return Err(error(ErrorClass::SecurityBlocked, reason));
    }
    if name != "config" && name.len().max(value.len()) > MAX_VALUE {
        let name = name.chars().take(20).collect::<String>();
        let limit = MAX_VALUE >> 10;
        return Err(invalid(format!("`{name}` is longer than {limit} KiB")));
    }
    Ok(())
}

fn seconds(text: &str) -> Result<u64, Error> {
    let is_number = text.bytes().all(|b| b.is_ascii_digit());
    let seconds = text.parse().ok().filter(|_| is_number);
    let in_bounds = seconds.filter(|seconds| (1..=MAX_TIMEOUT).contains(seconds));
    in_bounds.ok_or_else(|| {
        invalid(format!(
            "`timeout` is not a whole number of seconds from 1 to {MAX_TIMEOUT}"
        ))
    })
}

fn is_variable(name: &str) -> bool {
    name.len() <= MAX_NAME && environment::is_plain(name)
}

fn header(text: &str) -> Result<(String, String), Error> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let name = name.trim();
    if !is_token(name) {
        return Err(invalid(format!(
            "`header` names {name:?}, which cannot be the name of a header"
        )));
    }
    if let Some(variable) = placeholders(value).find(|name| !is_variable(name)) {
        return Err(invalid(format!(
            "the header {name} refers to {variable:?}, which cannot be an environment variable"
        )));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// The names in `${NAME}`, as [`Environment::expand`](crate::extension::environment::Environment::expand) reads
/// them.
pub(super) fn placeholders(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let (_, braced) = rest.split_once("${")?;
        let (name, end) = braced.split_once('}')?;
        rest = end;
        Some(name)
    })
}
