//! Types of arguments and their schemas: what a schema allows can be read, and what cannot be read it refuses.

use gosling::mcp::Client;
use gosling::mcp::arguments;
use gosling::mcp::server::{Context, InProcess, Server, Structured, Tool};
use gosling::mcp::typed::{Argument, Arguments, CallError, schema_of};
use gosling_json_schema::Schema;
use serde_json::{Map, Number, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

arguments! {
    /// What to do.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Command {
        View = "view",
        /// In one place.
        StrReplace = "str_replace",
    }
}

arguments! {
    /// A place in a text, which
    /// begins at 1.
    ///
    /// It is never behind the end.
    #[derive(Debug, PartialEq)]
    struct Place {
        line: u32,
        column: Option<u32>,
    }
}

arguments! {
    /// For readers of the code.
    #[derive(Debug, PartialEq)]
    struct Edit {
        /// What to do
        command: Command,
        /// The file
        path: String,
        at: Place,
        until: Option<Place>,
        #[name("viewRange")]
        view_range: Option<Vec<i64>>,
        r#type: Option<Command>,
    }
}

arguments! {
    #[derive(Debug, PartialEq)]
    struct Limited {
        /// How many steps to take
        #[range(1..=1000)]
        #[default(5)]
        steps: u32,
        #[range(-2.5..=2.5)]
        angle: Option<f64>,
        #[range(i64::MIN..=9007199254740993)]
        large: i64,
        #[default("here".to_owned())]
        place: String,
        #[default(Command::View)]
        command: Command,
    }
}

arguments! {
    #[derive(Debug, PartialEq)]
    struct Numbers {
        tiny: Option<i8>,
        byte: Option<u8>,
        short: Option<i16>,
        port: Option<u16>,
        int: Option<i32>,
        count: Option<u64>,
        long: Option<i64>,
        size: Option<usize>,
        signed: Option<isize>,
        float: Option<f64>,
        number: Option<Number>,
    }
}

arguments! {
    #[derive(Debug, PartialEq)]
    struct Collections {
        flags: Vec<bool>,
        by_name: BTreeMap<String, Place>,
        hashed: Option<HashMap<String, Vec<String>>>,
        anything: Option<Value>,
        object: Option<Map<String, Value>>,
        boxed: Box<Place>,
        maybes: Option<Vec<Option<u8>>>,
    }
}

arguments! {
    /// A folder.
    #[derive(Debug, PartialEq)]
    struct Tree {
        name: String,
        children: Option<Vec<Tree>>,
    }
}

arguments! {
    #[derive(Debug, PartialEq)]
    struct Forest {
        first: Tree,
        second: Option<Box<Tree>>,
        left: Option<Box<Left>>,
        #[default(Vec::new())]
        rest: Vec<Tree>,
    }
}

arguments! {
    #[derive(Debug, PartialEq)]
    struct Left {
        right: Option<Box<Right>>,
    }
}

arguments! {
    #[derive(Debug, PartialEq)]
    struct Right {
        left: Option<Box<Left>>,
        forest: Option<Box<Forest>>,
    }
}

arguments! {
    #[derive(Debug, PartialEq)]
    struct Nothing {}
}

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Values at the edges of every type.
fn odd_values() -> Vec<Value> {
    let texts = [
        "null",
        "true",
        "0",
        "-0",
        "-0.0",
        "1",
        "-1",
        "1.0",
        "3e2",
        "0.5",
        "-2.5",
        "2.5000000000000004",
        "127",
        "128",
        "-128",
        "-129",
        "255",
        "256",
        "255.0",
        "256.0",
        "32767",
        "32768",
        "65535",
        "65536",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "4294967295",
        "4294967296",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740994",
        "9e15",
        "1e16",
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775807.0",
        "-9223372036854775808",
        "-9223372036854775809",
        "-9.3e18",
        "18446744073709551615",
        "18446744073709551616",
        "1.8e19",
        "1.9e19",
        "1e300",
        "-1e300",
        "5e-324",
        "1001",
        "1000.0",
        "1000.5",
        r#""""#,
        r#""a""#,
        r#""view""#,
        r#""str_replace""#,
        r#""View""#,
        r#""1""#,
        "[]",
        "[1]",
        "[true]",
        "[null]",
        "[1,2.0]",
        r#"["a"]"#,
        "{}",
        r#"{"line":1}"#,
        r#"{"line":1,"column":2.0}"#,
        r#"{"line":-1}"#,
        r#"{"line":1,"more":[]}"#,
        r#"{"a":{"line":1}}"#,
        r#"{"a":["b"]}"#,
        r#"{"name":"a"}"#,
        r#"{"name":"a","children":[{"name":"b","children":[]}]}"#,
        r#"{"name":"a","children":[{"name":1}]}"#,
        r#"{"first":{"name":"a"}}"#,
        r#"{"right":{"left":{"right":{"forest":{"first":{"name":"a"}}}}}}"#,
        r#"{"right":{"left":{"right":{"forest":{"first":{"name":[]}}}}}}"#,
        r#"[{"name":"a"}]"#,
    ];
    texts.map(|text| serde_json::from_str(text).unwrap()).into()
}

