//! The values in the file with the user's secrets.

use gosling_core::store::{MAX_YAML, Secret, Secrets, YamlFile, yaml_to_json};
use gosling_core::sys::fs::read_start;

/// All secrets in the file. Of a file that does not parse, whatever may be one, so that a text can be
/// searched for them.
pub fn stored_secrets(secrets: &Secrets) -> Vec<Secret> {
    if let Ok(root) = YamlFile::secret(secrets.path().to_owned()).load() {
        let values = root.values().map(yaml_to_json);
        return values.map(Secret::new).collect();
    }
    let content = read_start(secrets.path(), MAX_YAML).unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    let value = |line: &str| {
        let value = line.split_once(": ").map_or(line, |(_, value)| value);
        let value = value.trim_matches(|c: char| c.is_whitespace() || "\"'-,".contains(c));
        Secret::new(value.into())
    };
    text.lines().map(value).collect()
}
