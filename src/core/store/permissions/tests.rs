use super::*;
use std::fs;

struct Place(std::path::PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("gosling-permissions-{name}-{}", std::process::id());
        let place = Place(std::env::temp_dir().join(name));
        fs::create_dir_all(place.0.join("config")).unwrap();
        place
    }

    fn says(&self, text: &str) {
        fs::write(self.0.join("config/permission.yaml"), text).unwrap();
    }

    fn permissions(&self) -> Permissions {
        Permissions::new(&Paths::under(&self.0))
    }

    fn text(&self) -> String {
        fs::read_to_string(self.0.join("config/permission.yaml")).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_decision_stands_until_the_next_one() {
    let place = Place::new("decision");
    let permissions = place.permissions();
    assert_eq!(permissions.level("a__b").unwrap(), None);
    for level in [
        PermissionLevel::AskBefore,
        PermissionLevel::AlwaysAllow,
        PermissionLevel::NeverAllow,
    ] {
        permissions.set_all(&[("a__b", level)]).unwrap();
        assert_eq!(permissions.level("a__b").unwrap(), Some(level));
        assert_eq!(place.text().matches("a__b").count(), 1, "{}", place.text());
    }
    assert_eq!(permissions.level("a__c").unwrap(), None);
    assert_eq!(
        place.text(),
        "user:\n  always_allow: []\n  ask_before: []\n  never_allow:\n  - a__b\n"
    );
}

#[test]
fn what_others_wrote_stays() {
    let place = Place::new("others");
    place.says(
        "smart_approve:\n  always_allow: [x__y]\nuser:\n  note: mine\n  always_allow: [k__l, a__b, 7]\nlater: 1\n",
    );
    let permissions = place.permissions();
    assert_eq!(permissions.level("x__y").unwrap(), None);
    permissions
        .set_all(&[("a__b", PermissionLevel::NeverAllow)])
        .unwrap();
    assert_eq!(
        place.text(),
        "smart_approve:\n  always_allow:\n  - x__y\nuser:\n  note: mine\n  always_allow:\n  - k__l\n  - 7\n  \
         ask_before: []\n  never_allow:\n  - a__b\nlater: 1\n"
    );
}

#[test]
fn the_strictest_of_several_counts() {
    let place = Place::new("strictest");
    place.says("user:\n  always_allow: [a, b]\n  ask_before: [a, b]\n  never_allow: [a]\n");
    let permissions = place.permissions();
    assert_eq!(
        permissions.level("a").unwrap(),
        Some(PermissionLevel::NeverAllow)
    );
    assert_eq!(
        permissions.level("b").unwrap(),
        Some(PermissionLevel::AskBefore)
    );
    let all = permissions.all().unwrap();
    assert_eq!(
        (all["a"], all["b"]),
        (PermissionLevel::NeverAllow, PermissionLevel::AskBefore)
    );
}

#[test]
fn a_file_that_makes_no_sense_allows_nothing_and_stays() {
    let place = Place::new("odd");
    for odd in [
        "user: [a]\n",
        "user:\n  always_allow: a\n",
        "user: {",
        "- a\n",
    ] {
        place.says(odd);
        let permissions = place.permissions();
        assert!(permissions.level("a").is_err(), "{odd}");
        assert!(permissions.all().is_err(), "{odd}");
        let allow = [("a", PermissionLevel::AlwaysAllow)];
        assert!(permissions.set_all(&allow).is_err(), "{odd}");
        assert_eq!(place.text(), odd);
    }
}

#[test]
fn always_holds_for_the_origin_it_was_given_for_and_never_for_all() {
    use PermissionLevel::{AlwaysAllow, AskBefore, NeverAllow};
    let place = Place::new("origin");
    let permissions = place.permissions();
    let origin = |extension: &str, tool: &str, launch: &str| ToolOrigin {
        extension: extension.to_owned(),
        tool: tool.to_owned(),
        launch: launch.to_owned(),
    };
    let level = |origin: &ToolOrigin| permissions.level_for("a__b__c", origin).unwrap();
    let [one, two] = [origin("a", "b__c", "1"), origin("a__b", "c", "1")];
    permissions.set("a__b__c", AlwaysAllow, Some(&one)).unwrap();
    assert_eq!(level(&one), Some(AlwaysAllow));
    assert_eq!(level(&two), Some(AskBefore));
    let other = origin("a", "b__c", "2");
    assert_eq!(level(&other), Some(AskBefore));
    permissions
        .set("a__b__c", AlwaysAllow, Some(&other))
        .unwrap();
    for known in [&one, &other] {
        assert_eq!(level(known), Some(AlwaysAllow));
    }
    for launch in 3..=17 {
        let later = origin("a", "b__c", &launch.to_string());
        permissions
            .set("a__b__c", AlwaysAllow, Some(&later))
            .unwrap();
    }
    assert_eq!(level(&one), Some(AskBefore), "the oldest is forgotten");
    permissions.set("a__b__c", NeverAllow, Some(&one)).unwrap();
    for any in [&one, &two, &other] {
        assert_eq!(level(any), Some(NeverAllow));
    }
    // A client does not say what it is for: the next origin takes it.
    permissions.set_all(&[("a__b__c", AlwaysAllow)]).unwrap();
    assert_eq!(level(&two), Some(AlwaysAllow));
    assert_eq!(level(&one), Some(AskBefore));
    fs::write(
        place.0.join("config/permission_launches.yaml"),
        "always_allow: 5\n",
    )
    .unwrap();
    assert!(permissions.level_for("a__b__c", &two).is_err());
}

#[test]
fn a_revoked_always_does_not_come_back_with_that_of_another_origin() {
    use PermissionLevel::{AlwaysAllow, AskBefore, NeverAllow};
    let place = Place::new("revoked");
    let permissions = place.permissions();
    let origin = |launch: &str| ToolOrigin {
        extension: "a".to_owned(),
        tool: "b".to_owned(),
        launch: launch.to_owned(),
    };
    let level = |launch| permissions.level_for("a__b", &origin(launch)).unwrap();
    let set = |level, launch| {
        permissions
            .set("a__b", level, Some(&origin(launch)))
            .unwrap()
    };
    let edit = |level| place.says(&format!("user:\n  {level}: [a__b]\n"));
    for revoke in [
        &|| set(NeverAllow, "2") as (),
        &|| set(AskBefore, "2"),
        &|| edit("ask_before"),
        &|| edit("other"),
        &|| {
            set(NeverAllow, "1");
            edit("ask_before");
        },
    ] as [&dyn Fn(); 5]
    {
        set(AlwaysAllow, "1");
        assert_eq!(level("1"), Some(AlwaysAllow));
        revoke();
        set(AlwaysAllow, "2");
        assert_eq!(level("2"), Some(AlwaysAllow));
        assert_eq!(level("1"), Some(AskBefore));
    }
}
