//! The environment of an extension: variables that it may not set, its secrets, and variables in header
//! values. CORE §8.1 (3, 4), §8.2 (2).

use super::Class;
use super::configured_variables::Envs;
use crate::sys::process::Command;
use std::collections::BTreeMap;

/// Variables that a configuration may not set, separated by white space, and why. Compared without regard to case.
/// A name that ends in `*` matches every variable with that prefix. Goose refuses some of them.
pub const REFUSED: &[(&str, &str)] = &[
    ("PATH PATHEXT COMSPEC SYSTEMROOT WINDIR SHELL", COMMANDS),
    (
        "LD_* DYLD_* GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH APPINIT_DLLS OPENSSL_CONF OPENSSL_ENGINES
        OPENSSL_MODULES KRB5_CONFIG GSS_MECH_CONFIG SASL_PATH GIO_EXTRA_MODULES GIO_MODULE_DIR GTK_PATH GTK_MODULES
        GTK3_MODULES GTK_EXE_PREFIX GTK_IM_MODULE_FILE GDK_PIXBUF_MODULE_FILE GDK_PIXBUF_MODULEDIR GST_PLUGIN_*
        GST_REGISTRY* QT_PLUGIN_PATH QT_QPA_PLATFORM_PLUGIN_PATH QML_IMPORT_PATH QML2_IMPORT_PATH LIBGL_DRIVERS_PATH
        LIBVA_DRIVERS_PATH VK_LAYER_PATH VK_ADD_LAYER_PATH VK_ICD_FILENAMES VK_DRIVER_FILES VK_ADD_DRIVER_FILES
        GBM_BACKENDS_PATH ALSA_CONFIG_PATH MAGICK_CODER_MODULE_PATH MAGICK_FILTER_MODULE_PATH MAGICK_CONFIGURE_PATH
        MAGICK_HOME GI_TYPELIB_PATH XLOCALEDIR XLOCALELIBDIR OCL_ICD_* OPENCL_VENDOR_PATH __EGL_* __GLX_*
        HDF5_PLUGIN_PATH GDAL_DRIVER_PATH OGR_DRIVER_PATH LIBMYSQL_PLUGIN* CUDA_INJECTION64_PATH CAML_LD_LIBRARY_PATH
        DLN_LIBRARY_PATH NAPI_RS_NATIVE_LIBRARY_PATH SASS_BINARY_PATH LIBCLANG_PATH MUSL_LOCPATH OPENSC_CONF ODBCINI
        ODBCINSTINI ODBCSYSINI OMP_TOOL_LIBRARIES",
        LOADER,
    ),
    (
        "PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONBREAKPOINT PYTHONWARNINGS PYTHONUSERBASE PYTHONPLATLIBDIR
        PYTHONPYCACHEPREFIX PYTHONINSPECT PYTHONEXECUTABLE __PYVENV_LAUNCHER__ IPYTHONDIR JUPYTER_CONFIG_*
        JUPYTER_PATH PYTEST_ADDOPTS PYTEST_PLUGINS COVERAGE_PROCESS_* PYENV_HOOK_PATH UV_PYTHON UV_PYTHON_INSTALL_DIR
        UV_PYTHON_INSTALL_MIRROR UV_PYPY_INSTALL_MIRROR UV_PYTHON_DOWNLOADS_JSON_URL UV_PYTHON_SEARCH_PATH UV_TOOL_DIR
        UV_ENV_FILE UV_PROJECT UV_PROJECT_ENVIRONMENT UV_WORKING_DIR* UV_CONFIG_FILE PIP_PYTHON PIP_CONFIG_FILE
        PIPX_DEFAULT_PYTHON CLOUDSDK_PYTHON NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_COMPILE_CACHE
        NPM_CONFIG_NODE_OPTIONS NPM_CONFIG_SCRIPT_SHELL NPM_CONFIG_SHELL NPM_CONFIG_USERCONFIG NPM_CONFIG_GLOBALCONFIG
        NPM_CONFIG_PREFIX NPM_CONFIG_GIT NPM_CONFIG_EDITOR NPM_CONFIG_VIEWER NPM_CONFIG_BROWSER NPM_CONFIG_CALL
        NPM_CONFIG_PACKAGE NPM_CONFIG_NODE_GYP NPM_CONFIG_PYTHON NPM_CONFIG_INIT_MODULE NPM_CONFIG_PNPMFILE
        NPM_CONFIG_GLOBAL_PNPMFILE YARN_YARN_PATH YARN_PLUGINS YARN_RC_FILENAME YARN_SCRIPT_SHELL BUN_OPTIONS
        BUN_INSPECT* BUN_RUNTIME_TRANSPILER_CACHE_PATH TS_NODE_COMPILER TSX_TSCONFIG_PATH RUBYOPT RUBYLIB RUBYSHELL
        GEM_PATH GEM_HOME GEMRC BUNDLE_GEMFILE BUNDLE_APP_CONFIG BUNDLE_PATH RBENV_HOOK_PATH PERL5OPT PERL5LIB PERL5DB
        PERL5SHELL PERLLIB CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS OPENJ9_JAVA_OPTIONS
        IBM_JAVA_OPTIONS MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS GRADLE_USER_HOME JBANG_* DOTNET_STARTUP_HOOKS
        DOTNET_ADDITIONAL_DEPS DOTNET_SHARED_STORE DOTNET_HOST_PATH CORECLR_* COR_* COMPLUS_*
        ASPNETCORE_HOSTINGSTARTUPASSEMBLIES MSBUILD* PSMODULEPATH GO111MODULE GOROOT GOFLAGS GOENV GOTOOLCHAIN
        GOCACHEPROG GOPACKAGESDRIVER LUA_INIT* LUA_PATH* LUA_CPATH* PHPRC PHP_INI_SCAN_DIR COMPOSER COMPOSER_HOME
        R_PROFILE* R_ENVIRON* R_LIBS* R_HOME JULIA_LOAD_PATH JULIA_DEPOT_PATH JULIA_PROJECT ERL_* ELIXIR_ERL_OPTIONS
        GUILE_LOAD_* TCLLIBPATH AWKPATH AWKLIBPATH EMACSLOADPATH PYTHON _PYTHON_* TCL_LIBRARY TK_LIBRARY
        JUPYTER_DATA_DIR VIRTUALENV_* PIP_REQUIREMENT PIP_EDITABLE UV_GRAALPY_INSTALL_MIRROR UV_PYODIDE_INSTALL_MIRROR
        UV_ASTRAL_MIRROR_URL UV_INTERNAL_* HATCH_PYTHON HATCH_CONFIG PDM_PYTHON PIPENV_PYTHON PIPENV_PIPFILE
        POETRY_CONFIG_DIR CLOUDSDK_PYTHON_ARGS NPM_EXECPATH NPM_NODE_EXECPATH NPM_CONFIG_ONLOAD_SCRIPT
        NPM_CONFIG_NODEDIR NPM_CONFIG_WORKSPACE_DIR TS_NODE_PROJECT TS_NODE_DIR TS_NODE_CWD ESBUILD_BINARY_PATH
        ELECTRON_OVERRIDE_DIST_PATH RUBY RUBYPATH RUBYGEMS_GEMDEPS BUNDLER_SETUP BUNDLE_BIN_PATH IRBRC RAKEOPT
        PERLDB_OPTS JAVACMD JDK_JAVAC_OPTIONS JVM_OPTS ANT_OPTS ANT_ARGS SBT_OPTS GOAUTH GCCGO RUSTUP_TOOLCHAIN
        DOTNET_GCNAME DOTNET_GCPATH DOTNET_JIT* DOTNET_ALTJIT* DOTNET_MSBUILD* DOTNET_DIAGNOSTICPORTS
        NUGET_PLUGIN_PATHS NUGET_NETCORE_PLUGIN_PATHS NUGET_NETFX_PLUGIN_PATHS NUGET_CREDENTIALPROVIDERS_PATH R_TESTS
        R_DEFAULT_PACKAGES MIX_EXS MIX_HOME MIX_ARCHIVES DART_VM_OPTIONS PYTHON_PRESITE COVERAGE_RCFILE
        PIPX_SHARED_LIBS COREPACK_HOME BUNDLE_CONFIG BUNDLE_USER_* BUNDLER_ORIG_* JRUBY_OPTS JYTHONPATH MAVEN_CONFIG
        MVNW_* GOWORK GOVCS TCL8_* TCL9_* EMACSPATH",
        INTERPRETER,
    ),
    (
        "CC CXX CPP FC AR MAKE MAKEFLAGS MAKEFILES PKG_CONFIG* CGO_* CMAKE_* GCC_EXEC_PREFIX COMPILER_PATH RUSTC*
        RUSTDOC* RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_* CARGO_TARGET_* CFLAGS CPPFLAGS CXXFLAGS LDFLAGS
        FFLAGS FCFLAGS OBJCFLAGS ARCHFLAGS ARFLAGS LD LDSHARED LDCXXSHARED AS NM RANLIB STRIP F77 F90 OBJC NVCC
        CUDACXX CUDAHOSTCXX CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH LIBRARY_PATH COLLECT_* CCACHE_*
        DISTCC_* SCCACHE_* GNUMAKEFLAGS MFLAGS MAKESHELL MAKE_COMMAND NINJAFLAGS SCONSFLAGS CONFIG_SITE CONFIG_SHELL
        NODE_GYP_* GYP_* VCINSTALLDIR VSINSTALLDIR CL _CL_ _LINK_ SDKROOT DEVELOPER_DIR TOOLCHAINS CUSTOMBEFORE*
        CUSTOMAFTER* DIRECTORYBUILD* PERL_MM_OPT PERL_MB_OPT PERL_CPANM_OPT R_MAKEVARS* LLVM_CONFIG_PATH CLANG_PATH
        BINDGEN_EXTRA_CLANG_ARGS CARGO_REGISTRY_CREDENTIAL_PROVIDER CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS
        CARGO_CREDENTIAL_ALIAS_* HOST_CC HOST_CXX TARGET_CC TARGET_CXX CCC_OVERRIDE_OPTIONS MESON NINJA
        NPM_CONFIG_MAKE NPM_PACKAGE_CONFIG_NODE_GYP_* DIST_EXTRA_CONFIG SKBUILD_* MATURIN_PEP517_ARGS PYO3_*
        CARGO_HOME RUSTUP_HOME",
        BUILDS,
    ),
    (
        "BASH_ENV ENV SHELLOPTS BASHOPTS BASH_FUNC_* BASH_LOADABLES_PATH PROMPT_COMMAND PS0 PS1 PS2 PS4 IFS CDPATH
        ZDOTDIR FPATH FISH_FUNCTION_PATH NULLCMD READNULLCMD",
        SHELLS,
    ),
    (
        "GIT_SSH* GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF GIT_EXEC_PATH GIT_CONFIG* GIT_ASKPASS GIT_EDITOR
        GIT_SEQUENCE_EDITOR GIT_PAGER GIT_TEMPLATE_DIR GIT_DIR GIT_COMMON_DIR GIT_ALLOW_PROTOCOL GITPERLLIB
        GIT_PYTHON_GIT_EXECUTABLE",
        GIT,
    ),
    (
        "PAGER MANPAGER SYSTEMD_PAGER BAT_PAGER EDITOR VISUAL FCEDIT BROWSER LESS LESSOPEN LESSCLOSE LESSKEY* LESSEDIT
        SSH_ASKPASS* SSH_SK_PROVIDER SSH_SK_HELPER SSH_PKCS11_HELPER SUDO_ASKPASS SUDO_EDITOR HGRCPATH HGEDITOR
        HGMERGE SVN_SSH SVN_EDITOR SVN_MERGE CVS_RSH RSYNC_RSH RSYNC_CONNECT_PROG PSQLRC PSQL_PAGER PSQL_EDITOR*
        EXINIT VIMINIT WGETRC SYSTEM_WGETRC DOCKER_CONFIG NIX_CONFIG NIX_USER_CONF_FILES HELM_PLUGINS GS_OPTIONS
        GS_LIB TAR_OPTIONS ZIPOPT RIPGREP_CONFIG_PATH BAT_CONFIG_* FZF_DEFAULT_* ACK_OPTIONS ACK_PAGER ACKRC GH_PAGER
        GH_EDITOR GH_BROWSER KUBE_EDITOR KUBECTL_EXTERNAL_DIFF COMPOSE_FILE CONTAINERS_* CNI_PATH NERDCTL_TOML
        TF_CLI_* AZURE_EXTENSION_DIR DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DBUS_STARTER_ADDRESS
        QTWEBENGINEPROCESS_PATH QTWEBENGINE_CHROMIUM_FLAGS CHROMIUM_FLAGS TAR ZIP RSH LESSECHO BAT_OPTS DELTA_PAGER
        MAILCAPS SYSTEMD_EDITOR GNUPGHOME GH_CONFIG_DIR SQLPATH ORACLE_PATH GVIMINIT VIM VIMRUNTIME ALTERNATE_EDITOR
        BUILDAH_RUNTIME TERRAFORM_CONFIG GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES NIX_PATH TEXMFCNF SHELL_ESCAPE*",
        HELPERS,
    ),
    (
        "SESSIONNAME TEMP TMP LOCALAPPDATA USERPROFILE HOMEDRIVE HOMEPATH",
        FOLDERS,
    ),
    (crate::sys::process::MARK, OURS),
    ("AGENT_SESSION_ID", OURS),
    (crate::sys::process::SERVER_KEY, SERVER),
];

