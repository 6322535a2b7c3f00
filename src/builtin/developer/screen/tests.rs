use super::*;

fn windows(titles: &[&str]) -> Vec<Window> {
    let numbered = titles.iter().enumerate();
    let window = |(n, title): (usize, &&str)| Window::new(&n.to_string(), title);
    numbered.filter_map(window).collect()
}

#[test]
fn a_window_is_found_by_its_title_or_a_part_that_no_other_has() {
    let windows = windows(&["Mail", "Mail – Inbox", "Editor\n\tone", "editor TWO", " "]);
    assert_eq!(windows.len(), 4);
    let found = |title: &str| choose(&windows, title).map(|window| window.title.as_str());
    assert_eq!(found("Mail"), Ok("Mail"), "though another has it too");
    assert_eq!(found("inbox"), Ok("Mail – Inbox"));
    assert_eq!(found("Editor one"), Ok("Editor one"));
    assert_eq!(found("Editor  two "), Ok("editor TWO"));
    let several = found("edit").unwrap_err();
    assert!(
        several.contains(r#"Several windows have "edit""#),
        "{several}"
    );
    assert!(
        several.contains(r#""Editor one", "editor TWO""#),
        "{several}"
    );
    let none = found("Browser").unwrap_err();
    assert!(
        none.contains(r#"no window "Browser", only "Mail""#),
        "{none}"
    );
    assert!(choose(&[], "x").unwrap_err().contains("No window"));
    let many = super::tests::windows(&["x"; 30]);
    assert!(choose(&many, "y").unwrap_err().ends_with("and more."));
}

#[test]
fn who_shows_things_depends_on_system_and_session() {
    let of = |system, set: &[&str]| DisplaySystem::of(system, &|name| set.contains(&name));
    for system in ["macos", "windows"] {
        let why = of(system, &["DISPLAY"]).unwrap_err();
        assert!(why.contains("not supported on this system"), "{why}");
    }
    assert_eq!(of("linux", &["DISPLAY"]), Ok(DisplaySystem::X11));
    let both = of("linux", &["DISPLAY", "WAYLAND_DISPLAY"]);
    assert_eq!(both, Ok(DisplaySystem::Wayland));
    let why = of("linux", &[]).unwrap_err();
    assert!(why.contains("There is no screen here"), "{why}");
}
