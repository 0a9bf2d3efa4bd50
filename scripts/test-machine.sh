#!/usr/bin/env bash
# What the tests need of the machine. Every word is optional:
#   scripts/test-machine.sh start [--for PID] [postgres docker tools s3]   install what is missing, start it, write .test-machine/env
#   scripts/test-machine.sh stop [--for PID]                            stop exactly what was started here
#   scripts/test-machine.sh status                                      print the settings
# With --for the machine stays up as long as one of the named processes lives; without it, until `stop` is called.
# A setting that the caller's environment already has (BERTH_TEST_POSTGRES_URL=…) is taken as it is and nothing is started for it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
parts=$root/scripts/test-machine
state=${BERTH_TEST_MACHINE_DIR:-$root/.test-machine}
# Sockets need short paths and the database's own user must reach its files, whatever the clone's place allows.
key=$(printf %s "$state" | cksum | cut -d' ' -f1)
run=/tmp/berth-test-$key
memory=/dev/shm/berth-test-$key
PATH=$PATH:/usr/sbin:/sbin

# shellcheck source=scripts/test-machine/settings.sh
. "$parts/settings.sh"
# shellcheck source=scripts/test-machine/packages.sh
. "$parts/packages.sh"
# shellcheck source=scripts/test-machine/postgres.sh
. "$parts/postgres.sh"
# shellcheck source=scripts/test-machine/s3.sh
. "$parts/s3.sh"
# shellcheck source=scripts/test-machine/docker.sh
. "$parts/docker.sh"
# shellcheck source=scripts/test-machine/images.sh
. "$parts/images.sh"

main() {
  local command=${1:-start} user=
  shift || true
  if [ "${1:-}" = --for ]; then
    user=$2
    shift 2
  fi
  case $command in
    start) start "$user" "$@" ;;
    stop) stop "$user" ;;
    status) cat "$state/env" 2>/dev/null || { echo 'the test machine is not running'; return 1; } ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; return 2 ;;
  esac
}

start() {
  local user=$1
  shift
  local wanted=("$@") part
  [ ${#wanted[@]} -gt 0 ] || wanted=(postgres docker tools s3)
  mkdir -p "$state/users"
  take_turn
  touch "$state/users/${user:-by-hand}"
  install_packages "${wanted[@]}"
  load_settings
  for part in "${wanted[@]}"; do "start_$part"; done
  save_settings
}

stop() {
  local user=$1 other
  [ -d "$state" ] || return 0
  take_turn
  if [ -n "$user" ]; then
    rm -f "$state/users/$user"
    for other in "$state"/users/*; do
      [ -e "$other" ] || continue
      other=${other##*/}
      [ "$other" = by-hand ] && return 0
      kill -0 "$other" 2>/dev/null && return 0
      rm -f "$state/users/$other"
    done
  fi
  stop_docker
  stop_s3
  stop_postgres
  rm -rf "$state/users" "$state/env" "$run" "$memory"
}

# Two starts at once would each take the other's half-started daemon for its own.
take_turn() {
  command -v flock >/dev/null || return 0
  exec 9>"$state/lock"
  flock 9
}

main "$@"
