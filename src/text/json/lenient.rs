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
mod tests {
    use super::*;
    use gosling_testing::property_testing::{any_json, check};
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct Outer {
        name: String,
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        inner: Inner,
        #[serde(default)]
        items: Vec<Inner>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct Inner {
        #[serde(default)]
        flag: Option<bool>,
        #[serde(default)]
        n: u8,
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        for (json, expected) in [
            (r#"{"name":"a","text":["x"]}"#, &["`text`: "][..]),
            (r#"{"name":"a","inner":"x"}"#, &["`inner`: "]),
            (
                r#"{"name":"a","inner":{"flag":"true","n":[]},"text":5}"#,
                &["`inner.flag`: ", "`inner.n`: ", "`text`: "],
            ),
            (
                r#"{"name":"a","inner":[],"items":[{"n":0},5,{"n":-1},[]]}"#,
                &["`items[1]`: ", "`items[1].n`: "],
            ),
        ] {
            let mut overlooked = Vec::new();
            let read: Outer = from_str_overlooking(json, &mut overlooked).unwrap();
            assert_eq!(
                (read.name.as_str(), read.inner),
                ("a", Inner::default()),
                "{json}"
            );
            assert_eq!(overlooked.len(), expected.len(), "{overlooked:?}");
            for (phrase, start) in overlooked.iter().zip(expected) {
                assert!(phrase.starts_with(start), "{overlooked:?}");
            }
        }
        let mut overlooked = Vec::new();
        let error = from_str_overlooking::<Outer>(r#"{"text":5,"name":6}"#, &mut overlooked);
        assert!(
            error.unwrap_err().to_string().contains("integer `5`"),
            "the first error"
        );
        assert!(overlooked.is_empty());
    }

    #[test]
    fn of_php_only_empty_arrays_are_read_otherwise() {
        let read = |json: &str| from_str_of_php::<Outer>(json);
        assert!(read(r#"{"name":"a","inner":[],"items":[[]]}"#).is_ok());
        for refused in [
            r#"{"name":"a","inner":[1]}"#,
            r#"{"name":"a","inner":true}"#,
            r#"{"name":[]}"#,
        ] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn any_json_is_read_or_refused() {
        check(|u| {
            let json = any_json(u, &["name", "text", "inner", "items", "flag", "n"], 4)?;
            let mut overlooked = Vec::new();
            let read = from_str_overlooking::<Outer>(&json.to_string(), &mut overlooked);
            assert_eq!(read.is_ok(), json["name"].is_string(), "{json}");
            Ok(())
        });
    }
}
