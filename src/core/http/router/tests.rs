use super::*;

fn router() -> Router {
    let ok = |_: &Request| Ok(Response::empty(200));
    Router::new()
        .get("/", Access::Keyed, ok)
        .get("/status", Access::Public, ok)
        .get("/sessions/{id}", Access::Keyed, ok)
        .route(Method::Delete, "/sessions/{id}", Access::Keyed, ok)
        .get("/sessions/insights", Access::Keyless, ok)
        .post("/a/{x}/b/{y}", Access::Keyed, ok)
}

#[test]
fn a_path_finds_its_most_literal_resource() {
    let router = router();
    let allow = |path: &str| router.find(path).map(Resource::allow);
    assert_eq!(allow("/").as_deref(), Some("GET, HEAD"));
    assert_eq!(allow("/%73tatus").as_deref(), Some("GET, HEAD"));
    assert_eq!(allow("/sessions/1").as_deref(), Some("GET, DELETE, HEAD"));
    assert_eq!(allow("/sessions/insights").as_deref(), Some("GET, HEAD"));
    assert_eq!(allow("/a/1/b/2").as_deref(), Some("POST"));
    for nowhere in [
        "",
        "*",
        "status",
        "//status",
        "/status/",
        "/sessions/",
        "/sessions/1/2",
        "/a/1/b",
        "/a/../status",
        "/%ff",
    ] {
        assert_eq!(allow(nowhere), None, "{nowhere}");
    }
}

#[test]
fn params_are_decoded_after_splitting() {
    let router = router();
    let resource = router.find("/a/x%2Fy/b/%C3%A9%20+").unwrap();
    assert_eq!(
        resource.params("/a/x%2Fy/b/%C3%A9%20+").unwrap(),
        [("x", "x/y".to_string()), ("y", "é +".to_string())]
    );
    assert_eq!(resource.params("/a/%ff/b/1").unwrap_err().status.0, 400);
}

#[test]
fn head_is_get_and_an_unknown_method_needs_the_strictest_access() {
    let router = router();
    let resource = router.find("/sessions/insights").unwrap();
    assert!(resource.route(&Method::Head).is_some());
    assert!(resource.route(&Method::Post).is_none());
    assert_eq!(resource.access(&Method::Head), Access::Keyless);
    assert_eq!(resource.access(&Method::Post), Access::Keyless);
    let resource = router.find("/sessions/1").unwrap();
    assert_eq!(resource.access(&Method::Options), Access::Keyed);
}

#[test]
fn the_last_handler_of_a_route_stays() {
    let router = router().get("/status", Access::Keyed, |_| Ok(Response::empty(204)));
    let resource = router.find("/status").unwrap();
    assert_eq!(resource.routes.len(), 1);
    assert_eq!(resource.access(&Method::Get), Access::Keyed);
}
