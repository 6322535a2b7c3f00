#!/bin/sh
# A fake container runtime with one container, `box`: this machine with another environment.
# It records its arguments, checks them, and executes the command.
here=$(/usr/bin/dirname "$0")
{
    echo "as ${0##*/}"
    for word in "$@"; do echo "word $word"; done
    for name in TOKEN PLAIN GOOSE_SERVER__SECRET_KEY; do
        eval "[ -n \"\${$name+x}\" ]" && echo "has $name"
    done
    echo "pid $$"
} >>"$here/calls"

refuse() {
    echo "unknown flag, or one too few: $*" >&2
    exit 125
}
[ "$1" = exec ] && [ "$2" = -i ] || refuse "$@"
shift 2
dir=$here/own
names=
while :; do
    case $1 in
    -w) dir=$2 ;;
    -e)
        case $2 in *=*) refuse "$@" ;; esac
        names="$names $2 "
        ;;
    -*) refuse "$@" ;;
    *) break ;;
    esac
    shift 2
done
container=$1
shift
case $container in
box) ;;
stopped)
    echo "Error response from daemon: container stopped is not running" >&2
    exit 1
    ;;
leaky)
    echo "Error response from daemon: bad token $TOKEN" >&2
    exit 1
    ;;
*)
    echo "Error response from daemon: No such container: $container" >&2
    exit 1
    ;;
esac

# The real runtime prints these to stdout.
start="OCI runtime exec failed: exec failed: unable to start container process:"
cd "$dir" 2>/dev/null || {
    echo "$start chdir to cwd (\"$dir\") set in config.json failed: no such file or directory: unknown"
    exit 126
}
for name in $(/usr/bin/env | /usr/bin/sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
    case $names in *" $name "*) ;; *) unset "$name" ;; esac
done
PATH=$here/inside:/usr/bin:/bin HOME=$here/inside OF_THE_CONTAINER=1
export PATH HOME OF_THE_CONTAINER
command -v "$1" >/dev/null || {
    echo "$start exec: \"$1\": executable file not found in \$PATH: unknown"
    exit 127
}
exec "$@"
