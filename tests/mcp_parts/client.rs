//! An MCP client without a model: it answers forms, and calls two tools.

use gosling_mcp::types::ElicitResult;
use gosling_mcp::{Client, Command, arguments};
use std::collections::BTreeMap;
use std::error::Error;

arguments! {
    struct Sum {
        sum: f64,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let program = words
        .next()
        .ok_or("usage: two-tools-client SERVER [NAME]")?;
    let mut client = Client::builder("two-tools-client", "1.0.0");
    if let Some(name) = words.next() {
        client = client
            .on_elicit(move |_form, _cancel| Ok(ElicitResult::accept([("name", name.clone())])));
    }
    let client = client.spawn(Command::new(program))?;
    let sum = client.call_tool("add", &BTreeMap::from([("a", 2.5), ("b", 4.0)]))?;
    println!("{}", sum.data::<Sum>()?.sum);
    match client.call_tool("greet", &BTreeMap::<String, String>::new()) {
        Ok(greeting) => println!("{}", greeting.all_text()),
        Err(failure) => println!("{failure}"),
    }
    client.close();
    Ok(())
}
