//! Which arguments of docker are allowed.

use crate::tests::{ALLOWED, BLOCKED, CONFIRM, with};

#[test]
fn docker_gets_no_power_over_this_machine() {
    for (args, expected) in [
        ("run -i --rm -e KEY=value --env A= mcp/time", ALLOWED),
        (
            "run -it --name x -p 80:80 image --privileged -v /:/x",
            ALLOWED,
        ),
        ("run -i -v /data --volume=/other image", ALLOWED),
        ("run -i -v a image", ALLOWED),
        ("run -i -v a/b image", ALLOWED),
        ("run -i -v //data image", ALLOWED),
        ("run -i -v /ab:/data image", CONFIRM),
        ("run -i -v data:/data image", CONFIRM),
        ("run -i -v /srv:/srv image", CONFIRM),
        ("run -i -v C:\\Users:/data image", CONFIRM),
        ("run -i -v data:/data:ro image", CONFIRM),
        ("run -i --volume=data:/data image", CONFIRM),
        ("run -i -v c:/data image", CONFIRM),
        ("run -i -v /srv:/data image", CONFIRM),
        ("run -i --mount type=image,dst=/data image", CONFIRM),
        ("run -i --rm -e KEY mcp/time", CONFIRM),
        ("run -i --rm --env=KEY mcp/time", CONFIRM),
        ("run -ieKEY mcp/time", CONFIRM),
        ("run -i -e OTHER* mcp/time", CONFIRM),
        ("container run -i image", ALLOWED),
        ("run -i touch", ALLOWED),
        ("mcp gateway run", ALLOWED),
        ("run --privileged=false image", ALLOWED),
        (
            "run -it --init --read-only --cap-drop ALL --user 1 -w/x image",
            ALLOWED,
        ),
        (
            "run -i --network none --memory=1g --pull missing image",
            ALLOWED,
        ),
        ("run -i --mount type=volume,dst=/data image", ALLOWED),
        (
            "run -i --mount type=volume,src=data,dst=/data,readonly image",
            CONFIRM,
        ),
        ("run -i --mount source=data,dst=/data image", CONFIRM),
        ("run --pid container:x image", CONFIRM),
        ("run --network container:x image", CONFIRM),
        ("run --net=other image", CONFIRM),
        ("run --ipc=container:x image", CONFIRM),
        ("run --runtime other image", CONFIRM),
        ("run --restart always image", CONFIRM),
        ("run -d image", CONFIRM),
        ("run --gpus all image", CONFIRM),
        ("run --log-driver=syslog image", CONFIRM),
        ("run --env-file .env image", CONFIRM),
        ("run --label-file /etc/passwd image", CONFIRM),
        ("run --cidfile /tmp/x image", CONFIRM),
        ("run --add-host h:127.0.0.1 image", CONFIRM),
        ("run --volume-driver other -v data:/data image", CONFIRM),
        ("run --unknown image", CONFIRM),
        ("run --privilege image", CONFIRM),
        (
            "run --mount type=volume,dst=/h,volume-opt=device=/ image",
            BLOCKED,
        ),
        (
            "run --mount type=volume,dst=/h,\"volume-opt=o=bind\" image",
            BLOCKED,
        ),
        (
            "run --mount type=volume,dst=/h,volume-driver=other image",
            BLOCKED,
        ),
        ("run --mount type=cluster,src=x,dst=/h image", CONFIRM),
        (
            "run --mount type=bind,dst=/h,source=/x,unknown image",
            CONFIRM,
        ),
        ("mcp gateway run --catalog http://evil", CONFIRM),
        ("run --privileged=f image", BLOCKED),
        ("run --device-cgroup-rule x image", BLOCKED),
        ("run -v /home/ada/work:/work image", CONFIRM),
        ("run --mount type=bind,src=/srv,dst=/srv image", CONFIRM),
        ("run --network=host image", CONFIRM),
        ("run --net host image", CONFIRM),
        ("run --privileged image", BLOCKED),
        ("run --privileged=true image", BLOCKED),
        ("run -i --rm --privileged image", BLOCKED),
        ("run -v /:/host image", BLOCKED),
        ("run -v=/:/host image", BLOCKED),
        ("run -v/:/host image", BLOCKED),
        ("run -itv /:/host image", BLOCKED),
        ("run --volume /:/host image", BLOCKED),
        ("run --volume=//./:/host image", BLOCKED),
        ("run -v /home/..:/host image", BLOCKED),
        ("run -v C:\\:/host image", BLOCKED),
        ("run -v \\\\.\\pipe\\docker_engine:/host image", BLOCKED),
        ("run -v /etc:/host image", BLOCKED),
        ("run -v /var/run/docker.sock:/s image", BLOCKED),
        ("run -v /home/ada/.docker/run/docker.sock:/s image", BLOCKED),
        ("run --mount type=bind,source=/,target=/host image", BLOCKED),
        (
            "run --mount \"type=bind\",\"src=/\",dst=/host image",
            BLOCKED,
        ),
        ("run --pid=host image", BLOCKED),
        ("run --pid host image", BLOCKED),
        ("run --cap-add SYS_ADMIN image", BLOCKED),
        ("run --device=/dev/sda image", BLOCKED),
        ("run --security-opt seccomp=unconfined image", BLOCKED),
        ("run --volumes-from other image", BLOCKED),
        ("-H tcp://evil run image", BLOCKED),
        ("--host=tcp://evil run image", BLOCKED),
        ("exec x sh", BLOCKED),
        ("compose up", BLOCKED),
    ] {
        let escaped = |arg: &str| {
            let escaped = arg
                .replace('%', "%25")
                .replace('&', "%26")
                .replace('=', "%3D");
            format!("&arg={}", escaped.replace('"', "%22").replace('+', "%2B"))
        };
        let args: String = args.split(' ').map(escaped).collect();
        assert_eq!(with(&format!("cmd=docker{args}")), expected, "{args}");
    }
    assert_eq!(with("cmd=docker"), BLOCKED);
    let variable = |name: &str| {
        with(&format!(
            "cmd=docker&arg=run&arg=-e&arg=KEY&arg=i&env={name}"
        ))
    };
    assert_eq!(variable("KEY"), ALLOWED);
    assert_eq!(variable("OTHER"), CONFIRM);
}
