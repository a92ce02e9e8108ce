#!/usr/bin/env bash
# Builds DIRECTORY/judge from judge.go and Kubernetes' libraries in Debian, for the tests.
#
#   install.sh DIRECTORY
#
# DIRECTORY/version then holds the libraries' version: 0.36.4 is Kubernetes 1.36.4. It takes Debian's unstable release:
# Debian 13's are of Kubernetes 1.32 or older. The build needs 3 GB, which it deletes at its end.
set -euo pipefail

if (($# != 1)); then
  echo "usage: install.sh DIRECTORY" >&2
  exit 2
fi
readonly HERE="${BASH_SOURCE[0]%/*}"
DEBIAN_RELEASE=sid "${HERE}/../../unpack_packages.sh" "$1" "Kubernetes' libraries" \
  golang-k8s-apiserver-dev golang-k8s-component-helpers-dev golang-go
DIRECTORY="$(cd "$1" && pwd)"
readonly DIRECTORY
readonly ROOT="${DIRECTORY}/root"

go="$(find "${ROOT}/usr/lib" -path '*/go-*/bin/go')"
# Debian's libraries are in GOPATH's layout. Nothing is downloaded.
GO111MODULE=off GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS='' GOROOT="${go%/bin/go}" GOPATH="${ROOT}/usr/share/gocode" \
  GOCACHE="${DIRECTORY}/cache" "$go" build -o "${DIRECTORY}/judge" "${HERE}/judge.go"
rm -rf "$ROOT" "${DIRECTORY}/cache"
