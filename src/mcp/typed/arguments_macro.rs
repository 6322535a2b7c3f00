//! The macro that declares types of arguments.

/// Declares a type of arguments: a struct, or an enum of texts. Its reading, its writing and its JSON Schema come from
/// this one place, so they cannot disagree.
///
/// ```
/// use gosling_mcp::arguments;
///
/// arguments! {
///     /// How a picture is turned.
///     #[derive(Debug, PartialEq)]
///     pub enum Turn {
///         Left = "left",
///         UpsideDown = "upside-down",
///     }
/// }
///
/// arguments! {
///     #[derive(Debug)]
///     pub struct Show {
///         /// The file.
///         pub path: String,
///         /// How often to show it.
///         #[range(1..=9)]
///         #[default(1)]
///         pub times: u32,
///         #[name("turnedBy")]
///         pub turn: Option<Turn>,
///     }
/// }
///
/// let show: Show = serde_json::from_str(r#"{"path": "a.png", "turnedBy": "left"}"#)?;
/// assert_eq!((show.times, show.turn), (1, Some(Turn::Left)));
/// let schema = gosling_mcp::typed::schema_of::<Show>();
/// assert_eq!(schema["required"], serde_json::json!(["path"]));
/// assert_eq!(schema["properties"]["path"]["description"], "The file.");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// - A field is of a type that is an [`Argument`](crate::typed::Argument): a whole number, `f64`, `bool`, `String`,
///   `serde_json::Value`, a list, a map with texts as keys, a `Box` of these, or a type that this macro declares.
///   Types may contain themselves.
/// - `Option<_>` may be missing, and `null` counts as missing. So may a field with a default.
/// - Documentation comments of fields are their descriptions; that of a struct within another one is its description.
/// - Attributes of a field stand in this order, after its documentation: `#[name("…")]` is its name in JSON,
///   `#[range(a..=b)]` limits a number, `#[default(value)]` is what it is when it is missing. There are no others: those
///   of serde could make the reading differ from the schema. Of a type, `#[derive(…)]` may follow its documentation;
///   serde's traits are there already.
/// - Unknown members are ignored.
#[macro_export]
macro_rules! arguments {
    (
        $(#[doc = $doc:expr])*
        $(#[derive($($derive:path),* $(,)?)])?
        $visible:vis struct $name:ident {
            $(
                $(#[doc = $field_doc:expr])*
                $(#[name($key:expr)])?
                $(#[range($range:expr)])?
                $(#[default($default:expr)])?
                $field_visible:vis $field:ident: $type:ty
            ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        $(#[derive($($derive),*)])?
        $visible struct $name {
            $(
                $(#[doc = $field_doc])*
                $field_visible $field: $type,
            )*
        }

        const _: () = {
            use $crate::typed::macro_support as support;

            impl support::Argument for $name {
                fn schema(definitions: &mut support::Definitions) -> support::Value {
                    definitions.object::<Self>(
                        stringify!($name),
                        &[$($doc),*],
                        |_definitions, _members| {
                            $(
                                support::Field::<$type>::new(stringify!($field), &[$($field_doc),*])
                                    $(.name($key))?
                                    $(.range($range))?
                                    $(.default($default))?
                                    .add_to(_members, _definitions);
                            )*
                        },
                    )
                }

                fn read(value: support::Value) -> Result<Self, support::Mismatch> {
                    let mut _members = support::members(value)?;
                    Ok($name {
                        $(
                            $field: support::Field::<$type>::new(stringify!($field), &[])
                                $(.name($key))?
                                $(.range($range))?
                                $(.default($default))?
                                .take(&mut _members)?,
                        )*
                    })
                }
            }

            impl support::Arguments for $name {}

            impl support::serde::Serialize for $name {
                fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
                where
                    S: support::serde::Serializer,
                {
                    let mut map = support::serde::Serializer::serialize_map(serializer, None)?;
                    $(
                        if !support::Argument::is_missing(&self.$field) {
                            let field = support::Field::<$type>::new(stringify!($field), &[])
                                $(.name($key))?;
                            support::SerializeMap::serialize_entry(
                                &mut map,
                                field.json_name(),
                                &self.$field,
                            )?;
                        }
                    )*
                    support::SerializeMap::end(map)
                }
            }

            $crate::typed::macro_support::deserialize!($name);
        };
    };
    (
        $(#[doc = $doc:expr])*
        $(#[derive($($derive:path),* $(,)?)])?
        $visible:vis enum $name:ident {
            $(
                $(#[doc = $variant_doc:expr])*
                $variant:ident = $text:literal
            ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        $(#[derive($($derive),*)])?
        $visible enum $name {
            $(
                $(#[doc = $variant_doc])*
                $variant,
            )+
        }

        const _: () = {
            use $crate::typed::macro_support as support;

            impl support::Argument for $name {
                fn schema(_: &mut support::Definitions) -> support::Value {
                    support::texts(&[$($text),+], &[$($doc),*])
                }

                fn read(value: support::Value) -> Result<Self, support::Mismatch> {
                    match value.as_str() {
                        $(Some($text) => Ok($name::$variant),)+
                        _ => Err(support::none_of(&value, &[$($text),+])),
                    }
                }
            }

            impl support::serde::Serialize for $name {
                fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
                where
                    S: support::serde::Serializer,
                {
                    serializer.serialize_str(match self {
                        $($name::$variant => $text,)+
                    })
                }
            }

            $crate::typed::macro_support::deserialize!($name);
        };
    };
}

/// Reads a type with serde as its [`Argument`](crate::typed::Argument) is read.
#[doc(hidden)]
#[macro_export]
macro_rules! __deserialize_argument {
    ($name:ident) => {
        impl<'de> support::serde::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: support::serde::Deserializer<'de>,
            {
                let value =
                    <support::Value as support::serde::Deserialize>::deserialize(deserializer)?;
                let read = <Self as support::Argument>::read(value);
                read.map_err(support::serde::de::Error::custom)
            }
        }
    };
}
