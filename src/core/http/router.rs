//! Routes: which handler serves a method and a path.

use super::{ClientKeys, Error, HangUp, Ingress, Request, Response, SERVER};
use crate::activity::{Activity, Begun, Caller, Entry, Rights};
use crate::sys::cancel::Cancel;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use tiny_http::Method;

/// What a route requires of its clients, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Access {
    /// Neither the key, a known `Host` nor a known page; no body: for probes that reveal nothing.
    Public,
    /// A known `Host` and page, but no key and no body: for pages that a browser opens.
    Keyless,
    /// A known `Host`, and the key as `secret` in the query: for pages that a client shows in a frame.
    QueryKeyed,
    /// A known `Host`, no page of another site, and the key, also as `token` in the query: for WebSockets, for
    /// which a page can set no header field.
    TokenKeyed,
    /// A known `Host` and the key.
    Keyed,
}

/// What answers the requests of a route.
pub trait RouteHandler: Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static {}

impl<H: Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static> RouteHandler for H {}

/// The routes of a server.
///
/// A pattern is a path such as `/sessions/{id}/export`. A segment in braces matches any one non-empty segment;
/// [`Request::param`] returns it by the name in the braces. Segments are compared and returned percent-decoded.
/// A literal segment takes precedence over a parameter. A last segment `{*}` matches the rest of any path that no other
/// pattern matches. A `GET` route also serves `HEAD`.
///
/// # Panics
/// What adds routes panics if one could never be reached: its pattern does not begin with `/`, has a brace that is not
/// around a whole segment, or names a parameter twice; or there is a route of its method and pattern already, or a
/// pattern that differs in the names of parameters alone.
#[derive(Default)]
pub struct Router {
    // Sorted by rank, so that the first match is the most literal one.
    resources: Vec<Resource>,
    error_format: Option<ErrorFormat>,
    activity: Activity,
    keys: Option<Arc<dyn ClientKeys>>,
    pub(super) ingress: Option<Arc<dyn Ingress>>,
}

/// The method of a route that serves all of them.
const ANY: &str = "*";

/// Formats the JSON body of an error from its status and message.
pub type ErrorFormat = fn(u16, &str) -> Vec<u8>;

/// The routes of one pattern.
pub(super) struct Resource {
    segments: Vec<Segment>,
    routes: Vec<Route>,
}

/// A name that is part of the program, or made at run time.
type Name = Cow<'static, str>;

#[derive(Clone, Debug, PartialEq)]
enum Segment {
    Literal(Name),
    Param(Name),
    Rest,
}

pub(super) struct Route {
    method: Method,
    access: Access,
    pub(super) handler: Box<dyn RouteHandler>,
}

impl Router {
    /// A router without routes.
    pub fn new() -> Router {
        Router::default()
    }

    /// Serves `method` on `pattern` with `handler`.
    pub fn route(
        mut self,
        method: Method,
        path: impl Into<Name>,
        access: Access,
        handler: impl RouteHandler,
    ) -> Router {
        let route = Route {
            method,
            access,
            handler: Box::new(handler),
        };
        self.add(segments_of(path.into()), route);
        self
    }

    /// Serves `GET` and `HEAD`.
    pub fn get(self, path: impl Into<Name>, access: Access, handler: impl RouteHandler) -> Router {
        self.route(Method::Get, path, access, handler)
    }

    /// Serves `POST`.
    pub fn post(self, path: impl Into<Name>, access: Access, handler: impl RouteHandler) -> Router {
        self.route(Method::Post, path, access, handler)
    }

    /// Serves the paths that no route has, with any method, instead of 404: the operation `* /{*}` of policies.
    pub fn fallback(self, access: Access, handler: impl RouteHandler) -> Router {
        let any = ANY.parse().unwrap_or(Method::Get);
        self.route(any, "/{*}", access, handler)
    }

    /// Adds the routes of another router. Its other settings count where this one has none.
    pub fn merge(self, other: Router) -> Router {
        self.nest("/", other)
    }

