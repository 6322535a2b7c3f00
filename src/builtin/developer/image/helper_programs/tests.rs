use super::*;

#[test]
fn a_complaint_is_short_and_on_one_line() {
    let done = |stdout: &str, stderr: &str| ProgramOutput {
        success: false,
        stdout: stdout.as_bytes().to_vec(),
        stderr: stderr.as_bytes().to_vec(),
    };
    let text = done("out", "no\n  such \x1b[1mthing\n").error_text();
    assert_eq!(text, "no such \\u{1b}[1mthing");
    assert_eq!(done("out\n", " \n").error_text(), "out");
    assert_eq!(done("", "").error_text(), "it gave no reason");
    let long = done(&"x ".repeat(1 << 20), "").error_text();
    assert_eq!(long.chars().count(), MAX_SHOWN + 1);
}

/// Runs a shell script with this time limit.
#[cfg(unix)]
fn run(script: &str, limit: Duration, cancel: &Cancel) -> Result<ProgramOutput, String> {
    let programs = Programs {
        family: Arc::new(Family::new().unwrap()),
        until: Instant::now() + limit,
        cancel,
    };
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    let done = programs.run(command);
    programs.family.end();
    done.map_err(|error| error.to_string())
}

#[cfg(unix)]
#[test]
fn neither_time_nor_output_is_without_end() {
    const LONG: Duration = Duration::from_secs(600);
    let none = Cancel::new();
    let begin = Instant::now();
    let late = run("yes & sleep 1000", Duration::from_millis(200), &none);
    let why = late.err().unwrap();
    assert!(why.starts_with("sh took too long"), "{why}");
    let flood = "head -c 9000000 /dev/zero; head -c 9000 /dev/zero >&2; exit 3";
    let done = run(flood, LONG, &none).unwrap();
    assert!(!done.success);
    assert_eq!(done.stdout.len(), MAX_OUTPUT);
    assert_eq!(done.stderr.len(), MAX_ERROR_TEXT);
    // Background processes are not waited for, and reading stdin ends at once.
    let done = run("sleep 1000 & cat; echo hi", LONG, &none).unwrap();
    assert!(done.success);
    assert_eq!(done.stdout, b"hi\n");
    none.cancel();
    assert_eq!(run("echo hi", LONG, &none).err().unwrap(), "Cancelled.");
    assert!(begin.elapsed() < LONG / 2);
}
