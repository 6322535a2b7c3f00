use super::*;
use gosling_core::extension::ExtensionConfig;
use std::sync::atomic::AtomicUsize;
use std::thread;

fn root() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("gosling-inline-{}-{n}", std::process::id());
    let root = env::temp_dir().join(name);
    fs::create_dir_all(&root).unwrap();
    root
}

#[test]
fn a_folder_is_never_removed_while_it_is_created_or_in_use() {
    let root = root();
    let own = ScriptFolder::within(&root).unwrap();
    let (created, missing) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while created.load(Ordering::Relaxed) < 600 {
                    own.remove_leftovers(&root);
                }
            });
        }
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..200 {
                    match ScriptFolder::within(&root) {
                        Ok(folder) => {
                            thread::yield_now();
                            let is_missing = !folder.path.is_dir();
                            missing.fetch_add(usize::from(is_missing), Ordering::Relaxed);
                        }
                        // The threads that remove do nothing else here, so on a busy machine they may be
                        // the first each time. The caller knows it then.
                        Err(error) if error.to_string().contains("keeps removing") => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(_) => drop(missing.fetch_add(1, Ordering::Relaxed)),
                    }
                    created.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(missing.into_inner(), 0);
    assert!(refused.into_inner() < 300, "most are created");
    assert!(own.path.exists());
    drop(own);
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    fs::remove_dir(&root).unwrap();
}

#[test]
fn a_dependency_is_one_argument_or_refused() {
    gosling_testing::property_testing::check(|u| {
        let mut dependencies = Vec::new();
        for _ in 0..u.int_in_range(0..=4)? {
            let begin = *u.choose(&["", "-", " -", "--with", "a", "{file}", "\n", "\0"])?;
            dependencies.push(format!("{begin}{}", u.arbitrary::<String>()?));
        }
        let config = serde_json::json!({
            "type": "inline_python", "name": "x", "description": "", "code": "c",
            "dependencies": dependencies,
        });
        let Ok(ExtensionConfig::InlinePython(config)) = ExtensionConfig::from_value(config) else {
            panic!("{dependencies:?}")
        };
        let Ok(words) = Settings::default().words(&config) else {
            return Ok(());
        };
        let mut expected = vec!["uvx", "--with", "mcp"];
        for dependency in &dependencies {
            expected.extend(["--with", dependency.trim()]);
        }
        expected.extend(["python", FILE]);
        assert_eq!(words, expected);
        let options = words.iter().filter(|word| word.starts_with('-'));
        assert_eq!(options.count(), dependencies.len() + 1, "{words:?}");
        Ok(())
    });
}

#[test]
fn errors_of_the_launcher_are_told_from_those_of_the_code() {
    let explained = |stderr: &str| {
        let mut failed = Error::new("x", Phase::Initialize, "it ended");
        Settings::default().explain(&mut failed, stderr);
        (failed.class, failed.message.len() > "it ended".len())
    };
    let setup = Some(Class::Setup);
    let initialize = Some(Class::Initialize);
    for (stderr, class, advised) in [
        ("  × No solution found\n  ╰─▶ Because", setup, true),
        ("Downloading x\nerror: Failed to fetch", setup, true),
        ("an error: of the program", initialize, false),
        (
            "Traceback (most recent call last):\nerror: x",
            initialize,
            false,
        ),
        ("No module named 'mcp.server.fastmcp'", initialize, true),
        ("No module named 'x'", initialize, true),
        ("", initialize, false),
    ] {
        assert_eq!(explained(stderr), (class, advised), "{stderr}");
    }
}

#[test]
fn what_a_process_left_is_removed() {
    let root = root();
    let own = ScriptFolder::within(&root).unwrap();
    let leftover = root.join(format!("{PREFIX}left"));
    fs::create_dir(&leftover).unwrap();
    fs::write(leftover.join(FILE_NAME), "").unwrap();
    if cfg!(windows) {
        fs::write(lock_path(&root.join(format!("{PREFIX}alone"))), "").unwrap();
    }
    own.remove_leftovers(&root);
    assert!(own.path.exists() && !leftover.exists());
    drop(own);
    fs::remove_dir(&root).unwrap();
}
