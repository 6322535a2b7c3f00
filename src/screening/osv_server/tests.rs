use super::*;

#[test]
fn what_an_advisory_says_of_other_packages_does_not_count() {
    let of = |ecosystem: Ecosystem, name: &str| Malware {
        ecosystem: ecosystem.name(),
        name: name.to_owned(),
        id: "MAL-1".to_owned(),
        versions: "1.0.0".to_owned(),
    };
    let wanted = (Ecosystem::Npm, "a", &Version::Open);
    let others = [of(Ecosystem::Npm, "b"), of(Ecosystem::PyPi, "a")];
    let versions = |packages: Vec<Malware>| {
        let mut all = Vec::new();
        add(&mut all, wanted, "MAL-1".to_owned(), packages);
        all.into_iter().map(|it| it.versions).collect::<Vec<_>>()
    };
    assert_eq!(versions(others.to_vec()), [versions::ALL]);
    let all = [&others[..], &[of(Ecosystem::Npm, "a")]].concat();
    assert_eq!(versions(all), ["1.0.0"]);
}

#[test]
fn a_page_names_the_next_one() {
    for (page, next) in [
        ("{}", Ok((0, None))),
        (r#"{"next_page_token": ""}"#, Ok((0, None))),
        (r#"{"next_page_token": null, "vulns": []}"#, Ok((0, None))),
        (r#"{"next_page_token": "b"}"#, Ok((0, Some("b")))),
        (
            r#"{"vulns": [{"id": "X"}], "next_page_token": "b"}"#,
            Ok((1, Some("b"))),
        ),
        (r#"{"next_page_token": 1}"#, Err(())),
        (r#"{"next_page_token": "b", "vulns": 1}"#, Err(())),
        (r#"{"next_page_token": "b""#, Err(())),
    ] {
        let read = read_page(page.as_bytes());
        let read = read.map(|(advisories, next)| (advisories.len(), next));
        let expected = next.map(|(count, next)| (count, next.map(str::to_owned)));
        assert_eq!(read.map_err(|_| ()), expected, "{page}");
    }
}

#[test]
fn the_endpoint_is_a_server_or_the_method() {
    for (endpoint, expected) in [
        ("https://api.osv.dev", "https://api.osv.dev/v1/query"),
        (" https://api.osv.dev/ ", "https://api.osv.dev/v1/query"),
        (
            "https://api.osv.dev/v1/query",
            "https://api.osv.dev/v1/query",
        ),
        ("http://127.0.0.1:80/osv", "http://127.0.0.1:80/osv"),
    ] {
        assert_eq!(address(endpoint), expected);
    }
}
