//! What the paths mean that others name: a model, a client, an archive.

#[cfg(not(windows))]
#[path = "../windows/path_text.rs"]
pub mod path_text;

#[cfg(windows)]
pub use crate::windows::path_text;
use std::path::{Path, PathBuf};

/// The most links on the way to a file that are looked at; the system follows fewer.
const MAX_LINKS: usize = 64;

/// Why the path, which is absolute and without `..`, must not be looked at for others who work in the folder `dir`. On
/// Unix each path names a file, and looking at it changes nothing.
pub fn refusal(path: &Path, dir: &Path) -> Option<&'static str> {
    if cfg!(not(windows)) {
        return None;
    }
    let text = dir.to_string_lossy();
    let of_link = |target: &Path| path_text::link_refusal(&target.to_string_lossy(), &text);
    path_text::refusal(&path.to_string_lossy(), &text)
        .or_else(|| refused_link(path, Some(dir), &of_link, &mut { MAX_LINKS }))
}

/// Why one of the links on the way to the path must not be followed, the first one first. Looks at a link only when
/// those before it may be followed. Those that the path of the folder `dir` itself has are not judged.
fn refused_link(
    path: &Path,
    dir: Option<&Path>,
    refusal: &dyn Fn(&Path) -> Option<&'static str>,
    left: &mut usize,
) -> Option<&'static str> {
    let is_new = |way: &&Path| !dir.is_some_and(|dir| dir.starts_with(way));
    let ways: Vec<&Path> = path.ancestors().take_while(is_new).collect();
    for way in ways.into_iter().rev() {
        if !way.symlink_metadata().ok()?.is_symlink() {
            continue;
        }
        *left = match left.checked_sub(1) {
            Some(left) => left,
            None => return Some("`path` leads through too many links"),
        };
        let target = way.parent().unwrap_or(way).join(way.read_link().ok()?);
        let refused = refusal(&target).or_else(|| refused_link(&target, None, refusal, left));
        if refused.is_some() {
            return refused;
        }
    }
    None
}

/// The same of what a file in the folder `dir` names: a path that starts there if it is relative.
pub fn refusal_from(dir: &Path, name: &str) -> Option<&'static str> {
    if cfg!(not(windows)) {
        return None;
    }
    let dir = std::env::current_dir().unwrap_or_default().join(dir);
    refusal(&dir.join(name), &dir)
}

/// Whether this system takes the name of a file for that of a device.
pub fn is_device(name: &str) -> bool {
    cfg!(windows) && path_text::is_device(name)
}

/// Whether a file on this system can have this name, which has no `/`, and keeps it.
pub fn is_file_name(name: &str) -> bool {
    cfg!(not(windows)) || path_text::is_file_name(name)
}

/// The absolute path that the decoded path of a `file:` URI without a host names on this system.
pub fn of_uri(path: String) -> Option<PathBuf> {
    let path = if cfg!(windows) {
        path_text::of_uri(&path)?
    } else {
        path
    };
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_is_judged_before_what_is_behind_it_is_looked_at() {
        let root = std::env::temp_dir().join(format!("gosling-links-{}", std::process::id()));
        let root = &root;
        fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("/shared/there", root.join("a/out")).unwrap();
        symlink("../a/out", root.join("a/through")).unwrap();
        symlink("a", root.join("in")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let refusal = |path: &Path| path.starts_with("/shared").then_some("elsewhere");
        for (path, refused) in [
            ("a/out", true),
            ("a/out/x", true),
            ("in/through/x/y", true),
            ("a/b", false),
            ("in/b/none", false),
            ("round/x", true),
            ("none/x", false),
        ] {
            let path = root.join(path);
            let found = refused_link(&path, Some(root), &refusal, &mut { MAX_LINKS });
            assert_eq!(found.is_some(), refused, "{path:?}");
        }
        let (dir, path) = (root.join("a/out"), root.join("a/out/x"));
        assert!(refused_link(&path, Some(&dir), &refusal, &mut { MAX_LINKS }).is_none());
        fs::remove_dir_all(root).unwrap();
    }
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_names_starts_in_its_folder() {
        for (dir, name, refused) in [
            ("", "sub.yaml", false),
            ("recipes", "sub.yaml", false),
            (r"C:\recipes", r"..\other\sub.yaml", false),
            ("recipes", r"\\host\share\sub.yaml", true),
            ("", "//host/share/sub.yaml", true),
            (r"C:\recipes", "nul", true),
            ("", "sub.yaml:stream", true),
        ] {
            let refusal = refusal_from(Path::new(dir), name);
            assert_eq!(refusal.is_some(), refused, "{dir} {name}");
        }
    }
}