    /// As [`merge`](Self::merge), with a prefix such as `/tools/{tool}` before each pattern: `/` of the other router is
    /// the prefix itself, and its fallback has the paths that begin so. Handlers get whole paths.
    pub fn nest(mut self, prefix: impl Into<Name>, other: Router) -> Router {
        let prefix = segments_of(prefix.into());
        for resource in other.resources {
            let segments = [&*prefix, &*resource.segments].concat();
            for route in resource.routes {
                self.add(segments.clone(), route);
            }
        }
        self.error_format = self.error_format.or(other.error_format);
        self.keys = self.keys.or(other.keys);
        self.ingress = self.ingress.or(other.ingress);
        self
    }

    /// Answers a request made by hand ([`Request::new`]) in this thread, as a server does once it has let it in: keys,
    /// hosts and origins are not checked, the policy is not asked, and nothing is recorded. What a handler writes after
    /// the head, such as an event stream, is not in the response, and its panic goes on.
    pub fn respond(self: &Arc<Self>, request: Request) -> Response {
        let mut response = self.dispatch(request).unwrap_or_else(Response::from);
        self.format_error(&mut response);
        response
    }

    /// Calls the handler of a route in this thread, for another front of the same program, which has checked its
    /// client: a route's [`Access`] is not. `path` is percent-encoded. The request ends early when `cancel` fires.
    ///
    /// # Errors
    /// Those of the handler; 404 and 405 if there is no such route.
    pub fn call(
        self: &Arc<Self>,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: &impl Serialize,
        cancel: &Cancel,
    ) -> Result<Response, Error> {
        let pairs = query.iter();
        let body = serde_json::to_vec(body).map_err(|error| Error::internal(error.to_string()))?;
        let mut request = Request::new(method, path).with_body("application/json", body);
        request.query = pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        request.hang_up = HangUp::of_caller(cancel);
        self.dispatch(request)
    }

    fn dispatch(self: &Arc<Self>, mut request: Request) -> Result<Response, Error> {
        let (path, method) = (&request.path, &request.method);
        let resource = self.find(path).ok_or_else(|| unknown_path(path))?;
        let route = resource.route(method);
        let route = route.ok_or_else(|| resource.unknown_method(path, method))?;
        request.params = resource.params(path)?;
        request.router = self.clone();
        let mut response = (route.handler)(&request)?;
        self.redact(&mut response);
        Ok(response)
    }

    /// Takes out of a response what the client that asks in this thread may not see.
    pub(super) fn redact(&self, response: &mut Response) {
        let _ = self.of_client(|keys, name| {
            keys.redact(name, response);
            Ok(())
        });
    }

    /// Uses this format for errors instead of `{"message": …}`, also for requests that reach no route.
    pub fn error_format(mut self, form: ErrorFormat) -> Router {
        self.error_format = Some(form);
        self
    }

    /// Records the requests that may change something, and those that are refused.
    pub fn recorded(mut self, activity: &Activity) -> Router {
        self.activity = activity.clone();
        self
    }

    /// Knows clients by these keys, besides the server's own, and lets them do what the keys allow.
    pub fn with_keys(mut self, keys: Arc<dyn ClientKeys>) -> Router {
        self.keys = Some(keys);
        self
    }

    /// Lets requests pass this first.
    pub fn with_ingress(mut self, ingress: Arc<dyn Ingress>) -> Router {
        self.ingress = Some(ingress);
        self
    }

    pub(super) fn keys(&self) -> Option<&dyn ClientKeys> {
        self.keys.as_deref()
    }