/// Compares schema and reading for very many objects that are nearly right.
fn agrees<A: Arguments + Debug + PartialEq>(valid: &[Value]) {
    let schema = schema_of::<A>();
    assert_eq!(schema["type"], "object");
    let judge = Schema::new(schema.clone()).expect("a schema");
    assert!(judge.unchecked().is_empty());
    let names = schema["properties"].as_object().expect("properties");
    let names: Vec<&String> = names.keys().collect();
    let odd = odd_values();
    let mut random = Random(valid.len() as u64);
    let mut counts = [0, 0];
    let mut check = |value: &Value| {
        let is_valid = judge.faults(value).is_empty();
        let read = A::read(value.clone());
        counts[usize::from(read.is_ok())] += 1;
        assert!(
            read.is_ok() || !is_valid,
            "{value} is valid, but {read:?}: {schema}"
        );
        // Nothing else is read that is not valid.
        if !value.to_string().contains("null") {
            assert_eq!(is_valid, read.is_ok(), "{value}: {schema}");
        }
        if let Ok(read) = read {
            let written = serde_json::to_value(&read).unwrap();
            assert!(judge.faults(&written).is_empty(), "{written}: {schema}");
            assert_eq!(A::read(written).unwrap(), read);
        }
    };
    for value in valid.iter().chain(&odd) {
        check(value);
    }
    for value in valid {
        assert!(judge.faults(value).is_empty(), "{value}: {schema}");
        for name in &names {
            for odd in &odd {
                let mut value = value.clone();
                value[name.as_str()] = odd.clone();
                check(&value);
            }
            let mut value = value.clone();
            value.as_object_mut().unwrap().remove(name.as_str());
            check(&value);
        }
    }
    for _ in 0..if names.is_empty() { 0 } else { 3000 } {
        let mut value = random.one(valid).clone();
        for _ in 0..1 + random.below(3) {
            value[random.one(&names).as_str()] = random.one(&odd).clone();
        }
        check(&value);
    }
    if !names.is_empty() {
        assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
    }
}

#[test]
fn what_a_schema_allows_is_read_and_what_is_not_read_it_refuses() {
    let place = json!({"line": 1, "column": 2});
    agrees::<Place>(std::slice::from_ref(&place));
    agrees::<Edit>(&[
        json!({"command": "view", "path": "a", "at": place, "viewRange": [1, -1]}),
        json!({"command": "str_replace", "path": "", "at": place, "until": place, "type": "view"}),
    ]);
    agrees::<Limited>(&[
        json!({"large": 1}),
        json!({"steps": 1000, "angle": -2.5, "large": i64::MIN, "place": "", "command": "view"}),
    ]);
    agrees::<Numbers>(&[json!({})]);
    agrees::<Collections>(&[json!({
        "flags": [true], "by_name": {"a": place}, "hashed": {"a": ["b"]}, "anything": 1,
        "object": {"a": 1}, "boxed": place, "maybes": [1, null],
    })]);
    let tree = json!({"name": "a", "children": [{"name": "b"}]});
    agrees::<Tree>(std::slice::from_ref(&tree));
    let left = json!({"right": {"left": {}, "forest": {"first": tree}}});
    agrees::<Forest>(&[json!({"first": tree, "second": tree, "left": left, "rest": [tree]})]);
    agrees::<Left>(std::slice::from_ref(&left));
    agrees::<Right>(&[json!({"left": left})]);
    agrees::<Nothing>(&[json!({}), json!({"a": 1})]);
}

