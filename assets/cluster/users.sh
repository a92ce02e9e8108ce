#!/usr/bin/env bash
# Makes the users of the environment file on this node: each with a group and a user id of its own, no password, no sudo.
# Whoever has left the file loses the account here; files stay. The head node shares list and program on /opt/slurm; each
# node runs it in its set-up and, as prolog.d/05_slipway_users, before every job. Where nothing changes it does nothing.
#
#   users.sh          on any node
#   users.sh --homes  on the head node, which also makes the homes on the shared /home
#
# ROOT is put before every path (tests set it); on a node it is empty.
set -euo pipefail
umask 022

readonly ROOT="${ROOT:-}"
readonly LIST="${ROOT}/opt/slurm/etc/slipway/users" MADE="${ROOT}/etc/slipway/users"

fail() {
  printf 'slipway users: %s\n' "$*" >&2
  exit 1
}

# is_made DATABASE NAME ID: whether the user or the group is there. The same name with another id, or the same id with
# another name, is somebody else.
is_made() {
  local key name id
  for key in "$2" "$3"; do
    name=""
    IFS=: read -r name _ id _ < <(getent "$1" "$key") || true
    if [[ -n "$name" && "${name}:${id}" != "$2:$3" ]]; then
      fail "the list says $2 with the id $3, and the $1 file of this node ${name} with ${id}: write another in training.users"
    fi
  done
  [[ -n "$name" ]]
}

# make_user NAME ID
make_user() {
  if ! is_made group "$1" "$2"; then
    groupadd --gid "$2" "$1"
  fi
  if ! is_made passwd "$1" "$2"; then
    useradd --uid "$2" --gid "$2" --home-dir "/home/$1" --no-create-home --shell /bin/bash "$1"
  fi
}

# make_home NAME ID: its mode keeps others out. A home, or a folder of this user id, that somebody left is not given away.
make_home() {
  local home="${ROOT}/home/$1" other
  if [[ -e "$home" || -L "$home" ]]; then
    if [[ -L "$home" || "$(stat --format %u "$home")" != "$2" ]]; then
      fail "/home/$1 does not belong to the user id $2: rename it, or write its owner's number in training.users"
    fi
    return
  fi
  other="$(find "${ROOT}/home" -mindepth 1 -maxdepth 1 -uid "$2" -print -quit)"
  if [[ -n "$other" ]]; then
    fail "the user id $2 owns ${other#"$ROOT"}: write another number for $1 in training.users"
  fi
  rm -rf "${ROOT}/home/.slipway-new"
  mkdir -m 0700 "${ROOT}/home/.slipway-new"
  cp --recursive "${ROOT}/etc/skel/." "${ROOT}/home/.slipway-new"
  chown --recursive "$2:$2" "${ROOT}/home/.slipway-new"
  mv -T "${ROOT}/home/.slipway-new" "$home"
}

# remove_users: Session Manager starts sessions of locked users, too (amazon-ssm-agent 3.3.0.0, agent/session/shell/
# shell_unix.go, lines 127 to 160: it looks only whether the user exists). So the account goes; --force, though a job of
# theirs may run. Without --remove no file is touched.
remove_users() {
  local name id
  while IFS=: read -r name id; do
    if ! grep --quiet --line-regexp --fixed-strings "${name}:${id}" "$LIST"; then
      if is_made passwd "$name" "$id"; then
        userdel --force "$name"
      fi
    fi
  done <"$MADE"
}

mkdir -p "${MADE%/*}"
touch "$MADE"
if [[ "${1:-}" != --homes ]] && cmp --silent "$LIST" "$MADE"; then
  exit
fi
remove_users
while IFS=: read -r name id; do
  make_user "$name" "$id"
  if [[ "${1:-}" == --homes ]]; then
    make_home "$name" "$id"
  fi
done <"$LIST"
cp "$LIST" "${MADE}.new"
mv "${MADE}.new" "$MADE"