const COMMANDS: &str = "it decides which programs are found";
const LOADER: &str = "it makes the dynamic loader load other code";
const INTERPRETER: &str = "it makes an interpreter or runtime load other code";
const BUILDS: &str = "it makes builds of packages run other programs";
const SHELLS: &str = "it makes a shell run other code";
const GIT: &str = "it makes git run other programs";
const HELPERS: &str = "it names what other programs run";
const SERVER: &str = "it is the key of this server";
/// The reason beside variables with the folders of programs.
pub const FOLDERS: &str = "programs look for their files and libraries there";
const OURS: &str = "gosling sets it itself";

/// The shortest plain value that may be a secret, in bytes. A shorter one could be part of any word.
const LIKELY_SECRET: usize = 8;

/// Whether a plain value is redacted, too, because many users write keys into `envs`. Paths are not.
pub fn may_be_secret(value: &str) -> bool {
    value.len() >= LIKELY_SECRET && !value.starts_with(['/', '~'])
}

/// Why a configuration may not set this variable; `None` if it may.
pub fn refusal(variable: &str) -> Option<&'static str> {
    reason_in(REFUSED, variable)
}

/// As [`reason_for`]; a variable of pnpm matches like the same one of npm, too.
pub fn reason_in(refused: &[(&str, &'static str)], variable: &str) -> Option<&'static str> {
    // pnpm reads its variables as npm does.
    let is_pnpm = matches("PNPM_CONFIG_*", variable);
    let of_npm = variable.get(1..).filter(|_| is_pnpm);
    let has = |name: &str| reason_for(refused, name);
    has(variable).or_else(|| of_npm.and_then(has))
}

/// The reason beside the first pattern of a table that matches this variable.
pub fn reason_for<'t>(
    table: impl IntoIterator<Item = &'t (&'t str, &'static str)>,
    variable: &str,
) -> Option<&'static str> {
    let mut table = table.into_iter();
    let hit = table.find(|(patterns, _)| {
        let mut patterns = patterns.split_ascii_whitespace();
        patterns.any(|pattern| matches(pattern, variable))
    });
    hit.map(|(_, reason)| *reason)
}

fn matches(pattern: &str, variable: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => variable
            .get(..prefix.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(prefix)),
        None => variable.eq_ignore_ascii_case(pattern),
    }
}