    /// Decides something about the client that asks in this thread, unless it may do everything.
    ///
    /// # Errors
    /// Those of `decide`.
    pub fn of_client(
        &self,
        decide: impl FnOnce(&dyn ClientKeys, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let caller = Caller::current();
        let name = caller.key.get().filter(|name| *name != SERVER);
        let is_limited = caller.rights.get().is_none_or(Rights::are_limited);
        match (self.keys(), name.filter(|_| is_limited)) {
            (Some(keys), Some(name)) => decide(keys, name),
            (None, Some(_)) => Err(Error::new(403, "This server knows no role but `admin`")),
            _ => Ok(()),
        }
    }

    /// Records a request that may change something before it does, if what cannot be recorded must not be done.
    ///
    /// # Errors
    /// 503 if it cannot be recorded.
    pub(super) fn begin<'a>(&self, subject: &'a str) -> Result<Option<Begun<'a>>, Error> {
        let begun = self.activity.begin_if_required(Entry {
            subject,
            ..Entry::new("request", "")
        });
        begun.map_err(|reason| Error::new(503, reason))
    }

    /// Records how a request has ended, unless what it has done is recorded.
    pub(super) fn note(&self, kind: &'static str, subject: &str, end: &Response) {
        self.activity.note_unless_recorded(Entry {
            subject,
            outcome: &end.status.0.to_string(),
            detail: end.error_message.as_deref().unwrap_or_default(),
            ..Entry::new(kind, "")
        });
    }

    /// Checks whether the policy allows an operation: a route, as `GET /sessions/{session_id}`, or a method of ACP.
    ///
    /// # Errors
    /// 403 if it does not.
    pub fn check(&self, operation: impl FnOnce() -> String) -> Result<(), Error> {
        if self.activity.policy().is_none() {
            return Ok(());
        }
        let checked = self.activity.check(&Entry {
            subject: &operation(),
            ..Entry::new("operation", "")
        });
        checked.map_err(|reason| Error::new(403, reason))
    }

    /// Rewrites the body of an error in the configured format.
    pub(super) fn format_error(&self, response: &mut Response) {
        if let (Some(form), Some(error_message)) = (self.error_format, &response.error_message) {
            response.body = form(response.status.0, error_message);
        }
    }

    /// The resource that `path`, percent-encoded, refers to.
    pub(super) fn find(&self, path: &str) -> Option<&Resource> {
        let parts = path.starts_with('/').then(|| split(path))?;
        // One part more than any route has tells a longer path from all of them.
        let most = self.resources.iter().map(|r| r.segments.len()).max()? + 1;
        let parts = parts.take(most);
        let parts: Vec<_> = parts.map(|part| (part.is_empty(), decode(part))).collect();
        self.resources
            .iter()
            .find(|resource| resource.matches(&parts))
    }

    fn add(&mut self, segments: Vec<Segment>, route: Route) {
        let new = Resource {
            segments,
            routes: Vec::new(),
        };
        let operation = new.operation(&route);
        check_names(&new.segments, &operation);
        let known = self.resources.iter().position(|old| old.is_like(&new));
        let at = known.unwrap_or_else(|| {
            let rank = new.rank();
            let at = self.resources.partition_point(|old| old.rank() <= rank);
            self.resources.insert(at, new);
            at
        });
        let Resource { routes, .. } = &self.resources[at];
        let known = self.resources[at].operation(&route);
        let is_new = operation == known && routes.iter().all(|old| old.method != route.method);
        assert!(is_new, "{operation} is there already, as {known}");
        self.resources[at].routes.push(route);
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.resources.iter().map(|r| (&r.segments, r.allow())))
            .finish()
    }
}

impl Resource {
    /// The route for `method`; `HEAD` uses that of `GET` if it has none (RFC 9110 §9.3.2).
    pub(super) fn route(&self, method: &Method) -> Option<&Route> {
        let of = |method: &Method| self.routes.iter().find(|route| route.method == *method);
        let found = match method {
            Method::Head => of(method).or_else(|| of(&Method::Get)),
            _ => of(method),
        };
        found.or_else(|| self.routes.iter().find(|it| it.method.as_str() == ANY))
    }

    /// Resources of fewer parameters come first; last those with the rest of a path, of which the longest is the first.
    fn rank(&self) -> (bool, usize) {
        let params = self.segments.iter().filter(|it| it.is_param()).count();
        if self.has_rest() {
            (true, usize::MAX - self.segments.len())
        } else {
            (false, params)
        }
    }

    fn has_rest(&self) -> bool {
        self.segments.last() == Some(&Segment::Rest)
    }

    /// Whether both have the same paths.
    fn is_like(&self, other: &Resource) -> bool {
        let is_like = |(a, b): (&Segment, &Segment)| a == b || a.is_param() && b.is_param();
        self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(is_like)
    }

    /// What a request with `method` requires, even if no route has the method: then the strictest of all routes.
    pub(super) fn access(&self, method: &Method) -> Access {
        let strictest = || self.routes.iter().map(|route| route.access).max();
        self.route(method)
            .map(|route| route.access)
            .or_else(strictest)
            .unwrap_or(Access::Keyed)
    }

