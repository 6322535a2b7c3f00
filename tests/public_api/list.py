"""Lists what embedders can use: every public item of the modules below, with its signature, as rustdoc shows it.

usage: python3 list.py FOLDER     FOLDER is that of `cargo doc --no-deps --workspace`, such as target/doc
"""

import html
import pathlib
import re
import sys

# What `gosling help embedding` promises to keep: modules, and single items of others. The rest of the crates may change
# with each version, and so may what is hidden from the documentation.
MODULES = [
    "gosling_core/agent",
    "gosling_core/conversation",
    "gosling_core/http",
    "gosling_core/provider",
    "gosling_embedding",
    "gosling_mcp/client",
    "gosling_mcp/error",
    "gosling_mcp/server",
    "gosling_mcp/transport",
    "gosling_mcp/typed",
    "gosling_mcp/types",
    "gosling_sys/cancel",
]
ITEMS = [
    "gosling/parts/constant.PARTS",
    "gosling_core/api/fn.router",
    "gosling_core/store/struct.Paths",
    "gosling_mcp/jsonrpc/struct.ErrorObject",
    "gosling_mcp/jsonrpc/type.RawJson",
    "gosling_mcp/macro.arguments",
    "gosling_sys/fn.protect_memory",
    "gosling_sys/fn.take_variable",
    "gosling_sys/process/struct.Command",
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
    pages = [root / f"{item}.html" for item in ITEMS]
    for module in MODULES:
        found = sorted(root.joinpath(module).rglob("*.html"))
        assert found, f"{root / module} has no pages; run cargo doc"
        pages += found
    for page in pages:
        kind, _, name = page.stem.partition(".")
        if kind in KINDS and name:
            path = page.parent.relative_to(root).as_posix().replace("/", "::")
            for line in lines(page.read_text(), f"{path}::{name}"):
                print(line)


main()
