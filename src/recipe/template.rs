//! Templates of recipes: Jinja without what could spin, eat memory or reach files.
//!
//! minijinja bounds how many instructions run, but not how long one takes or what it allocates:
//! each may work on values that have been doubled again and again. So a template is looked through
//! before it runs. Only `if`, `for` and `set x = …` are there; nothing may multiply; and how often
//! named values can repeat each other is bounded by [`MAX_GROWTH`], so that no value becomes larger
//! than that many times what was filled in. What is left of the time is bounded by fuel, of which
//! there is the less the larger the values are.

use super::Error;
use super::library::MAX_FILE;
use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, context, filters, tests};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// What stands for the folder that relative paths lead from.
pub(super) const RECIPE_DIR: &str = "recipe_dir";

/// The most text that a recipe makes when it is filled in, in bytes.
const MAX_OUTPUT: usize = 4 << 20;

pub(super) fn variables(recipe: &Map<String, Value>) -> Result<BTreeSet<String>, Error> {
    let _ = recipe;
    todo!()
}

pub(super) fn fill_in(
    recipe: &Map<String, Value>,
    texts: BTreeMap<String, String>,
) -> Result<Map<String, Value>, Error> {
    let _ = (recipe, texts);
    todo!()
}
