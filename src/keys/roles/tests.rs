use super::{Role, TABLE, role_of};
use serde_json::Value;
use std::collections::BTreeSet;

/// The operations of the OpenAPI document with their `x-role`; `None` for those without a key.
fn documented() -> Vec<(String, Option<Role>)> {
    let document: Value = serde_json::from_str(include_str!("../../manual/openapi.json")).unwrap();
    let mut all = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let name = format!("{} {path}", method.to_uppercase());
            let role = operation["x-role"].as_str();
            let role = role.unwrap_or_else(|| panic!("{name} has no x-role"));
            let needs_key = role != "none";
            let role =
                needs_key.then(|| Role::named(role).unwrap_or_else(|| panic!("{name}: {role}")));
            all.push((name, role));
        }
    }
    all
}

#[test]
fn the_document_and_the_table_have_the_same_routes_with_the_same_roles() {
    let mut rows = BTreeSet::new();
    for (role, operations) in TABLE {
        for operation in *operations {
            assert!(rows.insert(*operation), "{operation} is there twice");
            assert_eq!(role_of(operation), *role);
        }
    }
    let documented = documented();
    for (operation, role) in &documented {
        assert_eq!(
            role.is_some(),
            rows.contains(operation.as_str()),
            "{operation}"
        );
        if let Some(role) = role {
            assert_eq!(role_of(operation), *role, "{operation}");
        }
    }
    rows.retain(|row| !row.starts_with("acp ") && !documented.iter().any(|(name, _)| name == row));
    assert!(rows.is_empty(), "not in the document: {rows:?}");
}

#[test]
fn what_the_table_lacks_needs_everything() {
    for unknown in [
        "",
        "GET /",
        "GET /config/new",
        "get /metrics",
        "POST /metrics",
        "acp session/nwe",
    ] {
        assert_eq!(role_of(unknown), Role::Admin, "{unknown}");
    }
}

#[test]
fn roles_are_in_order_and_known_by_their_names() {
    assert!(Role::ALL.is_sorted());
    for role in Role::ALL {
        assert_eq!(Role::named(role.as_str()), Some(role));
    }
    for wrong in ["", "Admin", "admin ", "root"] {
        assert_eq!(Role::named(wrong), None);
    }
}
