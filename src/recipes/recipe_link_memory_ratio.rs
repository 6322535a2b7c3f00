//! The memory that recipe links take, for the worst inputs.

use crate::json;
use crate::recipe::Recipe;
use crate::recipe::deeplink::MAX_LINK;
use gosling_testing::memory_ratio::{at_most, dense_json};

#[test]
fn memory_ratio_of_recipe_links() {
    use base64::Engine;
    let link = |json: &[u8]| {
        let size = json.len().min(MAX_LINK * 3 / 4 - 3);
        let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&json[..size]);
        text.into_bytes()
    };
    let size = 300 << 10;
    let begin = r#"{"title":"a","description":"b","prompt":"c","x":"#;
    let cost = [json::VALUE, json::ARRAY, json::OBJECT];
    let jsons = dense_json(size, begin, "}", json::most_memory(size), cost);
    let links: Vec<_> = jsons.iter().map(|json| link(json)).collect();
    at_most(55, "recipe link", &links, |text| {
        Recipe::from_link(std::str::from_utf8(text).unwrap())
    });
}
