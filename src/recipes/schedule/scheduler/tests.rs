use super::*;

#[test]
fn each_due_time_is_claimed_once_among_processes() {
    let name = format!("gosling-claims-{}", std::process::id());
    let root = std::env::temp_dir().join(name);
    let paths = Paths::under(&root);
    // Two registries on one root are as independent as two processes.
    let process = || {
        let stores = crate::agent::Stores::new(&paths);
        Scheduler::new(Arc::new(Registry::new(stores, &[&crate::PART], true)))
    };
    let (one, two) = (process(), process());
    let now = clock::unix_seconds();
    let change = |change: &dyn Fn(&mut Job)| {
        let job = |jobs: &mut Vec<Job>| find(jobs, "s").map(change);
        one.file.edit(job).unwrap();
    };
    let path = Path::new("/r.yaml");
    let add = |jobs: &mut Vec<Job>| add(jobs, "s", path, "* * * * *").map(drop);
    one.file.edit(add).unwrap();
    change(&|job| job.set_handled_until(now - 100));
    let claims = |process: &Scheduler, due: i64| {
        let claimed = process.claim("s", Some(due), true).unwrap();
        claimed.map(|(_, lock)| lock)
    };
    // The lock is released at once, as by a run that is over.
    assert!(claims(&one, now - 50).is_some());
    assert!(claims(&two, now - 50).is_none());
    assert!(claims(&two, now - 60).is_none());
    assert!(claims(&one, now - 50).is_none());
    // While it runs, the next time is skipped, for good.
    let running = claims(&two, now - 40);
    assert!(running.is_some());
    assert!(claims(&one, now - 30).is_none());
    drop(running);
    assert!(claims(&two, now - 30).is_none());
    assert!(claims(&two, now - 20).is_some());
    // A claim from before the clock was set back.
    change(&|job| job.set_handled_until(now + 1_000));
    assert!(claims(&one, now - 20).is_some());
    change(&|job| job.set_paused(true));
    assert!(claims(&one, now - 10).is_none());
    let _ = std::fs::remove_dir_all(&root);
}

#[test]
fn ids_of_recipe_files_are_free_and_allowed() {
    let jobs = [Job::new("j", Path::new("/r.yaml"), "* * * * *", 0)];
    assert_eq!(free_id(&jobs, Path::new("/a/j.yaml")), "j_1");
    assert_eq!(free_id(&jobs, Path::new("/a/J.yaml")), "J_1");
    assert_eq!(free_id(&jobs, Path::new("/a/aux.yaml")), "aux_1");
    assert!(is_taken(&jobs, "J") && !is_taken(&jobs, "k"));
    for (id, allowed) in [
        ("con", false),
        ("COM1", false),
        ("con 1", true),
        ("x-1", true),
    ] {
        assert_eq!(check_id(id).is_ok(), allowed, "{id}");
    }
    assert_eq!(free_id(&jobs, Path::new("/a/täglich.1.yaml")), "t-glich-1");
    let long = format!("/a/{}.yaml", "x".repeat(300));
    check_id(&free_id(&jobs, Path::new(&long))).unwrap();
}
