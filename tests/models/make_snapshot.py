#!/usr/bin/env python3
"""Makes the snapshot of models that the program ships: src/providers/catalog/models.json.

    pip download --no-deps litellm -d /tmp/litellm
    unzip -p /tmp/litellm/litellm-*.whl litellm/model_prices_and_context_window_backup.json > /tmp/prices.json
    tests/models/make_snapshot.py /tmp/prices.json 2026-11-26 > src/providers/catalog/models.json

The facts (limits, prices, dates) come from LiteLLM's table, which has the MIT licence; no text of it is copied. Rows
are left out that are not for conversations, whose model cannot call tools, that were retired long ago, or that a
shorter name with the same facts covers. The rows of OpenRouter, which LiteLLM does not have, are those of the
vendors: OpenRouter passes their limits and prices on. The program checks the result in its tests.
"""

import json
import re
import sys

# LiteLLM's name of a provider, gosling's, and what a name begins with in LiteLLM's table.
PROVIDERS = [
    ("openai", "openai", ""),
    ("anthropic", "anthropic", ""),
    ("gemini", "google", "gemini/"),
    ("groq", "groq", "groq/"),
    ("mistral", "mistral", "mistral/"),
    ("deepseek", "deepseek", "deepseek/"),
    ("xai", "xai", "xai/"),
    ("together_ai", "together", "together_ai/"),
    ("fireworks_ai", "fireworks", "fireworks_ai/"),
    ("cerebras", "cerebras", "cerebras/"),
    ("databricks", "databricks", "databricks/"),
    ("moonshot", "moonshot", "moonshot/"),
    ("zai", "zai", "zai/"),
    ("minimax", "minimax", "minimax/"),
    ("dashscope", "alibaba", "dashscope/"),
    ("inception", "inception", "inception/"),
    ("meta", "meta", "meta/"),
    ("novita", "novita", "novita/"),
    ("opencode_go", "opencode_go", "opencode_go/"),
    ("ovhcloud", "ovhcloud", "ovhcloud/"),
    ("perplexity", "perplexity", "perplexity/"),
    ("scaleway", "scaleway", "scaleway/"),
    ("friendliai", "friendli", "friendliai/"),
    ("bedrock_converse", "aws_bedrock", ""),
    ("github_copilot", "github_copilot", "github_copilot/"),
]
# Providers whose models count even if they cannot call tools.
WITHOUT_TOOLS = {"perplexity"}
# Words of names that are not for conversations with tools.
OTHER = re.compile(
    r"(^ft:|audio|search|realtime|tts|-image|computer-use|deep-research|robotics|lyria|learnlm|gemma-2|gemini-exp"
    r"|container|rosalind|cyber|daybreak|multi-agent|experimental|-beta|-gv2|voxtral|codellama|vibe-cli|fim|omni"
    r"|stheno|euryale|preset/|-spot|-us$|/community|-exp$|ernie|-law$|mythos|leanstral|vision-preview|2025-|mistral-7b"
    r"|guard|mamba|turbo-2024|sonar-(medium|small)|^pplx|instruct-hf|firefunction|^grok-4.20-0309|-contributor|^gpt-5-chat$)"
)
# Of the many older open models that a host has, those that are no longer chosen.
OLDER = {
    "novita": re.compile(r"(glm-4|qwen-?2|qwen3-(vl|4b|8b|30b|235b|next|480b)|-v?3-|v3\.1|r1|_v3|k2-|m1|m2\.?1?$|llama|nemotron-3-nano|kat-)"),
    "fireworks": re.compile(r"(-4p|-v3p|k2-)"),
    "mistral": re.compile(r"(ministral-3-|-medium-3$|-large-4-0|^glm|mistral-code|zai-glm-5$|zai-glm-latest)"),
    "alibaba": re.compile(r"(-vl-\d|-next-|^qwq|-30b|^deepseek|^glm|^kimi|-latest|-preview)"),
    "perplexity": re.compile(r"llama"),
    "github_copilot": re.compile(r"(^gpt-[345]|-4\.[568]|opus-5$|gemini-3\.7)"),
}
# Models retired before this are forgotten.
FORGOTTEN = "2026-07-01"
# What runs elsewhere than at a vendor with prices: name, window.
OLLAMA = [
    ("qwen3", 40960), ("qwen2.5", 32768), ("llama3.3", 131072), ("llama3.2", 131072), ("llama3.1", 131072),
    ("mistral-nemo", 131072), ("gpt-oss", 131072), ("deepseek-r1", 131072),
]
# OpenRouter: gosling's name of the vendor, OpenRouter's, and which of its models.
OPENROUTER = [
    ("anthropic", "anthropic", r"claude-(sonnet|opus|haiku|fable)-\d(-\d)?$"),
    ("openai", "openai", r"gpt-(5\.[4-9]|[6-9])\S*$"),
    ("google", "google", r"gemini-(3|4)\S*$"),
    ("xai", "x-ai", r"grok-4\.\d$"),
    ("deepseek", "deepseek", r"deepseek-v4\S*$"),
    ("zai", "z-ai", r"glm-(5\.\d\S*|5)$"),
    ("moonshot", "moonshotai", r"kimi-k\S*$"),
    ("minimax", "minimax", r"minimax-m3\S*$"),
]


