//! Names that resemble those of well-known packages.

use crate::extension::wrappers::has;
use crate::packages::Ecosystem;

/// Well-known packages of npm: MCP servers, and what many programs need. None of them is a look-alike.
const NPM: &str = "
    @modelcontextprotocol/inspector @modelcontextprotocol/sdk @modelcontextprotocol/server-brave-search
    @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem
    @modelcontextprotocol/server-github @modelcontextprotocol/server-google-maps @modelcontextprotocol/server-memory
    @modelcontextprotocol/server-postgres @modelcontextprotocol/server-puppeteer
    @modelcontextprotocol/server-sequential-thinking @modelcontextprotocol/server-slack @browsermcp/mcp
    @notionhq/notion-mcp-server @playwright/mcp @sentry/mcp-server @smithery/cli @stripe/mcp
    @supabase/mcp-server-supabase @upstash/context7-mcp @wonderwhy-er/desktop-commander chrome-devtools-mcp
    figma-developer-mcp firecrawl-mcp mcp-remote supergateway tavily-mcp axios chalk commander cross-env dotenv
    express lodash playwright prettier puppeteer typescript webpack";

/// Well-known packages of PyPI.
const PYPI: &str = "
    arxiv-mcp-server blender-mcp duckduckgo-mcp-server fastmcp markitdown-mcp mcp-atlassian mcp-proxy mcp-server-fetch
    mcp-server-git mcp-server-qdrant mcp-server-sqlite mcp-server-time aiohttp anthropic beautifulsoup4 cryptography
    django fastapi flask httpx jinja2 langchain matplotlib numpy openai pandas pillow playwright pydantic
    python-dateutil python-dotenv pyyaml requests scikit-learn scipy selenium setuptools sqlalchemy transformers
    urllib3 uvicorn";

/// The shortest well-known name for which one other letter is a resemblance: shorter names have too many
/// honest neighbours.
const MIN_LENGTH: usize = 6;

/// Letters of other scripts, each with the Latin one that it looks like.
const CONFUSABLES: &str = "аa вb еe ёe кk мm нh оo рp сc тt уy хx ѕs іl јj ԁd αa οo νv ρp ıl";

/// The well-known package whose name this one resembles; `None` for a well-known one itself.
pub fn resembles(ecosystem: Ecosystem, name: &str) -> Option<&'static str> {
    let known = match ecosystem {
        Ecosystem::Npm => NPM,
        Ecosystem::PyPi => PYPI,
        Ecosystem::Docker => return None,
    };
    if has(known, name) {
        return None;
    }
    let looks = appearance(name);
    let is_similar = |other: &&str| {
        looks == appearance(other) || other.len() >= MIN_LENGTH && is_one_edit_away(name, other)
    };
    known.split_whitespace().find(is_similar)
}

/// As [`resembles`], for text that is not the name of a package since it has letters of other scripts.
pub fn is_homoglyph(text: &str) -> Option<&'static str> {
    if text.is_ascii() {
        return None;
    }
    let looks = appearance(text);
    let mut known = NPM.split_whitespace().chain(PYPI.split_whitespace());
    known.find(|other| looks == appearance(other))
}

/// The name without what is easily overlooked: separators, and letters that look like others.
fn appearance(name: &str) -> String {
    let mut looks = String::with_capacity(name.len());
    for c in name.chars().flat_map(char::to_lowercase) {
        let confusable = |pair: &str| pair.strip_prefix(c)?.chars().next();
        match CONFUSABLES.split(' ').find_map(confusable).unwrap_or(c) {
            '-' | '_' | '.' | '/' | '@' => {}
            '0' => looks.push('o'),
            '1' | 'i' => looks.push('l'),
            '5' => looks.push('s'),
            'n' if looks.ends_with('r') => {
                looks.pop();
                looks.push('m');
            }
            'v' if looks.ends_with('v') => {
                looks.pop();
                looks.push('w');
            }
            c => looks.push(c),
        }
    }
    looks
}

/// Whether one letter more, less or other, or two neighbours exchanged, make one name from the other.
fn is_one_edit_away(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let (short, long) = (short.as_bytes(), long.as_bytes());
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (short, long) = (&short[same..], &long[same..]);
    if short.len() < long.len() {
        return *short == long[1..];
    }
    match (short, long) {
        ([], []) => false,
        ([a, b, short @ ..], [c, d, long @ ..]) if a == d && b == c && short == long => true,
        _ => short[1..] == long[1..],
    }
}

#[cfg(test)]
mod tests;
