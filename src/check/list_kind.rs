//! The kinds of lists that a server may have.

/// A kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListKind {
    pub(super) const ALL: [ListKind; 4] = [
        ListKind::Tools,
        ListKind::Resources,
        ListKind::Templates,
        ListKind::Prompts,
    ];

    /// Those that every server with their capability has.
    pub(super) const EXPECTED: [ListKind; 3] =
        [ListKind::Tools, ListKind::Resources, ListKind::Prompts];

    /// The method, the capability, the field of the result, and the field that identifies an entry.
    const fn names(self) -> [&'static str; 4] {
        match self {
            ListKind::Tools => ["tools/list", "tools", "tools", "name"],
            ListKind::Resources => ["resources/list", "resources", "resources", "uri"],
            ListKind::Templates => [
                "resources/templates/list",
                "resources",
                "resourceTemplates",
                "uriTemplate",
            ],
            ListKind::Prompts => ["prompts/list", "prompts", "prompts", "name"],
        }
    }

    pub(super) const fn method(self) -> &'static str {
        self.names()[0]
    }

    pub(super) const fn capability(self) -> &'static str {
        self.names()[1]
    }

    /// The field of the result.
    pub(super) const fn field(self) -> &'static str {
        self.names()[2]
    }

    /// The field that identifies an entry.
    pub(super) const fn key(self) -> &'static str {
        self.names()[3]
    }
}
