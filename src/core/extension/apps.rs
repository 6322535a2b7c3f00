//! The MCP Apps of a session: the user interfaces among the resources of its servers (SEP-1865).

use super::connect::UI_MIME_TYPE;
use super::{Error, ExtensionItem, Listing, Manager};
use crate::mcp::types::{Resource, ResourceContents};
use crate::sys::cancel::Cancel;
use std::collections::HashSet;

/// The most apps of one listing.
const MAX_APPS: usize = 64;

/// The most bytes of HTML of one listing.
const MAX_HTML: usize = 32 << 20;

/// One user interface.
#[derive(Debug)]
pub struct App {
    /// As the server lists it; of an app that only a tool names, the tool's name and description.
    pub resource: Resource,
    /// Its HTML.
    pub contents: ResourceContents,
}

impl Manager {
    /// The user interfaces of all extensions with their HTML. A server may list them as resources, or name
    /// them only in its tools. Those that cannot be read are missing, and the errors say why.
    pub fn apps(&self, cancel: &Cancel) -> Listing<App> {
        let Listing { items, mut errors } = self.resources(None, cancel);
        let is_app =
            |item: &ExtensionItem<Resource>| item.item.mime_type.as_deref() == Some(UI_MIME_TYPE);
        let mut named: Vec<_> = items.into_iter().filter(is_app).collect();
        named.extend(self.apps_of_tools(cancel));
        let mut seen = HashSet::new();
        named.retain(|app| seen.insert((app.extension.clone(), app.item.uri.clone())));
        named.truncate(MAX_APPS);
        let (mut apps, mut bytes) = (Vec::new(), 0);
        for ExtensionItem { extension, item } in named {
            if cancel.probe() || bytes > MAX_HTML {
                break;
            }
            match self.html(&extension, &item.uri, cancel) {
                Ok(contents) => {
                    bytes += contents.text.as_ref().map_or(0, String::len);
                    let item = App {
                        resource: item,
                        contents,
                    };
                    apps.push(ExtensionItem { extension, item });
                }
                Err(error) => errors.push(error),
            }
        }
        Listing {
            items: apps,
            errors,
        }
    }

    fn apps_of_tools(&self, cancel: &Cancel) -> impl Iterator<Item = ExtensionItem<Resource>> {
        let tools = self.tools(None, cancel).into_iter();
        tools.filter_map(|listed| {
            let ui = listed.tool.ui()?;
            let uri = ui.get("resourceUri")?.as_str()?.to_owned();
            let item = Resource {
                uri,
                name: listed.tool.name,
                title: listed.tool.title,
                description: listed.tool.description,
                ..Resource::default()
            };
            Some(ExtensionItem {
                extension: listed.extension,
                item,
            })
        })
    }

    fn html(&self, extension: &str, uri: &str, cancel: &Cancel) -> Result<ResourceContents, Error> {
        let read = self.read_resource(extension, uri, cancel)?;
        let is_html =
            |contents: &ResourceContents| contents.mime_type.as_deref() == Some(UI_MIME_TYPE);
        read.contents.into_iter().find(is_html).ok_or_else(|| {
            let reason = format!("the resource {uri:?} has no content of the type {UI_MIME_TYPE}");
            Error::new(extension, super::Phase::Protocol, reason)
        })
    }
}
