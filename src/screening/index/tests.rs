use super::*;
use crate::versions;
use std::io::Cursor;

fn malware(name: &str, id: &str, versions: &str) -> Malware {
    Malware {
        ecosystem: "npm",
        name: name.to_owned(),
        id: id.to_owned(),
        versions: versions.to_owned(),
    }
}

fn ids(text: &str, name: &str) -> Vec<String> {
    let found = find(&mut Cursor::new(text), Ecosystem::Npm, name).unwrap();
    found.into_iter().map(|it| it.id).collect()
}

#[test]
fn every_entry_is_found_and_nothing_else() {
    gosling_testing::property_testing::check(|u| {
        let mut all = Vec::new();
        for n in 0..u.int_in_range(0..=12)? {
            // Names that begin alike, of different lengths.
            let name = "ab".repeat(u.int_in_range(1..=6)?) + u.choose(&["", "-", "c", "/x"])?;
            let versions = "1.0.0 ".repeat(u.int_in_range(1..=40)?);
            all.push(malware(&name, &format!("MAL-{n:02}"), versions.trim_end()));
        }
        let text = write(all.clone());
        for name in ["ab", "a", "abab", "abab-", "zz", ""] {
            assert_eq!(
                ids(&text, name).len(),
                all.iter().filter(|it| it.name == name).count()
            );
        }
        for one in &all {
            let found = find(&mut Cursor::new(&text), Ecosystem::Npm, &one.name).unwrap();
            assert!(found.contains(one), "{one:?} in {text}");
            let other = find(&mut Cursor::new(&text), Ecosystem::PyPi, &one.name).unwrap();
            assert_eq!(other, []);
        }
        Ok(())
    });
}

#[test]
fn many_versions_are_on_several_lines() {
    let many: Vec<String> = (0..20_000).map(|n| format!("1.0.{n}")).collect();
    let text = write(vec![malware("p", "MAL-1", &many.join(" "))]);
    assert!(text.lines().all(|line| (line.len() as u64) < MAX_LINE));
    let found = find(&mut Cursor::new(&text), Ecosystem::Npm, "p").unwrap();
    assert!(found.len() > 1);
    let all: Vec<String> = found.iter().map(|it| it.versions.clone()).collect();
    assert_eq!(all.join(" ").split(' ').count(), many.len());
    assert_eq!(
        write(vec![malware("p", "M", versions::ALL)])
            .lines()
            .count(),
        2
    );
}

#[test]
fn a_broken_index_is_an_error() {
    for line in ["npm\tp\tMAL-1\t1.0.0", "npm\tp\tMAL-1\n", "npm\tp\t\n"] {
        let text = format!("{HEADER}{line}");
        let found = find(&mut Cursor::new(&text), Ecosystem::Npm, "p");
        assert!(found.is_err(), "{line:?}");
    }
    let endless = format!("{HEADER}{}", "x".repeat(1 << 20));
    assert!(find(&mut Cursor::new(&endless), Ecosystem::Npm, "p").is_err());
    assert_eq!(ids(HEADER, "p"), [""; 0]);
}
