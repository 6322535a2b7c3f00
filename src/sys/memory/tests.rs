use super::*;

#[test]
fn the_limits_of_all_groups_count() {
    let root = std::env::temp_dir().join(format!("gosling-groups-{}", std::process::id()));
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("memory.max"), "max\n").unwrap();
    fs::write(root.join("a/memory.max"), "67108864\n").unwrap();
    fs::write(root.join("a/b/memory.max"), "134217728\n").unwrap();
    let limits = |text| limits_of_groups(&root, text);
    assert_eq!(limits("0::/a/b\n"), [128 << 20, 64 << 20]);
    assert_eq!(limits("1:name=x:/q\n0::/a\n"), [64 << 20]);
    for without in ["", "0::/\n", "0::/../..\n", "5:memory:/a\n"] {
        assert_eq!(limits(without), [0; 0], "{without}");
    }
    fs::remove_dir_all(&root).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_has_no_more_than_the_system() {
    let system = system_memory().unwrap();
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let kib: u64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    // Under qemu-user, a 32-bit program is told the lower bits of large numbers alone.
    if cfg!(target_pointer_width = "64") {
        assert_eq!(system >> 10, kib);
    }
    assert!((1..=system).contains(&memory_limit()));
}
