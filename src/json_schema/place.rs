//! The place of a value within a document, as a JSON pointer (RFC 6901).

use super::SchemaFault;
use gosling_text::printable;
use std::fmt::Write;

/// How long a pointer may become, in bytes.
pub(super) const MAX_POINTER: usize = 1_000;

/// A place in a document, as a list from the innermost step outwards.
#[derive(Clone, Copy)]
pub(super) struct Place<'p>(Option<(&'p Place<'p>, Step<'p>)>);

#[derive(Clone, Copy)]
pub(super) enum Step<'p> {
    Name(&'p str),
    Index(usize),
}

impl<'p> Place<'p> {
    pub(super) const ROOT: Place<'static> = Place(None);

    pub(super) fn name(&'p self, name: &'p str) -> Place<'p> {
        Place(Some((self, Step::Name(name))))
    }

    pub(super) fn index(&'p self, index: usize) -> Place<'p> {
        Place(Some((self, Step::Index(index))))
    }

    pub(super) fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut place = self;
        while let Some((outer, step)) = &place.0 {
            steps.push(step);
            place = outer;
        }
        let mut pointer = String::new();
        for step in steps.iter().rev() {
            let _ = match step {
                Step::Index(index) => write!(pointer, "/{index}"),
                Step::Name(name) => {
                    let name = printable(name, MAX_POINTER);
                    write!(pointer, "/{}", name.replace('~', "~0").replace('/', "~1"))
                }
            };
            if pointer.len() > MAX_POINTER {
                pointer.push('…');
                break;
            }
        }
        pointer
    }

    pub(super) fn fault(&self, reason: impl Into<String>) -> SchemaFault {
        SchemaFault {
            pointer: self.pointer(),
            reason: reason.into(),
        }
    }
}
