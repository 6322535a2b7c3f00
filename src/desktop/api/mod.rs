//! The routes, one file for each resource.

mod apps;
mod config_file;
mod custom_providers;
mod diagnostics;
mod not_offered;
mod prompts;
mod system_info;
mod ui_proxy;

use crate::agent::Registry;
use crate::http::Router;
use gosling_core::api::{cancel_of, text_of, with};
use std::sync::Arc;

pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    let router = config_file::routes(router, registry);
    let router = prompts::routes(router, registry);
    let router = custom_providers::routes(router, registry);
    let router = diagnostics::routes(router, registry);
    let router = system_info::routes(router, registry);
    let router = apps::routes(router, registry);
    let router = ui_proxy::routes(router);
    not_offered::routes(router)
}
