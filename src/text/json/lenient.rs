//! Reading JSON that other languages write in other ways: PHP has one empty array for lists and objects, and a
//! member that does not fit may be beside the point.

use super::{Step, from_str, place, steps_of, without_place};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The most places of a text that are changed.
const MAX_CHANGES: usize = 50;

/// As [`from_str`], but an empty array where an object is expected counts as one.
///
/// # Errors
/// As `from_str`.
pub fn from_str_of_php<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    read(json, false, &mut Vec::new())
}

/// As [`from_str_of_php`], and a member or item that does not fit is left out; `overlooked` gets a phrase for each.
///
/// # Errors
/// The first error, if the text is not JSON or what is left does not fit either.
pub fn from_str_overlooking<T: DeserializeOwned>(
    json: &str,
    overlooked: &mut Vec<String>,
) -> serde_json::Result<T> {
    read(json, true, overlooked)
}

fn read<T: DeserializeOwned>(
    json: &str,
    leaves_out: bool,
    overlooked: &mut Vec<String>,
) -> serde_json::Result<T> {
    let first = match from_str(json) {
        Err(error) if error.is_data() => error,
        read => return read,
    };
    let Ok(mut value) = from_str::<Value>(json) else {
        return Err(first);
    };
    let mut phrases = Vec::new();
    for _ in 0..MAX_CHANGES {
        let text = value.to_string();
        let error = match from_str(&text) {
            Ok(read) => {
                overlooked.append(&mut phrases);
                return Ok(read);
            }
            Err(error) => error,
        };
        let steps = steps_of(&error, &text);
        if make_object(&mut value, &steps) {
            continue;
        }
        if !leaves_out || !leave_out(&mut value, &steps) {
            break;
        }
        phrases.push(format!("`{}`: {}", place(&steps), without_place(error)));
    }
    Err(first)
}

/// Makes an object of the empty array at this place; false if there is none.
fn make_object(value: &mut Value, steps: &[Step]) -> bool {
    match at(value, steps) {
        Some(array @ Value::Array(_)) if array.as_array().is_some_and(Vec::is_empty) => {
            *array = Value::Object(Map::new());
            true
        }
        _ => false,
    }
}

/// Removes what is at this place; false if nothing is, or the place is the whole.
fn leave_out(value: &mut Value, steps: &[Step]) -> bool {
    let Some((last, way)) = steps.split_last() else {
        return false;
    };
    match (at(value, way), last) {
        (Some(Value::Object(members)), Step::Key(key)) => members.shift_remove(key).is_some(),
        (Some(Value::Array(items)), Step::Index(n)) if *n < items.len() => {
            items.remove(*n);
            true
        }
        _ => false,
    }
}

fn at<'v>(value: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Index(n) => value.get_mut(n),
        Step::Key(key) => value.get_mut(key),
    })
}

#[cfg(test)]
mod tests;
