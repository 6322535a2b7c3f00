//! Paths of Windows as text: what they mean can be found out here before the system gets them. To look for a file on
//! another machine tells that machine the user's name and what follows from the password, and to open a device may
//! change it. Pure: no I/O.

use std::borrow::Cow;

const OTHER_MEANING: &str =
    "`path` names a drive without a folder, or a stream of a file; name a file";
const DEVICE: &str = "`path` has the name of a device; name a file";
const ELSEWHERE: &str = "`path` is on another machine, or that of a device: only files on drives, and on the share of \
                         the working directory, can be reached by their path; ask the user if you need it";

/// What stands before a machine behind the marks.
const UNC: &str = r"UNC\";

/// What the names of a path are below.
#[derive(PartialEq)]
enum Volume<'a> {
    /// The letter of a drive, with or without the marks before it.
    Drive,
    /// A machine and what it shares.
    Share(&'a str, &'a str),
    /// A device, or what has no other name.
    Other,
}

impl<'a> Volume<'a> {
    /// The volume and the text behind it; `None` if the path has none.
    fn of(path: &'a str) -> Option<(Self, &'a str)> {
        if let Some(rest) = after_drive(path) {
            return Some((Volume::Drive, rest));
        }
        let rest = path.strip_prefix(is_separator)?;
        let rest = rest.strip_prefix(is_separator)?;
        // The system changes nothing in a path with these marks, if they are written so.
        let Some(rest) = path.strip_prefix(r"\\?\") else {
            return Some(Volume::of_share(rest));
        };
        if let Some(rest) = after_drive(rest) {
            return Some((Volume::Drive, rest));
        }
        let shared = rest.split_at_checked(UNC.len());
        let shared = shared.filter(|(mark, _)| mark.eq_ignore_ascii_case(UNC));
        Some(shared.map_or((Volume::Other, rest), |(_, rest)| Volume::of_share(rest)))
    }

    fn of_share(path: &'a str) -> (Self, &'a str) {
        match share(path) {
            Some((host, share, rest)) => (Volume::Share(host, share), rest),
            None => (Volume::Other, path),
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Volume::Share(host, share), Volume::Share(other, others)) => {
                host.eq_ignore_ascii_case(other) && share.eq_ignore_ascii_case(others)
            }
            (one, other) => one == other,
        }
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '/' | '\\')
}

/// What follows `C:` at the beginning.
fn after_drive(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(|c: char| c.is_ascii_alphabetic());
    rest?.strip_prefix(':')
}

/// The machine, the share, and what follows them.
fn share(path: &str) -> Option<(&str, &str, &str)> {
    let (host, rest) = path.split_once(is_separator)?;
    let (share, rest) = match rest.find(is_separator) {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    let is_named = !matches!(host, "" | "." | "?") && !share.is_empty();
    is_named.then_some((host, share, rest))
}

/// Why a path that others name must not reach the system. `path` is absolute and without `..`; it may be anywhere on a
/// drive, and on the volume of the working directory `dir`.
pub fn refusal(path: &str, dir: &str) -> Option<&'static str> {
    let Some((volume, rest)) = Volume::of(path) else {
        return Some(OTHER_MEANING);
    };
    let within = strip_folder(path, dir);
    let is_own = match volume {
        Volume::Drive => true,
        Volume::Share(..) => Volume::of(dir).is_some_and(|(own, _)| own.is(&volume)),
        Volume::Other => within.is_some(),
    };
    if !is_own {
        return Some(ELSEWHERE);
    }
    let names = within.unwrap_or(rest);
    let is_of_folder = volume == Volume::Drive && !rest.starts_with(is_separator);
    if is_of_folder || names.contains(':') {
        return Some(OTHER_MEANING);
    }
    names.split(is_separator).any(is_device).then_some(DEVICE)
}

/// The same for what a link leads to, which may also be a volume that is mounted in a folder.
pub fn link_refusal(target: &str, dir: &str) -> Option<&'static str> {
    let (volume, rest) = Volume::of(target)?;
    let is_mounted = volume == Volume::Other && rest.starts_with("Volume{");
    let is_link = volume != Volume::Drive && !is_mounted;
    refusal(target, dir).filter(|_| is_link)
}

/// What the path is below the folder. Windows does not tell the case of names apart.
fn strip_folder<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let folder = folder.trim_end_matches(is_separator);
    let (start, rest) = path.split_at_checked(folder.len())?;
    let is_in = start.eq_ignore_ascii_case(folder) && rest.starts_with(is_separator);
    (is_in || rest.is_empty() && start == folder).then_some(rest)
}

