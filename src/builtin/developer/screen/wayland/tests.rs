use super::*;

fn pairs(windows: Option<Vec<Window>>) -> Vec<(String, String)> {
    let windows = windows.unwrap().into_iter();
    windows
        .map(|window| (window.title, window.handle))
        .collect()
}

#[test]
fn windows_of_sway_are_leaves_that_are_seen() {
    let rect = r#""rect":{"x":-5,"y":7,"width":300,"height":200}"#;
    let tree = format!(
        r#"{{"name":"root",{rect},"nodes":[
                {{"name":"1","type":"workspace",{rect},"nodes":[
                    {{"name":"Editor","pid":3,"visible":true,{rect},"nodes":[]}},
                    {{"name":"Hidden","pid":4,"visible":false,{rect}}},
                    {{"name":null,"pid":4,"visible":true,{rect}}}],
                 "floating_nodes":[{{"name":"Player","pid":5,"visible":true,{rect}}}]}}]}}"#
    );
    let place = "-5,7 300x200".to_owned();
    assert_eq!(
        pairs(sway_windows(&tree)),
        [
            ("Editor".to_owned(), place.clone()),
            ("Player".to_owned(), place)
        ]
    );
    let deep = r#"{"rect":{"x":0,"y":0,"width":1,"height":1},"nodes":["#.repeat(100_000);
    for bad in ["", "[]", "{}", &deep] {
        assert!(sway_windows(bad).is_none());
    }
}

#[test]
fn windows_of_hyprland_are_those_that_are_shown() {
    let clients = r#"[{"title":"Term","mapped":true,"hidden":false,"at":[1,2],"size":[3,4],"x":0},
            {"title":"Gone","mapped":false,"at":[1,2],"size":[3,4]},
            {"title":"Flat","at":[1,2],"size":[3,0]}, {"title":"","at":[1,2],"size":[3,4]}]"#;
    assert_eq!(
        pairs(hyprland_windows(clients)),
        [("Term".to_owned(), "1,2 3x4".to_owned())]
    );
    assert!(hyprland_windows("{}").is_none());
}

#[test]
fn displays_that_are_off_do_not_count() {
    let names = outputs(r#"[{"name":"a","active":true},{"name":"b","active":false},{"name":"c"}]"#);
    assert_eq!(names.unwrap(), ["a", "c"]);
    assert_eq!(outputs("no"), None);
}
