use super::*;

fn choose(os: Os, vars: &[(&str, &str)]) -> Result<Paths> {
    Paths::choose(os, |name| {
        vars.iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.into())
    })
}

fn paths(config: &str, data: &str, state: &str) -> Paths {
    Paths {
        config: config.into(),
        data: data.into(),
        state: state.into(),
    }
}

#[test]
fn the_root_wins_on_every_system() {
    for os in [Os::Linux, Os::MacOs, Os::Windows] {
        let vars = [
            ("GOOSE_PATH_ROOT", "/r"),
            ("HOME", "/h"),
            ("XDG_DATA_HOME", "/d"),
        ];
        assert_eq!(choose(os, &vars).unwrap(), Paths::under(Path::new("/r")));
    }
    assert_eq!(
        Paths::under(Path::new("/r")),
        paths("/r/config", "/r/data", "/r/state")
    );
}

#[test]
fn linux_and_macos_follow_xdg() {
    // Absolute also where these have a drive.
    let [home, config, data, state] = ["/h", "/c", "/d", "/s"]
        .map(|path| std::path::absolute(path).unwrap().display().to_string());
    let in_home = paths(
        &format!("{home}/.config/goose"),
        &format!("{home}/.local/share/goose"),
        &format!("{home}/.local/state/goose"),
    );
    for os in [Os::Linux, Os::MacOs] {
        assert_eq!(choose(os, &[("HOME", &home)]).unwrap(), in_home);
        let ignored = [
            ("HOME", &*home),
            ("GOOSE_PATH_ROOT", ""),
            ("XDG_CONFIG_HOME", ""),
            ("XDG_DATA_HOME", "relative"),
        ];
        assert_eq!(choose(os, &ignored).unwrap(), in_home);
        let set = [
            ("XDG_CONFIG_HOME", &*config),
            ("XDG_DATA_HOME", &data),
            ("XDG_STATE_HOME", &state),
        ];
        assert_eq!(
            choose(os, &set).unwrap(),
            paths(
                &format!("{config}/goose"),
                &format!("{data}/goose"),
                &format!("{state}/goose")
            )
        );
        assert!(matches!(choose(os, &[]), Err(Error::NoHome)));
    }
}

#[test]
fn windows_has_block_goose_under_appdata() {
    let app = Path::new("R").join("Block").join("goose");
    let expected = Paths {
        config: app.join("config"),
        data: app.join("data"),
        state: app.join("data"),
    };
    assert_eq!(choose(Os::Windows, &[("APPDATA", "R")]).unwrap(), expected);
    let found = choose(Os::Windows, &[("USERPROFILE", "U")]).unwrap();
    assert!(
        found
            .config
            .starts_with(Path::new("U").join("AppData").join("Roaming"))
    );
    assert!(matches!(
        choose(Os::Windows, &[("HOME", "/h")]),
        Err(Error::NoHome)
    ));
}
