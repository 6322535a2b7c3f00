//! Listings with all their pages, within limits. MCP 2025-11-25, server/utilities/pagination.

use super::Client;
use crate::error::Error;
use crate::jsonrpc::{self, RawJson};
use crate::types::{Capability, Prompt, Resource, ResourceTemplate, Tool};
use gosling_sys::cancel::Cancel;
use gosling_text::printable;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Instant;

/// The most pages of one listing.
const MAX_PAGES: usize = 1_000;
/// The most bytes of one listing, all pages together.
const MAX_LISTING: usize = 64 << 20;
/// The longest quotation of a cursor, in characters.
const QUOTED: usize = 64;

/// One page of a listing; the field of the items depends on the method.
#[derive(Deserialize)]
struct Page<T> {
    #[serde(
        rename = "tools",
        alias = "resources",
        alias = "resourceTemplates",
        alias = "prompts"
    )]
    items: Vec<T>,
    #[serde(rename = "nextCursor")]
    next: Option<String>,
}

impl Client {
    /// All tools; none if the server does not declare the capability.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn list_tools(&self, cancel: &Cancel) -> Result<Vec<Tool>, Error> {
        let declared = self.server().capabilities.tools.as_ref();
        self.list(declared, "tools/list", cancel)
    }

    /// All resources, see [`list_tools`](Self::list_tools).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn list_resources(&self, cancel: &Cancel) -> Result<Vec<Resource>, Error> {
        let declared = self.server().capabilities.resources.as_ref();
        self.list(declared, "resources/list", cancel)
    }

    /// All resource templates; none if the server does not have the method, which is optional.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn list_resource_templates(&self, cancel: &Cancel) -> Result<Vec<ResourceTemplate>, Error> {
        let declared = self.server().capabilities.resources.as_ref();
        match self.list(declared, "resources/templates/list", cancel) {
            Err(Error::Rpc { error, .. }) if error.code == jsonrpc::METHOD_NOT_FOUND => {
                Ok(Vec::new())
            }
            all => all,
        }
    }

    /// All prompts, see [`list_tools`](Self::list_tools).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn list_prompts(&self, cancel: &Cancel) -> Result<Vec<Prompt>, Error> {
        let declared = self.server().capabilities.prompts.as_ref();
        self.list(declared, "prompts/list", cancel)
    }

    /// All entries of a listing; none if its capability is not declared.
    fn list<T: DeserializeOwned>(
        &self,
        declared: Option<&Capability>,
        method: &'static str,
        cancel: &Cancel,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        if declared.is_none() {
            return Ok(all);
        }
        self.pages(method, cancel, &mut |page| {
            // Nearly all pages have only items that fit.
            let page = match gosling_text::json::from_str::<Page<T>>(page.get()) {
                Ok(page) => page,
                Err(_) => self.odd_page(method, page)?,
            };
            all.extend(page.items);
            Ok(page.next)
        })?;
        Ok(all)
    }

    /// Reads a page item by item: without the members that do not fit, and without the items that do not fit then.
    fn odd_page<T: DeserializeOwned>(
        &self,
        method: &'static str,
        page: &RawValue,
    ) -> Result<Page<T>, Error> {
        let (page, overlooked) = self.decode_overlooking::<Page<RawJson>>(method, page)?;
        self.inner.overlook(method, &overlooked);
        let mut items = Vec::new();
        for (n, item) in page.items.iter().enumerate() {
            let mut overlooked = Vec::new();
            match gosling_text::json::from_str_overlooking(item.get(), &mut overlooked) {
                Ok(item) => items.push(item),
                Err(error) => overlooked.push(format!("all of it: {error}")),
            }
            let fields: Value = gosling_text::json::from_str(item.get()).unwrap_or_default();
            let name = fields["name"].as_str().map(|name| printable(name, QUOTED));
            let name = name.unwrap_or_else(|| format!("item {}", n + 1));
            overlooked
                .iter_mut()
                .for_each(|what| *what = format!("{name} without {what}"));
            self.inner.overlook(method, &overlooked);
        }
        let next = page.next;
        Ok(Page { items, next })
    }

    /// Passes each page of a listing to `take`, which returns the page's next cursor.
    fn pages(
        &self,
        method: &'static str,
        cancel: &Cancel,
        take: &mut dyn FnMut(&RawValue) -> Result<Option<String>, Error>,
    ) -> Result<(), Error> {
        let wrong = |reason| Error::Protocol { method, reason };
        let after = self.inner.options.timeouts.total;
        let begin = Instant::now();
        let mut size = 0;
        let mut seen = HashSet::new();
        let mut cursor = None::<String>;
        for _ in 0..MAX_PAGES {
            let own = cursor.as_ref().map(|cursor| json!({ "cursor": cursor }));
            let params = self.params(own.unwrap_or_else(|| json!({})));
            let page = match self.ask(method, params, cancel) {
                Err(Error::Rpc { error, .. }) if let Some(cursor) = &cursor => {
                    let cursor = printable(cursor, QUOTED);
                    let code = error.code;
                    return Err(wrong(format!(
                        "the server refuses its own cursor {cursor:?}: {} ({code})",
                        error.message
                    )));
                }
                answer => answer?,
            };
            size += page.get().len();
            if size > MAX_LISTING {
                let reason = format!("the listing has more than {MAX_LISTING} bytes");
                return Err(wrong(reason));
            }
            if begin.elapsed() > after {
                return Err(Error::TimedOut { method, after });
            }
            // Some servers send an empty cursor on the last page.
            let Some(next) = take(&page)?.filter(|next| !next.is_empty()) else {
                return Ok(());
            };
            if !seen.insert(next.clone()) {
                let next = printable(&next, QUOTED);
                return Err(wrong(format!("the cursor {next:?} came twice")));
            }
            cursor = Some(next);
        }
        let reason = format!("the listing has more than {MAX_PAGES} pages");
        Err(wrong(reason))
    }
}
