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
        [
            ("x".into(), "x/y".to_owned()),
            ("y".into(), "é +".to_owned())
        ]
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

/// What a router answers, called by hand.
fn said(router: &Arc<Router>, method: Method, target: &str) -> (u16, String) {
    let response = router.respond(Request::new(method, target));
    let body = String::from_utf8(response.body).unwrap();
    (response.status.0, body)
}

#[test]
fn routers_are_merged_nested_and_have_fallbacks() {
    let text = |text: &'static str| move |_: &Request| Ok(Response::text(text));
    let shown = |request: &Request| {
        let name = request.param("tool");
        Ok(Response::text(format!("{} {name}", request.path)))
    };
    let made_at_run_time = format!("/run{}", "time");
    let inner = Router::new()
        .get("/", Access::Keyed, shown)
        .get("/help", Access::Keyed, text("help"))
        .fallback(Access::Keyed, text("no such page of the tool"));
    let other = Router::new()
        .get(made_at_run_time, Access::Keyed, text("merged"))
        .error_format(|status, text| format!("{status}: {text}").into_bytes());
    let router = Router::new()
        .get("/", Access::Keyed, text("root"))
        .nest("/tools/{tool}", inner)
        .merge(other);
    let router = Arc::new(router);
    let get = |target: &str| said(&router, Method::Get, target);
    assert_eq!(get("/"), (200, "root".to_owned()));
    assert_eq!(get("/runtime?a=b"), (200, "merged".to_owned()));
    assert_eq!(get("/tools/a"), (200, "/tools/a a".to_owned()));
    assert_eq!(get("/tools/a/help"), (200, "help".to_owned()));
    let fallback = (200, "no such page of the tool".to_owned());
    assert_eq!(get("/tools/a/b/c/d/e"), fallback);
    assert_eq!(said(&router, Method::Put, "/tools/a/x"), fallback);
    assert_eq!(get("/tools/").0, 404);
    assert_eq!(get("/tools").1, "404: There is nothing at /tools");
    assert_eq!(said(&router, Method::Put, "/tools/a/help").0, 405);

    let whole = Router::new().fallback(Access::Public, text("whole"));
    let router = Router::new().nest("/a", whole.fallback_below("/b", text("b")));
    let router = Arc::new(router);
    assert_eq!(
        said(&router, Method::Get, "/a/c"),
        (200, "whole".to_owned())
    );
    assert_eq!(said(&router, Method::Get, "/a/b/c"), (200, "b".to_owned()));
    assert_eq!(said(&router, Method::Get, "/c").0, 404);
    let resource = router.find("/a/b/c").unwrap();
    assert_eq!(resource.operation(&resource.routes[0]), "* /a/b/{*}");
    assert_eq!(resource.access(&Method::Delete), Access::Keyed);
}

impl Router {
    /// With a fallback of another router below a prefix.
    fn fallback_below(self, prefix: &'static str, handler: impl RouteHandler) -> Router {
        self.nest(prefix, Router::new().fallback(Access::Keyed, handler))
    }
}

#[test]
fn a_request_made_by_hand_is_answered_as_one_of_a_client() {
    let router = Router::new().post("/echo/{name}", Access::Keyed, |request| {
        let body: serde_json::Value = request.json()?;
        let tag = request.header("X-Tag").unwrap_or_default();
        let (name, query) = (request.param("name"), request.query("q"));
        assert!(!request.hung_up() && request.router().find("/echo/x").is_some());
        Ok(Response::json(&serde_json::json!([name, query, tag, body])))
    });
    let router = Arc::new(router);
    let request = Request::new(Method::Post, "/echo/a%20b?q=1+2");
    let request = request
        .with_header("X-Tag", "t")
        .with_body("application/json", "[1]");
    let response = router.respond(request);
    assert_eq!(response.status.0, 200);
    assert_eq!(response.body, br#"["a b","1 2","t",[1]]"#);
    let without_body = router.respond(Request::new(Method::Post, "/echo/a"));
    assert_eq!(without_body.status.0, 415);
}

#[test]
fn a_route_that_could_never_be_reached_is_refused_where_it_is_added() {
    let ok = |_: &Request| Ok(Response::empty(200));
    let adding = |add: &dyn Fn(Router) -> Router| {
        let added = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| add(router())));
        let reason = added.expect_err("it must panic");
        reason.downcast_ref::<String>().unwrap().clone()
    };
    for (pattern, reason) in [
        ("status", "\"status\" does not begin with `/`"),
        ("", "\"\" does not begin with `/`"),
        ("/status", "GET /status is there already, as GET /status"),
        (
            "/sessions/{session_id}",
            "GET /sessions/{session_id} is there already, as GET /sessions/{id}",
        ),
        (
            "/a/{x",
            "GET /a/{x: a segment is empty, or a brace is at the wrong place",
        ),
        (
            "/a/x-{y}",
            "GET /a/x-{y}: a segment is empty, or a brace is at the wrong place",
        ),
        (
            "/a/{}",
            "GET /a/{}: a segment is empty, or a brace is at the wrong place",
        ),
        (
            "/a/{*x}",
            "GET /a/{*x}: a segment is empty, or a brace is at the wrong place",
        ),
        (
            "/a//b",
            "GET /a//b: a segment is empty, or a brace is at the wrong place",
        ),
        (
            "/a/",
            "GET /a/: a segment is empty, or a brace is at the wrong place",
        ),
        ("/{a}/b/{a}", "GET /{a}/b/{a}: two parameters have one name"),
    ] {
        let said = adding(&|router| router.get(pattern, Access::Keyed, ok));
        assert_eq!(said, reason);
    }
    let merged = adding(&|router| router.merge(Router::new().get("/", Access::Keyed, ok)));
    assert_eq!(merged, "GET / is there already, as GET /");
    let nested = adding(&|router| router.nest("a", Router::new().get("/", Access::Keyed, ok)));
    assert_eq!(nested, "\"a\" does not begin with `/`");
    let slash = adding(&|router| router.nest("/s/", Router::new().get("/k", Access::Keyed, ok)));
    assert_eq!(
        slash,
        "GET /s//k: a segment is empty, or a brace is at the wrong place"
    );
    let again = adding(&|router| {
        let one = router.fallback(Access::Keyed, ok);
        one.fallback(Access::Keyed, ok)
    });
    assert_eq!(again, "* /{*} is there already, as * /{*}");
}

#[test]
fn a_client_whose_rights_nobody_knows_may_do_nothing() {
    let router = Router::new();
    let may = |name: &str, rights: Option<Rights>| {
        let caller = Caller::default();
        let _ = caller.key.set(name.to_owned());
        if let Some(rights) = rights {
            let _ = caller.rights.set(rights);
        }
        let nobody = |_: &dyn ClientKeys, _: &str| Ok(());
        caller.asks(|| router.of_client(nobody)).is_ok()
    };
    let rights = |role: &str| Rights {
        role: role.to_owned(),
        own_sessions: false,
    };
    assert!(may(SERVER, None) && may("ada", Some(rights("admin"))));
    assert!(!may("ada", None) && !may("ada", Some(rights("read"))));
}