/// The variables of one extension, with their values, and which values are secret.
#[derive(Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    secrets: Vec<String>,
}

impl Environment {
    /// Merges `envs` with the secrets that `env_keys` names. `envs` takes precedence.
    ///
    /// # Errors
    /// A variable may not be set, is invalid, or has no secret of its name.
    pub fn merge(
        envs: &Envs,
        env_keys: &[String],
        secret: &dyn Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, String> {
        let mut environment = Environment::default();
        for (name, value) in envs.iter() {
            check(name, value)?;
            if may_be_secret(value) {
                environment.secrets.push(value.to_owned());
            }
            environment
                .variables
                .insert(name.to_owned(), value.to_owned());
        }
        for name in env_keys {
            if environment.variables.contains_key(name) {
                continue;
            }
            check_name(name)?;
            let value = secret(name)?.ok_or_else(|| {
                format!(
                    "the secret `{name}` of `env_keys` is not set; add it to secrets.yaml, or \
                     send it to /config/upsert with `is_secret`"
                )
            })?;
            check(name, &value)?;
            environment.secrets.push(value.clone());
            environment.variables.insert(name.clone(), value);
        }
        Ok(environment)
    }

    /// The variables and their values.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.variables.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The values to redact.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }
}

fn check(name: &str, value: &str) -> Result<(), String> {
    check_name(name)?;
    if value.contains('\0') {
        return Err(format!(
            "the value of the environment variable `{name}` contains NUL; remove it"
        ));
    }
    Ok(())
}

/// Whether this is a plain name of a variable. One with other characters may be another name to the program that
/// reads it (npm reads `-` as `_`, and podman `A*` as all that begin with `A`), or a function to bash.
pub fn is_plain(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Refuses a variable that no configuration may set.
///
/// # Errors
/// The message names the variable and the reason.
pub fn check_name(name: &str) -> Result<(), String> {
    if !is_plain(name) {
        return Err(format!(
            "{name:?} cannot be an environment variable: a name has only the letters A to Z, digits and `_`, and \
             does not begin with a digit; rename it"
        ));
    }
    if let Some(reason) = refusal(name) {
        return Err(format!(
            "the environment variable `{name}` may not be set by an extension, because {reason}; \
             remove it"
        ));
    }
    Ok(())
}

/// What extensions that are programs inherit of this server's environment. Never its key (`sys::process`), and
/// never the keys of model providers, which an extension gets only if its `env_keys` name them.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// Only the variables that programs need to run: those of `BASE`.
    pub clean: bool,
    /// The variables with the keys of model providers.
    pub provider_keys: Vec<String>,
}

/// The variables that a program inherits under the setting `GOOSE_ENV_POLICY=clean`: its place, its user and
/// language, where packages and connections come from, and what Windows programs need. Compared as in
/// [`REFUSED`].
const BASE: &str = "PATH PATHEXT COMSPEC SYSTEMROOT WINDIR SYSTEMDRIVE PROGRAMDATA PROGRAMFILES* APPDATA LOCALAPPDATA
    USERPROFILE HOMEDRIVE HOMEPATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TERM TMPDIR TEMP TMP XDG_*
    DISPLAY WAYLAND_DISPLAY HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR
    NODE_EXTRA_CA_CERTS UV_* PIP_* PIPX_* NPM_CONFIG_*";

impl Inherited {
    /// Removes the other variables of this process from those of a command; of those behind strict walls also what
    /// programs do not need to run, such as keys of clouds.
    pub fn apply(&self, command: &mut Command, is_strict: bool) {
        let names = std::env::vars_os().map(|(name, _)| name);
        for name in names.filter(|name| !self.keeps(&name.to_string_lossy(), is_strict)) {
            command.env_remove(name);
        }
    }

    fn keeps(&self, name: &str, is_strict: bool) -> bool {
        let is_key = |key: &String| key.eq_ignore_ascii_case(name);
        !self.provider_keys.iter().any(is_key)
            && (!(self.clean || is_strict) || BASE.split_whitespace().any(|it| matches(it, name)))
    }
}

/// The class of the error about these variables: security if one of them is refused.
pub fn class_of<'a>(mut names: impl Iterator<Item = &'a str>) -> Class {
    if names.any(|name| refusal(name).is_some()) {
        Class::Security
    } else {
        Class::Config
    }
}

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
#[cfg(test)]
mod refused_tests;

#[cfg(test)]
mod tests;
