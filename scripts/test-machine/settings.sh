# shellcheck shell=bash disable=SC2154  # state comes from test-machine.sh
# The settings that the tests read: BERTH_TEST_<NAME>=value, or BERTH_TEST_<NAME>_MISSING=reason. One line each, value as it is.

found=()

# A setting holds one answer: a value takes the place of an earlier reason and the other way round.
set_found() { drop_setting "$1"; found+=("BERTH_TEST_$1=$2"); }
set_missing() {
  drop_setting "$1"
  found+=("BERTH_TEST_$1_MISSING=$2")
  say "$(printf %s "$1" | tr '[:upper:]_' '[:lower:] ') is missing: $2"
}

drop_setting() {
  local line kept=()
  for line in ${found[@]+"${found[@]}"}; do
    case $line in "BERTH_TEST_$1="* | "BERTH_TEST_$1_MISSING="*) ;; *) kept+=("$line") ;; esac
  done
  found=(${kept[@]+"${kept[@]}"})
}

# True when the caller's own environment names it; then it is the caller's, and nothing is started.
given() {
  local name=BERTH_TEST_$1
  [ -n "${!name:-}" ] || return 1
  set_found "$1" "${!name}"
}

load_settings() {
  local line
  [ -f "$state/env" ] || return 0
  while IFS= read -r line; do found+=("$line"); done <"$state/env"
}

save_settings() {
  (umask 077 && printf '%s\n' ${found[@]+"${found[@]}"} >"$state/env.new")
  mv "$state/env.new" "$state/env"
}

say() { printf 'test machine: %s\n' "$*" >&2; }

is_root() { [ "$(id -u)" = 0 ]; }

# A pid file may be older than the machine's last start: the process counts as ours only if its command line names our folder.
is_ours() {
  local pid=$1 mark=$2
  [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null || return 1
  if [ -r "/proc/$pid/cmdline" ]; then tr '\0' ' ' <"/proc/$pid/cmdline" | grep -F -- "$mark" >/dev/null; else ps -o args= -p "$pid" | grep -F -- "$mark" >/dev/null; fi
}

# end_process PID MARK SECONDS [SIGNAL]: ends a process of ours, asked first, then by force.
end_process() {
  local pid=$1 mark=$2 seconds=$3
  is_ours "$pid" "$mark" || return 0
  kill -"${4:-TERM}" "$pid"
  for _ in $(seq $((seconds * 10))); do
    is_ours "$pid" "$mark" || return 0
    sleep 0.1
  done
  is_ours "$pid" "$mark" && kill -KILL "$pid"
  return 0
}

free_port() { node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })'; }
