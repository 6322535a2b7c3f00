use super::catalogue::{UNCHECKED, all_checks};
use super::declaration::{RequirementLevel, Row};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of SERVER in the manual's page: the level of each, by section and number.
fn contract() -> BTreeMap<(String, usize), String> {
    let page = include_str!("../manual/contract.md");
    let mut rows = BTreeMap::new();
    let mut section = None;
    let mut number = 0;
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title
                .strip_prefix("SERVER ")
                .and_then(|rest| rest.strip_prefix('§'))
                .and_then(|rest| rest.split(' ').next())
                .map(str::to_owned);
            number = 0;
        } else if let (Some(section), Some(row)) = (&section, line.strip_prefix("- ")) {
            number += 1;
            let level = row.split(':').next().unwrap_or_default();
            rows.insert((section.clone(), number), level.to_owned());
        }
    }
    rows
}

fn key((section, number): &Row) -> (String, usize) {
    ((*section).to_owned(), *number)
}

#[test]
fn every_requirement_of_the_contract_has_a_check_or_a_reason() {
    let contract = contract();
    assert!(contract.len() > 80, "{} rows", contract.len());
    let checks = all_checks().into_iter();
    let covered: BTreeSet<(String, usize)> = checks
        .flat_map(|check| check.rows.iter().map(key))
        .collect();
    let unchecked: BTreeSet<(String, usize)> = UNCHECKED.iter().map(|it| key(&it.row)).collect();
    for row in contract.keys() {
        assert!(covered.contains(row) != unchecked.contains(row), "{row:?}");
    }
    for row in covered.iter().chain(&unchecked) {
        assert!(contract.contains_key(row), "{row:?} does not exist");
    }
}

#[test]
fn no_check_asks_for_less_or_more_than_its_requirements() {
    let contract = contract();
    for check in all_checks() {
        assert_eq!(
            check.level == RequirementLevel::Advice,
            check.rows.is_empty(),
            "{}",
            check.name
        );
        let levels = check.rows.iter().map(|row| contract[&key(row)].as_str());
        let strictest = levels.min_by_key(|level| !level.starts_with("MUST"));
        let is_must = strictest.is_some_and(|level| level.starts_with("MUST"));
        if check.level.is_binding() {
            assert!(is_must, "{} is not a MUST", check.name);
        }
    }
}

#[test]
fn numbers_and_names_are_unique_and_in_order() {
    let checks = all_checks();
    assert!(checks.is_sorted_by(|a, b| a.number < b.number));
    let names: BTreeSet<&str> = checks.iter().map(|check| check.name).collect();
    assert_eq!(names.len(), checks.len());
    for check in checks {
        assert!(
            check.requires.ends_with('.') && check.why.ends_with('.') && check.fix.ends_with('.')
        );
    }
}
