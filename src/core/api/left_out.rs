//! The routes of features that the build leaves out: each is answered as unknown, and says which feature it needs.

use crate::features::{self, is_left_out};
use crate::http::{Access, Error, Request, Router};

/// A feature, what its routes are for, and its routes by method.
struct Routes {
    feature: &'static str,
    what: &'static str,
    get: &'static [&'static str],
    post: &'static [&'static str],
    put: &'static [&'static str],
    delete: &'static [&'static str],
}

const ROUTES: [Routes; 9] = [
    Routes {
        feature: "acp",
        what: "the Agent Client Protocol is not spoken",
        get: &["/acp"],
        post: &[],
        put: &[],
        delete: &[],
    },
    Routes {
        feature: "check",
        what: "no server is checked",
        get: &[],
        post: &["/agent/check_extension"],
        put: &[],
        delete: &[],
    },
    Routes {
        feature: "deeplinks",
        what: "links are not read",
        get: &[],
        post: &["/config/extensions/deeplink"],
        put: &[],
        delete: &[],
    },
    Routes {
        feature: "desktop",
        what: "this is for the pages of Goose Desktop",
        get: &[
            "/agent/export_app/{name}",
            "/agent/list_apps",
            "/config/custom-providers/{id}",
            "/config/prompts",
            "/config/prompts/{name}",
            "/config/provider-catalog",
            "/config/validate",
            "/diagnostics/{session_id}",
            "/dictation/config",
            "/gateway/status",
            "/local-inference/models",
            "/mcp-app-proxy",
            "/mcp-app-view",
            "/mcp-ui-proxy",
            "/system_info",
            "/tunnel/status",
        ],
        post: &[
            "/agent/import_app",
            "/config/backup",
            "/config/custom-providers",
            "/config/detect-provider",
            "/config/init",
            "/config/recover",
            "/handle_openrouter",
            "/handle_tetrate",
            "/telemetry/event",
            "/tunnel/start",
            "/tunnel/stop",
        ],
        put: &["/config/custom-providers/{id}", "/config/prompts/{name}"],
        delete: &["/config/custom-providers/{id}", "/config/prompts/{name}"],
    },
    Routes {
        feature: "manual",
        what: "This server does not have its OpenAPI document",
        get: &["/openapi.json"],
        post: &[],
        put: &[],
        delete: &[],
    },
    Routes {
        feature: "metrics",
        what: "there are no metrics",
        get: &["/metrics"],
        post: &[],
        put: &[],
        delete: &[],
    },
    Routes {
        feature: "pinning",
        what: "tools are not pinned",
        get: &[],
        post: &["/agent/extensions/accept"],
        put: &[],
        delete: &[],
    },
    Routes {
        feature: "recipes",
        what: "there are no recipes",
        get: &["/recipes/list"],
        post: &[
            "/recipes/create",
            "/recipes/decode",
            "/recipes/delete",
            "/recipes/encode",
            "/recipes/parse",
            "/recipes/save",
            "/recipes/scan",
            "/recipes/slash-command",
            "/recipes/to-yaml",
        ],
        put: &[],
        delete: &[],
    },
    Routes {
        feature: "schedules",
        what: "there are no schedules",
        get: &[
            "/schedule/list",
            "/schedule/{id}/inspect",
            "/schedule/{id}/sessions",
        ],
        post: &[
            "/recipes/schedule",
            "/schedule/create",
            "/schedule/{id}/kill",
            "/schedule/{id}/pause",
            "/schedule/{id}/run_now",
            "/schedule/{id}/unpause",
        ],
        put: &["/schedule/{id}"],
        delete: &["/schedule/delete/{id}"],
    },
];

pub(super) fn routes(router: Router) -> Router {
    let left_out = ROUTES.iter().filter(|it| is_left_out(it.feature));
    left_out.fold(router, |router, routes| {
        let Routes { feature, what, .. } = routes;
        let answer = move |_: &Request| {
            let hint = features::hint(feature);
            Err(Error::not_found(format!("{what}{hint}")))
        };
        let keyed = Access::Keyed;
        let get = routes.get.iter();
        let router = get.fold(router, |router, path| router.get(path, keyed, answer));
        let post = routes.post.iter();
        let router = post.fold(router, |router, path| router.post(path, keyed, answer));
        let put = routes.put.iter();
        let router = put.fold(router, |router, path| router.put(path, keyed, answer));
        let delete = routes.delete.iter();
        delete.fold(router, |router, path| router.delete(path, keyed, answer))
    })
}
