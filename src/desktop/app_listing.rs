//! The MCP Apps of a session: the user interfaces among the resources of its servers (SEP-1865).

use crate::extension::{Error, ExtensionItem, Listing, Manager, Phase, UI_MIME_TYPE};
use crate::mcp::types::{Resource, ResourceContents};
use crate::sys::cancel::Cancel;
use std::collections::HashSet;

/// The most apps of one listing.
const MAX_APPS: usize = 64;

/// The most bytes of HTML of one listing.
const MAX_HTML: usize = 32 << 20;

/// One user interface.
#[derive(Debug)]
pub(crate) struct App {
    /// As the server lists it; of an app that only a tool names, the tool's name and description.
    pub(crate) resource: Resource,
    /// Its HTML.
    pub(crate) contents: ResourceContents,
}

/// The user interfaces of all extensions with their HTML. A server may list them as resources, or name
/// them only in its tools. Those that cannot be read are missing, and the errors say why.
pub(crate) fn apps(manager: &Manager, cancel: &Cancel) -> Listing<App> {
    let Listing { items, mut errors } = manager.resources(None, cancel);
    let is_app =
        |item: &ExtensionItem<Resource>| item.item.mime_type.as_deref() == Some(UI_MIME_TYPE);
    let mut named: Vec<_> = items.into_iter().filter(is_app).collect();
    named.extend(apps_of_tools(manager, cancel));
    let mut seen = HashSet::new();
    named.retain(|app| seen.insert((app.extension.clone(), app.item.uri.clone())));
    named.truncate(MAX_APPS);
    let (mut apps, mut bytes) = (Vec::new(), 0);
    for ExtensionItem { extension, item } in named {
        if cancel.check() || bytes > MAX_HTML {
            break;
        }
        match html(manager, &extension, &item.uri, cancel) {
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

fn apps_of_tools(
    manager: &Manager,
    cancel: &Cancel,
) -> impl Iterator<Item = ExtensionItem<Resource>> {
    let tools = manager.tools(None, cancel).into_iter();
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

fn html(
    manager: &Manager,
    extension: &str,
    uri: &str,
    cancel: &Cancel,
) -> Result<ResourceContents, Error> {
    let read = manager.read_resource(extension, uri, cancel)?;
    let is_html = |contents: &ResourceContents| contents.mime_type.as_deref() == Some(UI_MIME_TYPE);
    read.contents.into_iter().find(is_html).ok_or_else(|| {
        let reason = format!("the resource {uri:?} has no content of the type {UI_MIME_TYPE}");
        Error::new(extension, Phase::Protocol, reason)
    })
}
