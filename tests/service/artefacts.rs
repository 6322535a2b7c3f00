//! What `gosling service` prints for containers, Kubernetes and proxies.

use crate::support::client::KEY;
use crate::support::server::{Server, gosling};
use crate::support::temp_dir;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::process::Command;

fn printed(kind: &str) -> String {
    let output = gosling().args(["service", kind]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The documents that are printed for Kubernetes.
fn manifests() -> Vec<Value> {
    let text = printed("kubernetes");
    let documents = yaml_serde::Deserializer::from_str(&text);
    documents
        .map(|document| Value::deserialize(document).unwrap())
        .collect()
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect()
}

/// The members of these objects with this name.
fn all<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|it| it[name].as_str().unwrap())
        .collect()
}

// The published schemas are compared in `tests/interop`; here is what they do not know.
#[test]
fn the_manifests_fit_together() {
    let manifests = manifests();
    let [service, set] = &manifests[..] else {
        panic!("{manifests:?}")
    };
    let (of_set, pod) = (&set["spec"], &set["spec"]["template"]);
    assert_eq!(
        (&service["kind"], &set["kind"]),
        (&json!("Service"), &json!("StatefulSet"))
    );
    assert_eq!(of_set["serviceName"], service["metadata"]["name"]);
    let labels = &pod["metadata"]["labels"];
    assert_eq!(&of_set["selector"]["matchLabels"], labels);
    assert_eq!(&service["spec"]["selector"], labels);

    let container = &pod["spec"]["containers"][0];
    let ports = all(&container["ports"], "name");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], json!(ports[0]));
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(
            container[probe]["httpGet"]["port"],
            json!(ports[0]),
            "{probe}"
        );
    }
    let mut mounts = all(&container["volumeMounts"], "name");
    let mut volumes = all(&pod["spec"]["volumes"], "name");
    volumes.push(
        of_set["volumeClaimTemplates"][0]["metadata"]["name"]
            .as_str()
            .unwrap(),
    );
    mounts.sort_unstable();
    volumes.sort_unstable();
    assert_eq!(mounts, volumes);

    // The rules of "restricted" pods, and a root that cannot be written.
    let security = &container["securityContext"];
    assert_eq!(security["readOnlyRootFilesystem"], true);
    assert_eq!(security["allowPrivilegeEscalation"], false);
    assert_eq!(words(&security["capabilities"]["drop"]), ["ALL"]);
    assert_eq!(pod["spec"]["securityContext"]["runAsNonRoot"], true);
    assert_eq!(
        pod["spec"]["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    assert_eq!(pod["spec"]["automountServiceAccountToken"], false);
    // YAML 1.1 reads this number as an octal one, and Kubernetes does: -r--r-----.
    assert!(printed("kubernetes").contains("defaultMode: 0440"));
}

#[test]
fn a_server_starts_with_what_the_manifest_says_and_answers_its_probes() {
    let manifests = manifests();
    let pod = &manifests[1]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let folder = temp_dir();
    let secret = folder.path().join("key");
    fs::write(&secret, KEY).unwrap();
    let (secret, mount) = (secret.to_str().unwrap(), "/secret/key");
    let arguments = words(&container["args"]);
    assert!(arguments.contains(&mount), "{arguments:?}");
    let replaced = arguments.iter().map(|it| match *it {
        it if it == mount => secret,
        "3000" => "0",
        "0.0.0.0" => "127.0.0.1",
        it => it,
    });
    let arguments: Vec<_> = replaced.collect();
    let mut server = Server::new().env("GOOSE_SERVER__SECRET_KEY", "");
    for variable in container["env"].as_array().unwrap() {
        let [name, value] = ["name", "value"].map(|it| variable[it].as_str().unwrap());
        // The folders are those of the test.
        if !value.starts_with('/') {
            server = server.env(name, value);
        }
    }
    let server = server.start_as(&arguments);
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let path = container[probe]["httpGet"]["path"].as_str().unwrap();
        server.ask("GET", path, None, None).is(200);
    }
    server.is_alive();
}

#[test]
fn the_image_has_nothing_but_the_program_and_its_folder() {
    let file = printed("container");
    let lines: Vec<_> = file
        .lines()
        .filter(|it| !it.starts_with('#') && !it.is_empty())
        .collect();
    let of = |name: &str| -> Vec<&str> {
        let rest = lines
            .iter()
            .filter_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
        rest.collect()
    };
    assert_eq!(lines[0], "FROM scratch");
    assert_eq!(of("FROM").len(), 1);
    assert_eq!(of("COPY").len(), 2, "{file}");
    assert!(
        of("RUN").is_empty() && of("ADD").is_empty(),
        "there is no shell"
    );
    assert_eq!(of("USER"), ["65532:65532"]);
    assert_eq!(of("VOLUME"), of("WORKDIR"));
    let entry: Vec<String> = serde_json::from_str(of("ENTRYPOINT")[0]).unwrap();
    assert_eq!(entry, ["/gosling"]);
    // The command is one that the program knows; the address is not for a test.
    let command: Vec<String> = serde_json::from_str(of("CMD")[0]).unwrap();
    let command = command.iter().map(|it| match &**it {
        "0.0.0.0" => "127.0.0.1",
        "3000" => "0",
        it => it,
    });
    let command: Vec<_> = command.collect();
    Server::new().start_as(&command).is_alive();
}

