//! The tools of a request as the provider accepts them: those that it refuses are left out, with words for the user,
//! so that one odd tool does not end a session. No I/O.

use super::ToolSpec;
use super::request_form::RequestForm;
use super::tool_schema::{Repaired, SchemaRules, holds, renamed_arguments, repaired};
use crate::conversation::{Content, Message, Outcome};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// By the tool's name, names of properties by those that replace them.
type Renamed = HashMap<String, BTreeMap<String, String>>;

/// The tools that a request offers.
#[derive(Debug, Default)]
pub(super) struct ToolOffer<'t> {
    pub(super) tools: Cow<'t, [ToolSpec]>,
    /// The names of tools that are left out, each with a sentence for the user about why.
    pub(super) left_out: Vec<(String, String)>,
    /// The properties of arguments that have another name, each with its own one.
    renamed: Renamed,
}

impl<'t> ToolOffer<'t> {
    /// The offer of these tools to a provider with these rules, in this form.
    pub(super) fn new(tools: &'t [ToolSpec], rules: &SchemaRules, form: &RequestForm) -> Self {
        let is_fine = |tool: &ToolSpec| {
            !tool.description.trim().is_empty()
                && !form.left_out_tools.contains(&tool.name)
                && holds(tool.input_schema.get(), rules)
        };
        let fits = tools.len() <= rules.max_tools && !form.without_tools;
        if fits && tools.iter().all(is_fine) {
            return ToolOffer {
                tools: tools.into(),
                ..ToolOffer::default()
            };
        }
        let mut offer = ToolOffer::default();
        let mut offered = Vec::new();
        for tool in tools {
            // The server's own words were told when it refused them.
            if form.without_tools || form.left_out_tools.contains(&tool.name) {
                continue;
            }
            if offered.len() == rules.max_tools {
                let (name, most) = (&tool.name, rules.max_tools);
                let why =
                    format!("The tool {name} is left out: the model takes {most} tools at most");
                offer.left_out.push((name.clone(), why));
                continue;
            }
            match offer.repaired(tool, rules) {
                Ok(tool) => offered.push(tool),
                Err(why) => {
                    let why = format!("The tool {} is left out: {why}", tool.name);
                    offer.left_out.push((tool.name.clone(), why));
                }
            }
        }
        offer.tools = offered.into();
        offer
    }

    fn repaired(&mut self, tool: &ToolSpec, rules: &SchemaRules) -> Result<ToolSpec, &'static str> {
        let mut tool = tool.clone();
        if tool.description.trim().is_empty() {
            tool.description.clone_from(&tool.name);
        }
        if !holds(tool.input_schema.get(), rules) {
            let Repaired {
                schema,
                renamed,
                note,
            } = repaired(tool.input_schema.get(), rules)?;
            tool.input_schema = schema;
            if !note.is_empty() {
                tool.description.push('\n');
                tool.description.push_str(&note);
            }
            if !renamed.is_empty() {
                self.renamed.insert(tool.name.clone(), renamed);
            }
        }
        Ok(tool)
    }

    /// Gives the arguments of calls their own names back.
    pub(super) fn restore_arguments(&self, content: &mut [Content]) {
        rename_arguments(content, &self.renamed);
    }

    /// The messages with the names that this offer has in the arguments of their calls; `None` if it has no others.
    pub(super) fn replayed<'m>(&self, messages: &[&'m Message]) -> Option<Vec<Cow<'m, Message>>> {
        if self.renamed.is_empty() {
            return None;
        }
        let inverse = |(tool, names): (&String, &BTreeMap<String, String>)| {
            let names = names.iter().map(|(new, own)| (own.clone(), new.clone()));
            (tool.clone(), names.collect())
        };
        let offered: Renamed = self.renamed.iter().map(inverse).collect();
        let replayed = messages.iter().map(|message| {
            let mut message = Cow::Borrowed(*message);
            if message.tool_requests().next().is_some() {
                rename_arguments(&mut message.to_mut().content, &offered);
            }
            message
        });
        Some(replayed.collect())
    }
}

fn rename_arguments(content: &mut [Content], renamed: &Renamed) {
    if renamed.is_empty() {
        return;
    }
    for part in content {
        if let Content::ToolRequest(request) = part
            && let Outcome::Success { value } = &mut request.tool_call
            && let Some(names) = renamed.get(&value.name)
            && let Some(arguments) = renamed_arguments(value.arguments.get(), names)
        {
            value.arguments = arguments;
        }
    }
}

#[cfg(test)]
mod tests;