#[test]
fn schemas_say_what_models_need() {
    let edit = schema_of::<Edit>();
    let place = json!({
        "type": "object",
        "properties": {
            "line": {"type": "integer", "minimum": 0, "maximum": u32::MAX},
            "column": {"type": "integer", "minimum": 0, "maximum": u32::MAX},
        },
        "required": ["line"],
        "description": "A place in a text, which begins at 1.\nIt is never behind the end.",
    });
    let command = |what: &str| json!({"type": "string", "enum": ["view", "str_replace"], "description": what});
    let expected = json!({
        "type": "object",
        "properties": {
            "command": command("What to do"),
            "path": {"type": "string", "description": "The file"},
            "at": place,
            "until": place,
            "viewRange": {
                "type": "array",
                "items": {"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX},
            },
            "type": command("What to do."),
        },
        "required": ["command", "path", "at"],
    });
    // As text, because models read it in this order.
    assert_eq!(edit.to_string(), expected.to_string());
    assert_eq!(
        schema_of::<Limited>()["properties"]["steps"].to_string(),
        r#"{"type":"integer","minimum":1,"maximum":1000,"default":5,"description":"How many steps to take"}"#
    );
    assert_eq!(
        schema_of::<Nothing>().to_string(),
        r#"{"type":"object","properties":{}}"#
    );
    let tree = schema_of::<Tree>();
    assert_eq!(
        tree["properties"]["children"]["items"],
        json!({"$ref": "#"})
    );
    let forest = schema_of::<Forest>();
    assert_eq!(forest["properties"]["first"]["$ref"], "#/$defs/Tree");
    assert_eq!(forest["$defs"]["Tree"]["description"], "A folder.");
    assert_eq!(
        schema_of::<BTreeMap<String, bool>>(),
        json!({"type": "object", "additionalProperties": {"type": "boolean"}})
    );
}

#[test]
fn a_mismatch_says_where_and_why() {
    let why = |value: Value| Edit::read(value).unwrap_err().to_string();
    let at = json!({"line": 1});
    let edit = |member: &str, value: Value| {
        let mut edit = json!({"command": "view", "path": "a", "at": at});
        edit[member] = value;
        why(edit)
    };
    assert_eq!(why(json!([])), "it is an array, not an object");
    assert_eq!(why(json!({"path": "a", "at": at})), "`command` is missing");
    assert_eq!(
        edit("command", json!("View")),
        "`command` is \"View\", none of view, str_replace"
    );
    assert_eq!(
        edit("at", json!({"line": "1"})),
        "`at.line` is a string, not an integer"
    );
    assert_eq!(
        edit("at", json!({"line": 1.5})),
        "`at.line` is 1.5, not an integer"
    );
    assert_eq!(
        edit("at", json!({"line": -1})),
        "`at.line` is -1, not within 0 to 4294967295"
    );
    assert_eq!(
        edit("viewRange", json!([1, "2"])),
        "`viewRange[1]` is a string, not an integer"
    );
    let by_name = BTreeMap::<String, Vec<Place>>::read(json!({"a": [at, {}]})).unwrap_err();
    assert_eq!(by_name.to_string(), "`a[1].line` is missing");
    let steps = Limited::read(json!({"steps": 0, "large": 1})).unwrap_err();
    assert_eq!(steps.to_string(), "`steps` is 0, not within 1 to 1000");
}

#[test]
#[should_panic(expected = "the default of `n` is 0, not within 1 to 2")]
fn a_default_out_of_its_range_is_an_error_at_once() {
    arguments! {
        struct Wrong {
            #[range(1..=2)]
            #[default(0)]
            n: u8,
        }
    }
    Tool::typed("wrong", "", |_: Wrong, _: &Context| Ok(""));
}

#[test]
#[should_panic(expected = "two members are called \"a\"")]
fn two_members_of_one_name_are_an_error_at_once() {
    arguments! {
        struct Twice {
            a: u8,
            #[name("a")]
            b: u8,
        }
    }
    Tool::typed("twice", "", |_: Twice, _: &Context| Ok(""));
}

#[test]
fn a_tool_has_the_schema_of_its_type_on_the_wire() {
    arguments! {
        struct Sum {
            sum: i64,
        }
    }
    arguments! {
        struct Addends {
            /// The first number
            #[range(-1000..=1000)]
            a: i64,
            /// The second number
            #[default(1)]
            b: i64,
        }
    }
    let add = Tool::typed("add", "Adds.", |of: Addends, _: &Context| {
        match of.a + of.b {
            13 => Err("thirteen brings bad luck".into()),
            sum => Ok(Structured(Sum { sum })),
        }
    });
    let server = Server::new("calculator", "1").tool(add.title("Add"));
    let client = Client::builder("test", "1")
        .connect(InProcess::new(server))
        .unwrap();
    let tool = &client.list_tools(&gosling::mcp::Cancel::new()).unwrap()[0];
    assert_eq!(tool.title.as_deref(), Some("Add"));
    assert_eq!(tool.input_schema.get(), schema_of::<Addends>().to_string());
    let output = tool.output_schema.as_ref().expect("an output schema");
    assert_eq!(output.get(), schema_of::<Sum>().to_string());

    let sum = |arguments: Value| -> Result<i64, String> {
        match client.call_tool("add", &arguments) {
            Ok(result) => Ok(result.data::<Sum>().unwrap().sum),
            Err(CallError::Tool(result)) => Err(result.all_text()),
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(sum(json!({"a": 1, "b": 2})), Ok(3));
    assert_eq!(sum(json!({"a": 3.0})), Ok(4));
    assert_eq!(
        sum(json!({"a": 12, "b": null})),
        Err("thirteen brings bad luck".to_owned())
    );
    let wrong = |why: &str| Err(format!("The arguments do not fit: {why}."));
    assert_eq!(sum(json!({})), wrong("`a` is missing"));
    assert_eq!(
        sum(json!({"a": "1"})),
        wrong("`a` is a string, not integer")
    );
    assert_eq!(
        sum(json!({"a": 1001})),
        wrong("`a` is 1001, not within -1000 to 1000")
    );
    assert_eq!(
        sum(json!({"a": 1001, "b": null})),
        wrong("`a` is 1001, not within -1000 to 1000")
    );
    // The same type writes the arguments of a client.
    let written = client.call_tool("add", &Addends { a: 1, b: 1 }).unwrap();
    assert_eq!(written.data::<Sum>().unwrap().sum, 2);
}