/// Whether Windows takes the name of a file for that of a device, in any folder and with any extension. Windows 11 does
/// so for a few names only.
pub fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default();
    let stem = stem.trim_end_matches(' ').to_ascii_uppercase();
    let port = stem.strip_prefix("COM").or(stem.strip_prefix("LPT"));
    match port {
        Some(number) => {
            let mut digits = number.chars();
            let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³');
            digits.next().is_some_and(is_digit) && digits.next().is_none()
        }
        None => matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"),
    }
}

/// Whether a file of this name can be on Windows, and has this name there.
pub fn is_file_name(name: &str) -> bool {
    let is_forbidden = |c: char| c < ' ' || "<>:\"/\\|?*".contains(c);
    !(name.is_empty()
        || name.ends_with(['.', ' '])
        || name.contains(is_forbidden)
        || is_device(name))
}

/// The path without the marks `\\?\`, which many programs do not know, if it means the same without them.
pub fn without_marks(path: &str) -> Cow<'_, str> {
    let Some(rest) = path.strip_prefix(r"\\?\") else {
        return Cow::Borrowed(path);
    };
    let (plain, names) = match Volume::of(path) {
        Some((Volume::Drive, names)) if names.starts_with('\\') => (Cow::Borrowed(rest), names),
        Some((Volume::Share(..), names)) => (Cow::Owned(format!(r"\\{}", &rest[4..])), names),
        _ => return Cow::Borrowed(path),
    };
    let mut names = names.split('\\').filter(|name| !name.is_empty());
    match names.all(is_file_name) {
        true => plain,
        false => Cow::Borrowed(path),
    }
}

/// Whether the path begins with the letter of a drive, without marks.
pub fn is_on_drive(path: &str) -> bool {
    after_drive(path).is_some()
}

/// What follows `file://` in the URI of an absolute path, before it is encoded (RFC 8089, appendix E).
pub fn to_uri(path: &str) -> String {
    let plain = without_marks(path).replace('\\', "/");
    match plain.strip_prefix("//") {
        Some(shared) => shared.to_owned(),
        None if plain.starts_with('/') => plain,
        None => format!("/{plain}"),
    }
}