    /// The route's method and pattern.
    pub(super) fn operation(&self, route: &Route) -> String {
        let mut operation = route.method.to_string() + " ";
        if self.segments.is_empty() {
            operation += "/";
        }
        for segment in &self.segments {
            operation += "/";
            match segment {
                Segment::Literal(text) => operation += text,
                Segment::Param(name) => operation.extend(["{", name, "}"]),
                Segment::Rest => operation += "{*}",
            }
        }
        operation
    }

    /// The answer to a method that no route of this resource has.
    pub(super) fn unknown_method(&self, path: &str, method: &Method) -> Error {
        Error::new(405, format!("{path} does not take {method}")).header("Allow", &self.allow())
    }

    /// The methods of this resource, as in the `Allow` field (RFC 9110 §10.2.1).
    pub(super) fn allow(&self) -> String {
        let mut methods: Vec<&str> = self.routes.iter().map(|r| r.method.as_str()).collect();
        if methods.contains(&"GET") && !methods.contains(&"HEAD") {
            methods.push("HEAD");
        }
        methods.join(", ")
    }

    /// The parameters in `path`, which must match this resource. Fails with 400 if one is not UTF-8.
    pub(super) fn params(&self, path: &str) -> Result<Vec<(Name, String)>, Error> {
        let mut found = Vec::new();
        for (segment, part) in self.segments.iter().zip(split(path)) {
            if let Segment::Param(name) = segment {
                let value = decode(part).ok_or_else(|| {
                    Error::bad_request(format!("The `{name}` in the path is not UTF-8 text"))
                })?;
                found.push((name.clone(), value.into_owned()));
            }
        }
        Ok(found)
    }

    /// Whether a path of these segments is meant. Of each: whether it is empty, and its text unless it is not UTF-8.
    fn matches(&self, parts: &[(bool, Option<Cow<'_, str>>)]) -> bool {
        let is = |(segment, (is_empty, text)): (&Segment, &(bool, Option<Cow<'_, str>>))| {
            match segment {
                Segment::Param(_) => !is_empty,
                Segment::Literal(literal) => text.as_deref() == Some(literal),
                Segment::Rest => true,
            }
        };
        let (own, given) = (self.segments.len(), parts.len());
        (own == given || self.has_rest() && own <= given + 1)
            && self.segments.iter().zip(parts).all(is)
    }
}

/// The answer to a path that no resource has.
pub(super) fn unknown_path(path: &str) -> Error {
    Error::not_found(format!("There is nothing at {path}"))
}

impl Segment {
    fn is_param(&self) -> bool {
        matches!(self, Segment::Param(_))
    }
}

fn segments_of(pattern: Name) -> Vec<Segment> {
    assert!(
        pattern.starts_with('/'),
        "{pattern:?} does not begin with `/`"
    );
    match pattern {
        Cow::Borrowed(pattern) => segments(pattern, Cow::Borrowed),
        Cow::Owned(pattern) => segments(&pattern, |part| Cow::Owned(part.to_owned())),
    }
}

fn segments<'p>(pattern: &'p str, name: fn(&'p str) -> Name) -> Vec<Segment> {
    let inside = |part: &'p str| part.strip_prefix('{')?.strip_suffix('}');
    let segment = |part| match inside(part) {
        Some("*") => Segment::Rest,
        Some(inside) => Segment::Param(name(inside)),
        None => Segment::Literal(name(part)),
    };
    split(pattern).map(segment).collect()
}

/// Panics if a segment of the operation is empty, half a parameter or after the rest, or two parameters have one name.
fn check_names(segments: &[Segment], operation: &str) {
    for (n, segment) in segments.iter().enumerate() {
        let is_whole = match segment {
            Segment::Literal(text) => !text.is_empty() && !text.contains(['{', '}']),
            Segment::Param(name) => !name.is_empty() && !name.contains(['{', '}', '*']),
            Segment::Rest => n + 1 == segments.len(),
        };
        assert!(
            is_whole,
            "{operation}: a segment is empty, or a brace is at the wrong place"
        );
        let is_twice = segment.is_param() && segments[..n].contains(segment);
        assert!(!is_twice, "{operation}: two parameters have one name");
    }
}

/// The segments of a path, none of `/`.
fn split(path: &str) -> impl Iterator<Item = &str> {
    let inside = path.strip_prefix('/').unwrap_or(path);
    inside.split('/').filter(|_| !inside.is_empty())
}

fn decode(part: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(part).decode_utf8().ok()
}

#[cfg(test)]
mod tests;