/// Runs a program that checks a file; `None`, with the reason printed, if it is not installed.
fn check(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("skipped: {program} is not installed");
            None
        }
        output => {
            let output = output.unwrap();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(output.status.success(), "{text}");
            Some(text)
        }
    }
}

// What they do with it is tried in `tests/interop`.
#[test]
fn proxies_understand_their_parts() {
    let folder = temp_dir();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let certificates = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tls");
    let both = ["server.pem", "server-key.pem"]
        .map(|it| fs::read_to_string(format!("{certificates}/{it}")).unwrap());
    fs::write(at("pem"), both.concat()).unwrap();
    let part = printed("haproxy").replace("/etc/haproxy/gosling.pem", &at("pem"));
    fs::write(at("haproxy.cfg"), part).unwrap();
    if let Some(text) = check("haproxy", &["-c", "-f", &at("haproxy.cfg")]) {
        assert!(!text.contains("WARNING"), "{text}");
    }
    for shards in ["1", "3", "1000"] {
        let output = gosling()
            .args(["service", "haproxy", "--shards", shards])
            .output()
            .unwrap();
        let part = String::from_utf8(output.stdout).unwrap();
        let servers = part.matches("\nbackend gosling-").count();
        assert_eq!(servers.to_string(), shards);
        assert!(!part.contains('@'), "all numbers are filled in");
        let part = part.replace("/etc/haproxy/gosling.pem", &at("pem"));
        fs::write(at("shards.cfg"), part).unwrap();
        if let Some(text) = check("haproxy", &["-c", "-f", &at("shards.cfg")]) {
            assert!(!text.contains("WARNING"), "{text}");
        }
    }
    let part = printed("nginx")
        .replace("/etc/nginx/gosling.pem", &at("pem"))
        .replace("/etc/nginx/gosling.key", &at("pem"));
    let config = format!(
        "pid {};\nevents {{}}\nhttp {{\naccess_log off;\n{part}}}\n",
        at("pid")
    );
    fs::write(at("nginx.conf"), config).unwrap();
    let errors = at("errors");
    if let Some(text) = check(
        "nginx",
        &["-t", "-q", "-e", &errors, "-c", &at("nginx.conf")],
    ) {
        assert_eq!(text, "", "nothing to warn of");
    }
}

#[test]
fn each_pod_of_several_is_a_server_of_its_own() {
    let output = gosling()
        .args(["service", "kubernetes", "--shards", "5"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let documents = yaml_serde::Deserializer::from_str(&text);
    let [service, set] = documents
        .map(|document| Value::deserialize(document).unwrap())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert_eq!(service["spec"]["clusterIP"], "None");
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    assert_eq!(set["spec"]["replicas"], 5);
    let pod = &set["spec"]["template"]["spec"];
    assert_eq!(pod["terminationGracePeriodSeconds"], 60);
    let variables = pod["containers"][0]["env"].as_array().unwrap();
    let place = |name: &str| variables.iter().position(|it| it["name"] == name).unwrap();
    let (own, shard) = (place("SHARD"), place("GOOSE_SHARD"));
    assert!(own < shard, "Kubernetes fills in what stands before");
    let path = &variables[own]["valueFrom"]["fieldRef"]["fieldPath"];
    assert_eq!(path, "metadata.labels['apps.kubernetes.io/pod-index']");
    assert_eq!(variables[shard]["value"], "$(SHARD)/5");
    assert_eq!(variables[place("GOOSE_DRAIN_SECONDS")]["value"], "45");
}

#[test]
fn servers_are_counted_for_haproxy_and_kubernetes_alone() {
    for arguments in [
        &["haproxy", "--shards", "0"][..],
        &["haproxy", "--shards", "1001"],
        &["haproxy", "--shards", "x"],
        &["haproxy", "--shards"],
        &["nginx", "--shards", "3"],
        &["systemd", "--socket", "--shards", "3"],
        &["haproxy", "--socket", "--shards", "3"],
    ] {
        let output = gosling().arg("service").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("--shards"), "{told}");
    }
}
