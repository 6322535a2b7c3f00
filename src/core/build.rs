//! Tells the build scripts of crates over this one which features the build has.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let features = std::env::vars_os().filter_map(|(name, _)| {
        let feature = name.to_str()?.strip_prefix("CARGO_FEATURE_")?;
        Some(feature.to_ascii_lowercase().replace('_', "-"))
    });
    let mut features: Vec<String> = features.collect();
    features.sort();
    println!("cargo::metadata=features={}", features.join(","));
}
