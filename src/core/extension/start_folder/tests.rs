use super::*;

fn place(line: &[&str]) -> Place {
    let args: Vec<String> = line[1..].iter().map(ToString::to_string).collect();
    place_of(line[0], &args)
}

#[test]
fn what_runs_code_of_its_folder_starts_elsewhere() {
    for line in [
        &["npx", "-y", "x"][..],
        &["/usr/bin/npx", "x"],
        &["NPX.cmd", "x"],
        &["bunx", "x"],
        &["uv", "run", "/srv/x.py"],
        &["python", "-m", "x"],
        &["/usr/bin/python3.12", "-um", "x"],
        &["python3", "-u", "-c", "import x"],
        &["python3", "-X", "dev", "-m", "x"],
        &["python"],
        &["uvx", "--with", "x", "python", "-m", "y"],
        &["env", "A=1", "npx", "x"],
        &["nice", "python3", "-m", "x"],
        &["sh", "-c", "cd /srv;exec npx x"],
        &["/bin/bash", "-lc", "A=1 /opt/bin/python -m x"],
        &["cmd", "/c", "npx x"],
        &["docker", "compose", "run", "x"],
        &["go", "run", "x@latest"],
        &["sh", "-c", "exec make serve"],
        &["env", "-S", "npx -y x"],
        &["env", "-vSnpx -y x"],
        &["env", "-S", "npx\\_-y\\_x"],
        &["env", "A=1", "go", "run", "x"],
        &["env", "A=1", "bash", "-c", "exec npx -y x"],
        &["nice", "sh", "-c", "cd /srv; npx -y x"],
        &["timeout", "9", "make", "serve"],
        &["sh", "-c", "exec nice make serve"],
        &["tcsh", "-c", "npx x"],
        &["node", "/usr/lib/node_modules/npm/bin/npx-cli.js", "x"],
        &["node", "/usr/lib/node_modules/npm/bin/npm-cli.js", "x"],
        &["node", "/usr/lib/node_modules/npm/bin/npx-cli", "x"],
        &["node", "/usr/lib/node_modules/npm/index.js", "exec", "x"],
        &["graalpy", "-m", "x"],
        &["ipython3", "-m", "x"],
    ] {
        assert_eq!(place(line), Place::Own, "{line:?}");
    }
}

#[test]
fn other_programs_start_in_the_working_directory() {
    for line in [
        &["node", "/srv/x.js"][..],
        &["uvx", "mcp-server-time", "--local-timezone", "UTC"],
        &["uvx", "--with", "mcp", "python", "/tmp/x.py"],
        &["python3", "-u", "server.py", "-m"],
        &["x-mcp", "--text", "make it so", "npx-like"],
        &["x-mcp", "--language", "go"],
        &["./npx", "x"],
        &["bin/python", "-m", "x"],
        &["sh", "-c", "exec x-mcp --npx-like"],
        &["env", "A=1", "x-mcp", "--text", "make it so"],
        &["env", "A=1", "./gradlew", "serve"],
        &["sh", "-c", "exec bin/npx x"],
        &["nice", "-n", "5", "python3", "server.py", "go"],
        &["docker", "run", "-i", "x"],
    ] {
        assert_eq!(place(line), Place::Session, "{line:?}");
    }
}
