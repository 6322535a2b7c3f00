#!/bin/sh
# How the certificates beside this file were made: an authority, and a server that it signed. They are
# good for a hundred years and guard nothing.
set -e
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
touch "$work/index"
cat > "$work/config" <<END
[ca]
default_ca = this
[this]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
[any]
commonName = supplied
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
subjectAltName = DNS:localhost, DNS:mcp.example.test, IP:127.0.0.1
extendedKeyUsage = serverAuth
[req]
distinguished_name = name
[name]
END
request() {
    openssl req -new -config "$work/config" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -keyout "$1" -out "$2" -subj "$3"
}
sign() {
    openssl ca -batch -notext -config "$work/config" -startdate 20200101000000Z \
        -enddate 21200101000000Z "$@"
}
request "$work/ca-key.pem" "$work/ca.csr" "/CN=gosling test authority"
sign -selfsign -keyfile "$work/ca-key.pem" -in "$work/ca.csr" -extensions authority -out ca.pem
request server-key.pem "$work/server.csr" "/CN=gosling test server"
sign -cert ca.pem -keyfile "$work/ca-key.pem" -in "$work/server.csr" -extensions server -out server.pem
