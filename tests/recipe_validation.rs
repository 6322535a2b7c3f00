//! `gosling recipe validate`.
#![cfg(feature = "recipes")]

mod support;

use std::fs;
use std::process::Output;
use support::server::gosling;
use support::{TempDir, temp_dir};

const VALID: &str = "title: T\ndescription: D\nprompt: go\n";

fn validate(folder: &TempDir, files: &[&str]) -> Output {
    gosling()
        .args(["recipe", "validate"])
        .args(files)
        .current_dir(folder.path())
        .env("GOOSE_PATH_ROOT", folder.path())
        .output()
        .expect("gosling runs")
}

#[track_caller]
fn assert_output(output: &Output, code: i32, stdout: &str) {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{err}");
    assert_eq!(output.status.code(), Some(code), "{err}");
}

#[test]
fn every_fault_is_printed_with_file_line_and_column() {
    let folder = temp_dir();
    let yaml = "title: T\ndescription: D\nprompt: Hi {{ a }} {{ b }}\nparameters:\n  - key: c\n    \
                input_type: string\n    requirement: required\n    description: C\n";
    let json = "{\"title\": \"T\", \"description\": \"D\",\n \"prompt\": \"Hi {{ a }}\"}";
    fs::write(folder.path().join("a.yaml"), yaml).unwrap();
    fs::write(folder.path().join("b.json"), json).unwrap();
    fs::write(folder.path().join("c.yaml"), VALID).unwrap();
    let output = validate(&folder, &["a.yaml", "b.json", "c.yaml"]);
    let expected = "\
a.yaml:3:15: prompt: uses `a`, which `parameters` does not declare
a.yaml:3:23: prompt: uses `b`, which `parameters` does not declare
a.yaml:5:10: parameters[0].key: nothing uses the parameter `c`; remove it
b.json:2:19: prompt: uses `a`, which `parameters` does not declare
c.yaml: valid
";
    assert_output(&output, 1, expected);
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_valid_file_is_exit_code_0_and_leaves_nothing_behind() {
    let folder = temp_dir();
    fs::write(folder.path().join("a.yml"), VALID).unwrap();
    assert_output(&validate(&folder, &["a.yml"]), 0, "a.yml: valid\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn files_that_cannot_be_read_are_exit_code_1_and_a_reason() {
    let folder = temp_dir();
    fs::write(
        folder.path().join("large.yaml"),
        "#".repeat((256 << 10) + 1),
    )
    .unwrap();
    for (file, reason) in [
        ("absent.yaml", "there is no such file"),
        (".", "it is not a regular file"),
        ("large.yaml", "it is larger than 256 KiB"),
    ] {
        let output = validate(&folder, &[file]);
        assert_output(&output, 1, "");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains(reason), "{file}: {err}");
    }
}

#[test]
fn a_file_that_cannot_be_read_does_not_end_the_validation_of_the_others() {
    let folder = temp_dir();
    fs::write(folder.path().join("a.yaml"), VALID).unwrap();
    let output = validate(&folder, &["absent.yaml", "a.yaml"]);
    assert_output(&output, 1, "a.yaml: valid\n");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("absent.yaml"), "{err}");
}

#[test]
fn text_of_the_file_cannot_control_the_terminal() {
    let folder = temp_dir();
    let text = "title: T\ndescription: D\nprompt: go\nparameters:\n- {key: \"\\e[2J\\n\", \
                input_type: string, requirement: required, description: ''}\n";
    fs::write(folder.path().join("a.yaml"), text).unwrap();
    let output = validate(&folder, &["a.yaml"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(out.lines().count(), 1, "{out}");
    assert!(!out.contains('\u{1b}'), "{out}");
}
