use super::*;
use crate::extension::config::key;
use gosling_testing::property_testing::{any_text, check, one_of, vec_of};

#[test]
fn the_longest_key_that_fits_counts() {
    let keys = ["a", "a__b", "a_", "b"];
    for (name, expected) in [
        ("a__b__c", Some(("a__b", "c"))),
        ("a__b", Some(("a", "b"))),
        ("a__bb__c", Some(("a", "bb__c"))),
        ("a___c", Some(("a_", "c"))),
        ("b__", Some(("b", ""))),
        ("c__d", None),
        ("a", None),
        ("", None),
    ] {
        assert_eq!(owner(name, keys), expected, "{name:?}");
    }
}

#[test]
fn a_name_leads_back_to_its_tool_or_to_an_extension_whose_key_begins_like_it() {
    check(|u| {
        let names = ["a", "b", "_", "__", "-", " ", "A", "é"];
        let mut keys = vec_of(u, 5, |u| {
            Ok(key(&vec_of(u, 4, |u| one_of(u, &names))?.concat()))
        })?;
        keys.retain(|key| !key.is_empty());
        let Some(mine) = keys.first() else {
            return Ok(());
        };
        let mut tool = vec_of(u, 4, |u| one_of(u, &names))?.concat() + &any_text(u)?;
        if u.ratio(1, 20)? {
            tool = tool.repeat(500);
        }
        let full = full_name(mine, &tool);
        let (found, rest) = owner(&full, keys.iter().map(String::as_str)).unwrap();
        assert_eq!(format!("{found}__{rest}"), full);
        if found == mine {
            assert_eq!(rest, tool);
        } else {
            assert!(found.len() > mine.len() && found.starts_with(mine.as_str()));
        }
        Ok(())
    });
}

#[test]
fn a_key_is_safe_and_its_own_key() {
    check(|u| {
        let name = any_text(u)?;
        let safe = key(&name);
        let allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-');
        assert!(safe.chars().all(allowed), "{safe:?}");
        assert_eq!(key(&safe), safe);
        assert!(safe.len() <= name.len());
        Ok(())
    });
}
