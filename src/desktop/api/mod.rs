//! The routes, one file for each resource.

mod apps;
mod config_file;
mod custom_providers;
mod diagnostics;
mod not_offered;
mod provider_secrets;
mod provider_sign_in;
mod system_info;
mod ui_proxy;

use crate::agent::Registry;
use crate::http::Router;
use gosling_core::api::{Route, cancel_of, keyed, text_of, with};
use std::sync::Arc;

pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    let routes = [
        config_file::ROUTES,
        custom_providers::ROUTES,
        diagnostics::ROUTES,
        provider_secrets::ROUTES,
        provider_sign_in::ROUTES,
        system_info::ROUTES,
    ];
    let router = keyed(router, registry, &routes.concat());
    let router = apps::routes(router, registry);
    let router = ui_proxy::routes(router);
    not_offered::routes(router)
}
