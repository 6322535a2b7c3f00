//! Content for one audience, which tools return.

use crate::types::Content;

impl Content {
    /// A text for the `audience` (`user`, `assistant`), and its importance, from 0 to 1.
    pub fn text_for(audience: &str, priority: Option<f64>, text: &str) -> Self {
        let mut annotations = serde_json::json!({ "audience": [audience] });
        if let Some(priority) = priority {
            annotations["priority"] = priority.into();
        }
        Content::of(&serde_json::json!({"type": "text", "text": text, "annotations": annotations}))
    }
}
