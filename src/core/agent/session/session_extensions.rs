//! The extensions of a session: how many there may be, and how those of a client are added.

use crate::agent::Error;
use crate::extension::{ExtensionConfig, config};
use serde_json::Value;

/// How many extensions a session may start with.
pub(in crate::agent) const MAX_EXTENSIONS: usize = 256;

/// Appends the client's extensions, with a number behind each name that is taken. Returns their names.
pub(in crate::agent) fn append(
    extensions: &mut Vec<Value>,
    client: Vec<ExtensionConfig>,
) -> Result<Vec<String>, Error> {
    if extensions.len() + client.len() > MAX_EXTENSIONS {
        let reason = format!("a session has at most {MAX_EXTENSIONS} extensions");
        return Err(Error::Config { reason });
    }
    let mut names = Vec::new();
    for extension in client {
        let name = extension.name().to_owned();
        let is_taken = |name: &str| {
            let key = config::key(name);
            let mut taken = extensions.iter().filter_map(|it| it["name"].as_str());
            taken.any(|taken| config::key(taken) == key)
        };
        let free = (2..)
            .map(|n| format!("{name}{n}"))
            .find(|name| !is_taken(name));
        let free = free.filter(|_| is_taken(&name)).unwrap_or(name);
        let mut extension = extension.to_value();
        extension["name"] = free.as_str().into();
        extensions.push(extension);
        names.push(free);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let config = |name: &str| {
            let config = json!({"type": "stdio", "name": name, "cmd": "x", "args": []});
            ExtensionConfig::from_value(config).unwrap()
        };
        let mut extensions = vec![config("Files").to_value()];
        let client = vec![config("files"), config("git"), config("files")];
        let names = append(&mut extensions, client).unwrap();
        assert_eq!(names, ["files2", "git", "files3"]);
        let all: Vec<_> = extensions.iter().map(|it| it["name"].as_str()).collect();
        assert_eq!(
            all,
            [Some("Files"), Some("files2"), Some("git"), Some("files3")]
        );
        let many = vec![config("x"); MAX_EXTENSIONS];
        assert!(append(&mut extensions, many).is_err());
    }
}