/// The path that the decoded path of a `file:` URI without a host names: `/C:/…`, or `/c|/…` as it was once written.
pub fn of_uri(path: &str) -> Option<String> {
    let path = path.strip_prefix('/')?;
    let letter = path.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = path[1..].strip_prefix([':', '|'])?;
    rest.starts_with('/').then(|| format!("{letter}:{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_to_another_machine_or_a_device_is_refused_as_it_is_written() {
        for (path, dir) in [
            (r"\\attacker\share\x.png", r"C:\work"),
            ("//attacker/share/x.png", r"C:\work"),
            (r"\/attacker\share", r"C:\work"),
            (r"\\attacker@SSL@8443\share\x", r"C:\work"),
            (r"\\attacker", r"C:\work"),
            (r"\\?\UNC\attacker\share\x", r"C:\work"),
            (r"\\?\unc\attacker\share\x", r"C:\work"),
            (r"\\.\UNC\attacker\share\x", r"C:\work"),
            ("//?/UNC/attacker/share/x", r"C:\work"),
            ("//?/C:/x", r"C:\work"),
            (r"\\.\C:\x", r"C:\work"),
            (r"\\.\pipe\gosling", r"C:\work"),
            (r"\\.\COM1", r"C:\work"),
            (r"\\.\PhysicalDrive0", r"C:\work"),
            (r"\\?\pipe\x", r"C:\work"),
            (r"\\?\GLOBALROOT\Device\Null", r"C:\work"),
            (r"\\?\Volume{1}\x", r"C:\work"),
            (r"\\host\other\x", r"\\host\share\work"),
            (r"\\other\share\x", r"\\host\share\work"),
            (r"\\host\share2\x", r"\\host\share"),
            (r"\\?\Volume{1}\other", r"\\?\Volume{1}\work"),
            (r"\\?\Volume{1}\works", r"\\?\Volume{1}\work"),
        ] {
            assert_eq!(refusal(path, dir), Some(ELSEWHERE), "{path}");
        }
    }

    #[test]
    fn a_link_to_another_machine_is_refused_and_a_mounted_volume_is_not() {
        for (target, refused) in [
            (r"\\attacker\share", true),
            (r"\\?\UNC\attacker\share\x", true),
            (r"\\.\pipe\x", true),
            (r"\\?\GLOBALROOT\Device\Null", true),
            (r"\\host\share\x", false),
            (r"\\?\Volume{1}\", false),
            (r"\\?\D:\x", false),
            (r"D:\x", false),
            (r"..\x", false),
        ] {
            let refusal = link_refusal(target, r"\\host\share\work");
            assert_eq!(refusal.is_some(), refused, "{target}");
        }
    }

    #[test]
    fn a_path_that_means_another_file_is_refused() {
        for path in [
            "",
            "x",
            r"\x",
            "/x",
            "C:",
            "C:x",
            "C:x::$DATA",
            r"C:\work\x::$DATA",
            r"C:\x:y\z",
            r"\\?\C:x",
        ] {
            let wrong = refusal(path, r"C:\work");
            assert!(wrong.is_some(), "{path}");
        }
        for name in [
            "NUL", "con", "Aux.txt", "COM1", "lpt9.log", "COM¹", "nul .x", "CONIN$", r"prn\x",
        ] {
            let path = format!(r"C:\work\{name}");
            assert_eq!(refusal(&path, r"C:\work"), Some(DEVICE), "{path}");
        }
    }

    #[test]
    fn files_on_drives_and_on_the_share_of_the_working_directory_are_reached() {
        for (path, dir) in [
            (r"C:\x", r"C:\work"),
            ("d:/a/b.txt", r"C:\work"),
            (r"D:\", r"C:\work"),
            (r"C:\x", r"\\host\share\work"),
            (r"\\?\C:\x", r"C:\work"),
            (r"\\host\share\other\x", r"\\host\share\work"),
            (r"\\HOST\Share\x", r"\\host\share\work"),
            (r"\\host\share\x", r"\\?\UNC\host\share\work"),
            (r"\\?\UNC\host\share\x", r"\\host\share"),
            (r"\\?\Volume{1}\work\x", r"\\?\Volume{1}\work"),
            (r"\\?\C:\aux\x", r"\\?\C:\aux"),
            (r"C:\command\console\com.txt", r"C:\work"),
            (r"C:\null\com10\lpt", r"C:\work"),
        ] {
            assert_eq!(refusal(path, dir), None, "{path}");
        }
    }

    #[test]
    fn a_name_that_windows_would_change_is_none_of_a_file() {
        for name in [
            "", "x.", "x ", "NUL", "a:b", "a/b", r"a\b", "a?", "a\n", "..", "con.yaml",
        ] {
            assert!(!is_file_name(name), "{name:?}");
        }
        for name in ["x", ".x", "x.y", " x", "ü", "console", "com", "nul-1"] {
            assert!(is_file_name(name), "{name:?}");
        }
    }

    #[test]
    fn the_marks_of_a_path_go_where_it_means_the_same_without_them() {
        for (path, plain) in [
            (r"\\?\C:\work", r"C:\work"),
            (r"\\?\C:\", r"C:\"),
            (r"\\?\UNC\host\share\x", r"\\host\share\x"),
            (r"\\?\unc\host\share", r"\\host\share"),
            (r"C:\work", r"C:\work"),
            (r"\\host\share", r"\\host\share"),
            (r"\\?\C:\work.", r"\\?\C:\work."),
            (r"\\?\C:\a\nul", r"\\?\C:\a\nul"),
            (r"\\?\C:\a\..\b", r"\\?\C:\a\..\b"),
            (r"\\?\C:", r"\\?\C:"),
            (r"\\?\Volume{1}\x", r"\\?\Volume{1}\x"),
        ] {
            assert_eq!(without_marks(path), plain, "{path}");
        }
    }

    #[test]
    fn a_path_becomes_a_uri_and_back() {
        for (path, uri) in [
            (r"C:\work\a b", "/C:/work/a b"),
            (r"c:/", "/c:/"),
            (r"\\?\C:\work", "/C:/work"),
            (r"\\host\share\x", "host/share/x"),
            (r"\\?\UNC\host\share\x", "host/share/x"),
            (r"\work", "/work"),
        ] {
            assert_eq!(to_uri(path), uri, "{path}");
        }
        for (uri, path) in [
            ("/C:/work/a b", Some("C:/work/a b")),
            ("/c|/x", Some("c:/x")),
            ("/C:/", Some("C:/")),
            ("/C:x", None),
            ("/C:", None),
            ("//host/share/x", None),
            ("/home/x", None),
            ("host/share", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(of_uri(uri).as_deref(), path, "{uri}");
        }
    }
}
