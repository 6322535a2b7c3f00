//! What an extension launches in a session. The answer "always" to the calls of its tools holds for that alone.

use super::ExtensionConfig;
use super::program_lookup::is_relative_path;
use super::start_folder::{Place, SHELLS, place, place_of};
use super::wrappers::{has, program_name};
use serde_json::{Map, Value};
use std::iter::once;
use std::path::Path;

/// The fields of a configuration that say what is launched.
const FIELDS: &str = "type cmd args uri code dependencies container cwd sandbox";

/// What Node.js and Java add to the name of a file.
const ENDINGS: [&str; 5] = ["", ".js", ".json", ".node", ".class"];

/// What is launched, as JSON: the program, address or code; its container, which is that of the session if the entry
/// has none; the working directory, if it [matters](depends_on_folder); the names of its variables; and a hash of the
/// values that the configuration has of variables and headers. Secrets do not count, because they are rotated.
pub(super) fn launch(
    config: &ExtensionConfig,
    working_dir: Option<&Path>,
    container: Option<&str>,
) -> String {
    let mut launch = Map::new();
    if let Value::Object(fields) = config.to_value() {
        let fields = fields.into_iter();
        launch.extend(fields.filter(|(field, value)| has(FIELDS, field) && !value.is_null()));
    }
    let mut variables: Vec<&str> = config.variables().collect();
    variables.sort_unstable();
    variables.dedup();
    launch.insert("variables".to_owned(), variables.into());
    let mut values: Vec<[&str; 3]> = config.plain_values().collect();
    if !values.is_empty() {
        values.sort_unstable();
        launch.insert("values".to_owned(), hash(values.as_flattened()).into());
    }
    if let Some(container) = container.filter(|_| config.container().is_none()) {
        launch.insert("container".to_owned(), container.into());
    }
    if let Some(folder) = working_dir {
        // Also unambiguous for a path that is not Unicode.
        launch.insert("folder".to_owned(), format!("{folder:?}").into());
    }
    Value::Object(launch).to_string()
}

/// Whether another program may run in another working directory, because the command line names a file there, runs
/// code that it finds there, or is that of a shell. To be asked before the program starts, which can remove the file.
pub(super) fn depends_on_folder(
    config: &ExtensionConfig,
    working_dir: &Path,
    is_inside: bool,
) -> bool {
    let (cmd, args) = match config {
        ExtensionConfig::Stdio(c) => (&c.cmd, &c.args),
        // Its launcher may run code of the folder.
        ExtensionConfig::InlinePython(_) => {
            return config.cwd().is_some_and(|named| named != "own");
        }
        _ => return false,
    };
    if is_relative_path(cmd) {
        return true;
    }
    if !is_inside && place(config, (cmd, args)) == Ok(Place::Own) {
        return false;
    }
    let mut words = once(cmd).chain(args);
    place_of(cmd, args) == Place::Own
        || words.any(|word| has(SHELLS, &program_name(word)))
        || args.iter().any(|arg| names_file(arg, working_dir))
}

/// Whether an argument, or a part of it such as the value of an option, is the relative path of a file.
fn names_file(argument: &str, folder: &Path) -> bool {
    let is_end = |c: char| c.is_whitespace() || "=,;:|&<>()'\"".contains(c);
    let parts = argument.split(is_end);
    let parts = parts.flat_map(|part| match part.strip_prefix('-') {
        // The value may follow an option of one letter.
        Some(option) => [option, option.get(1..).unwrap_or_default()],
        None => [part, ""],
    });
    let is_file = |path: &str| folder.join(path).exists();
    let mut words = once(argument).chain(parts).filter(|word| !word.is_empty());
    words.any(|word| {
        !Path::new(word).has_root() && ENDINGS.iter().any(|end| is_file(&[word, end].concat()))
    })
}

/// SHA-256 of these texts with their lengths, in hexadecimal digits.
#[cfg(feature = "sha256")]
pub fn hash(texts: &[&str]) -> String {
    use ring::digest::{Context, SHA256};
    let mut context = Context::new(&SHA256);
    for text in texts {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    crate::sys::to_hex(context.finish().as_ref())
}

/// A hash of these texts, in hexadecimal digits. A build without SHA-256 has a hash with a random key, which ends with
/// the process.
#[cfg(not(feature = "sha256"))]
pub fn hash(texts: &[&str]) -> String {
    use std::hash::{BuildHasher, RandomState};
    use std::sync::LazyLock;
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    format!("{:016x}", STATE.hash_one(texts))
}

#[cfg(test)]
mod tests;
