use super::*;
use gosling_shared::TemporaryFolder;

struct Tree(TemporaryFolder);

impl Tree {
    fn new(files: &[&str]) -> Self {
        let tree = Tree(TemporaryFolder::within(&std::env::temp_dir()).unwrap());
        for file in files {
            let path = tree.at(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        tree
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn choose(&self, wanted: &Wanted, working_dir: &str) -> Result<Open, String> {
        let own = [self.at("home/.config/goose")];
        let folders = Folders {
            own: &own,
            home: Some(self.at("home")),
        };
        let working_dir = self.at(working_dir);
        let place = Place {
            working_dir: &working_dir,
            folder: &working_dir,
            program: Path::new("/bin/sh"),
            files: &[],
        };
        folders.choose(wanted, place, &self.at("tmp"))
    }
}

const FILES: &[&str] = &[
    "home/.ssh/id",
    "home/.config/goose/secrets.yaml",
    "home/.config/other/a",
    "home/work/a",
    "home/notes",
    "tmp/a",
];

#[test]
fn a_workspace_reads_what_is_not_closed_and_writes_in_its_folders_only() {
    let tree = Tree::new(FILES);
    let open = tree
        .choose(&Wanted::of(Level::Workspace), "home/work")
        .unwrap();
    assert_eq!(open.write, [tree.at("tmp"), tree.at("home/work")]);
    assert_eq!(open.list, [PathBuf::from("/")]);
    for path in ["home/notes", "home/work", "home/.config/other"] {
        assert!(open.read.contains(&tree.at(path)), "{path}");
    }
    for path in [".ssh", ".config/goose", ".aws"] {
        let closed = tree.at("home").join(path);
        let is_open = |open: &PathBuf| closed.starts_with(open) || open.starts_with(&closed);
        assert_eq!(open.read.iter().find(|it| is_open(it)), None, "{path}");
    }
    assert!(open.read.iter().all(|it| !it.starts_with("/dev")));
    assert!(open.read.contains(&PathBuf::from("/proc")));
}

#[test]
fn strict_walls_leave_the_system_and_what_is_named_open() {
    let tree = Tree::new(FILES);
    let wanted = Wanted {
        read: vec![tree.at("home/notes")],
        ..Wanted::of(Level::Strict)
    };
    let open = tree.choose(&wanted, "home/work").unwrap();
    assert!(open.list.is_empty());
    let home = tree.at("home");
    let in_home: Vec<_> = open
        .read
        .iter()
        .filter(|it| it.starts_with(&home))
        .collect();
    assert_eq!(in_home, [&tree.at("home/notes")]);
    assert!(open.read.contains(&real(Path::new("/usr"))));
    assert!(!open.read.contains(&PathBuf::from("/etc/shadow")));
}

#[test]
fn nothing_opens_what_stays_closed() {
    let tree = Tree::new(FILES);
    std::os::unix::fs::symlink(tree.at("home/.ssh"), tree.at("home/work/link")).unwrap();
    // The home, what is above, what is inside of it, and a link to it.
    for dir in [
        "home",
        "",
        "home/.ssh",
        "home/.config",
        "home/.config/goose/data",
        "home/work/link",
    ] {
        let refused = tree.choose(&Wanted::of(Level::Workspace), dir).unwrap_err();
        assert!(
            refused.contains("a sandbox keeps closed"),
            "{dir}: {refused}"
        );
    }
    for (read, write) in [(vec!["home"], vec![]), (vec![], vec!["home/work/link/id"])] {
        let wanted = Wanted {
            read: read.iter().map(|path| tree.at(path)).collect(),
            write: write.iter().map(|path| tree.at(path)).collect(),
            ..Wanted::of(Level::Strict)
        };
        let refused = tree.choose(&wanted, "home/work").unwrap_err();
        assert!(refused.contains("a sandbox keeps closed"), "{refused}");
    }
}

#[test]
fn what_a_link_names_stays_closed_too() {
    let tree = Tree::new(&["home/work/a", "home/real/keys/id", "tmp/a"]);
    std::os::unix::fs::symlink(tree.at("home/real/keys"), tree.at("home/.ssh")).unwrap();
    let open = tree
        .choose(&Wanted::of(Level::Workspace), "home/work")
        .unwrap();
    let closed = tree.at("home/real/keys");
    assert_eq!(open.read.iter().find(|it| closed.starts_with(it)), None);
}
