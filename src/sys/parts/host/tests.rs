use super::*;

#[test]
fn the_memory_of_a_system_is_read_from_its_text() {
    let text = "MemTotal:       24683528 kB\nMemFree:         100 kB\n";
    assert_eq!(memory_in(text), Some(24_683_528 << 10));
    for odd in [
        "",
        "MemTotal:",
        "MemTotal: many kB",
        "MemTotal: 18446744073709551615 kB",
    ] {
        assert_eq!(memory_in(odd), None, "{odd}");
    }
}

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
fn this_system_tells_what_it_is() {
    let host = host();
    assert!(host.memory.is_some_and(|bytes| bytes > 1 << 20), "{host:?}");
    assert!(host.machine.is_some_and(|machine| !machine.is_empty()));
    assert!(!host.missing.contains(&"proc"));
}
