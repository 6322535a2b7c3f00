"""Lists what embedders can use: every public item of the modules below, with its signature, as rustdoc shows it.

usage: python3 list.py FOLDER     FOLDER is that of `cargo doc --no-deps --workspace`, such as target/doc
"""

import html
import pathlib
import re
import sys

# What `gosling help embedding` promises to keep. The rest of the crates may change with each version.
MODULES = [
    "gosling_core/agent",
    "gosling_core/conversation",
    "gosling_core/http",
    "gosling_core/part",
    "gosling_core/provider",
    "gosling_embedding",
    "gosling_mcp/client",
    "gosling_mcp/server",
    "gosling_sys/cancel",
]

# Parts of a page that say what an item is: its declaration, with variants and fields, and its methods.
DECLARATION = re.compile(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', re.S)
MEMBER = re.compile(
    r'<section id="(?:method|tymethod|associatedtype|associatedconstant)\.[^"]*"[^>]*>.*?'
    r'<h4 class="code-header">(.*?)</h4>',
    re.S,
)
KINDS = ("struct", "enum", "trait", "fn", "type", "constant", "macro", "union")
# Where implementations of traits begin: of these only what they are for is told.
TRAITS = 'id="trait-implementations"'
AUTO_TRAITS = 'id="synthetic-implementations"'
IMPLEMENTED = re.compile(r'<section id="impl-[^"]*" class="impl">.*?<h3 class="code-header">(.*?)</h3>', re.S)


def text(code):
    """Code without its marks, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", code)).split())


def lines(page, path):
    """The lines about the item that a page describes."""
    own, found, rest = page.partition(TRAITS)
    if not found:
        own = page.partition(AUTO_TRAITS)[0]
    declaration = DECLARATION.search(own)
    if not declaration:
        return []
    members = [f"  {text(member)}" for member in MEMBER.findall(own)]
    traits = IMPLEMENTED.findall(rest.partition(AUTO_TRAITS)[0])
    traits = sorted(re.sub(r" for .*", "", text(it).removeprefix("impl")).strip() for it in traits)
    implements = [f"  implements {', '.join(traits)}"] if traits else []
    return [f"{path}: {text(declaration[1])}", *members, *implements]


def main():
    root = pathlib.Path(sys.argv[1])
    for module in MODULES:
        pages = sorted(root.joinpath(module).rglob("*.html"))
        assert pages, f"{root / module} has no pages; run cargo doc"
        for page in pages:
            kind, _, name = page.stem.partition(".")
            if kind in KINDS and name:
                path = page.parent.relative_to(root).as_posix().replace("/", "::")
                for line in lines(page.read_text(), f"{path}::{name}"):
                    print(line)


main()