def million(cost):
    """A price for a million tokens, without what floating point and conversions of units add."""
    value = float(f"{cost * 1e6:.4g}")
    return int(value) if value == int(value) else value


def prices(row):
    names = ["input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost",
             "cache_creation_input_token_cost"]
    found = [row.get(name) for name in names]
    if found[0] is None or found[1] is None:
        return None
    while found and found[-1] is None:
        found.pop()
    # A price that is not known stands between known ones.
    return [None if cost is None else million(cost) for cost in found]


def version(name):
    return tuple(int(number) for number in re.findall(r"\d+", re.sub(r"-\d{4,}", "", name))[:2])


def needs_responses(provider, name, row):
    gpt = re.match(r"gpt-(\d+)(?:\.(\d+))?", name)
    newer = gpt and (int(gpt[1]), int(gpt[2] or 0)) >= (5, 5)
    return row.get("mode") == "responses" or (provider == "openai" and bool(newer))


def model(provider, name, row, strip):
    window, output = row.get("max_input_tokens"), row.get("max_output_tokens")
    if not isinstance(window, int) or window < 8192:
        return None
    # OpenAI's table has the input alone; input and output share the window.
    if window in (272000, 922000):
        window = window + output
    facts = {"name": name, "window": window}
    if isinstance(output, int) and output < window:
        facts["output"] = output
    if needs_responses(provider, name, row):
        facts["endpoint"] = "responses"
    if not row.get("supports_function_calling"):
        facts["tools"] = False
    if row.get("supports_vision"):
        facts["images"] = True
    if row.get("supports_reasoning"):
        facts["thinking"] = True
    price = prices(row)
    # What a subscription is charged for is another matter.
    if price and not strip.startswith("github_copilot"):
        facts["price"] = price
    if row.get("deprecation_date"):
        facts["retired"] = row["deprecation_date"]
        successor = row.get("successor_model")
        if successor:
            facts["successor"] = successor.removeprefix(strip)
    return facts


def models_of(table, source, provider, strip):
    found = {}
    for key, row in table.items():
        if row.get("litellm_provider") != source or row.get("mode") not in ("chat", "responses"):
            continue
        name = key.removeprefix(strip)
        if OTHER.search(name.lower()) or row.get("deprecation_date", "9") < FORGOTTEN and not row.get("successor_model"):
            continue
        if provider in OLDER and OLDER[provider].search(name.lower()):
            continue
        # The names of inference profiles, which every account of a region has.
        if provider == "aws_bedrock" and not re.match(r"us\.(anthropic|amazon)\.", name):
            continue
        if provider == "fireworks" and not name.startswith("accounts/fireworks/models/"):
            continue
        if not row.get("supports_function_calling") and provider not in WITHOUT_TOOLS and not row.get("deprecation_date"):
            continue
        facts = model(provider, name, row, strip)
        if facts:
            found[name] = facts
    # A dated name means the shorter one.
    without_name = lambda facts: {key: value for key, value in facts.items() if key != "name"}
    def is_covered(name):
        short = re.sub(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$", "", name)
        return short != name and short in found and without_name(found[short]) == without_name(found[name])
    kept = [facts for name, facts in found.items() if not is_covered(name)]
    # The newest first, the retired last; otherwise as LiteLLM has them.
    return sorted(kept, key=lambda facts: ("retired" in facts, [-n for n in version(facts["name"])]))


def openrouter(providers):
    found = []
    for vendor, prefix, pattern in OPENROUTER:
        for facts in providers[vendor]:
            name = facts["name"].lower()
            if not re.match(pattern, name) or "retired" in facts:
                continue
            if vendor == "anthropic":
                name = re.sub(r"(\d)-(\d)$", r"\1.\2", name)
            copy = {key: value for key, value in facts.items() if key != "endpoint"}
            copy["name"] = f"{prefix}/{name}"
            found.append(copy)
    return found


def main():
    table = json.load(open(sys.argv[1], encoding="utf-8"))
    providers = {ours: models_of(table, source, ours, strip) for source, ours, strip in PROVIDERS}
    providers["openrouter"] = openrouter(providers)
    providers["ollama"] = [{"name": name, "window": window} for name, window in OLLAMA]
    line = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    lists = [
        f"{line(name)}:[\n" + ",\n".join(line(facts) for facts in models) + "\n]"
        for name, models in sorted(providers.items()) if models
    ]
    source = "gosling, facts from LiteLLM (MIT)"
    print('{"format":"gosling-models-1","date":%s,"source":%s,"providers":{' % (line(sys.argv[2]), line(source)))
    print(",\n".join(lists))
    print("}}")


main()
