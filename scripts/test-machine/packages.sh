# shellcheck shell=bash disable=SC2154  # state comes from test-machine.sh
# What is looked for, and the Debian package that brings it. A program counts wherever it came from.

install_packages() {
  local missing=() part package probe
  while read -r part package probe; do
    wants "$part" "$@" || continue
    there "$probe" || missing+=("$package")
  done <<'NEEDS'
postgres postgresql          postgres-server
docker   docker.io           dockerd
docker   iptables            iptables
docker   iproute2            ip
docker   busybox-static      busybox
docker   ca-certificates     /etc/ssl/certs/ca-certificates.crt
docker   python3             /usr/bin/python3
docker   python3-pip         /usr/lib/python3/dist-packages/pip
docker   python3-venv        /usr/share/python-wheels
docker   postgresql          postgres-server
docker   mariadb-server      mariadbd
docker   redis-server        redis-server
tools    openssh-server      sshd
tools    openssh-client      ssh-keygen
tools    nginx               nginx
tools    chromium            chromium
tools    fonts-dejavu-core   /usr/share/fonts/truetype/dejavu
tools    fonts-liberation    /usr/share/fonts/truetype/liberation
tools    pebble              pebble
tools    pebble              pebble-challtestsrv
tools    wrk                 wrk
tools    prometheus          promtool
tools    git                 git
tools    age                 age
tools    gh                  gh
tools    bubblewrap          bwrap
tools    docker-registry     docker-registry
s3       radosgw             radosgw
s3       ceph-mon            ceph-mon
s3       ceph-osd            ceph-osd
s3       ceph-common         radosgw-admin
s3       procps              pgrep
NEEDS
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! is_root || ! command -v apt-get >/dev/null; then
    say "not installed, and only root on a Debian machine can install them: ${missing[*]}"
    return 0
  fi
  apt_install "${missing[@]}"
}

wants() {
  local part=$1 word
  shift
  for word in "$@"; do [ "$word" = "$part" ] && return 0; done
  return 1
}

there() {
  case $1 in
    /*) [ -e "$1" ] ;;
    postgres-server) [ -n "$(postgres_folder)" ] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# One package that this release does not have must not keep the others away.
apt_install() {
  local log=$state/apt.log package known=() seconds=$SECONDS
  say "installing $* (root, Debian packages)"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update >"$log" 2>&1 || say "apt-get update failed, see $log"
  for package in $(printf '%s\n' "$@" | sort -u); do
    apt-cache policy "$package" | grep 'Candidate: [^(]' >/dev/null && known+=("$package")
  done
  [ ${#known[@]} -gt 0 ] || return 0
  keep_services_quiet
  apt-get -q install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "${known[@]}" >>"$log" 2>&1 ||
    say "apt-get install failed: $(grep -E '^E:' "$log" | tail -n 1)"
  let_services_start
  say "installed in $((SECONDS - seconds)) s"
}

# Debian starts a service as soon as it is installed; the tests' own daemons are started by hand, on loopback, and no other.
policy=/usr/sbin/policy-rc.d
keep_services_quiet() {
  [ -e "$policy" ] && return 0
  trap let_services_start EXIT
  printf '#!/bin/sh\n# berth test machine\nexit 101\n' >"$policy"
  chmod 755 "$policy"
}
let_services_start() {
  if grep -qs 'berth test machine' "$policy"; then rm -f "$policy"; fi
}

# Programs that tests start for themselves: here they are only found, and their reason given where they are not.
start_tools() {
  local name program
  while read -r name program; do
    given "$name" && continue
    if command -v "$program" >/dev/null; then set_found "$name" "$(command -v "$program")"; else set_missing "$name" "$program is not installed"; fi
  done <<'TOOLS'
SSHD sshd
NGINX nginx
CHROMIUM chromium
PEBBLE pebble
PEBBLE_CHALLTESTSRV pebble-challtestsrv
WRK wrk
GIT git
AGE age
GH gh
BWRAP bwrap
REGISTRY docker-registry
TOOLS
  # sshd refuses to start without it, and nothing makes it where no service manager runs.
  if is_root; then mkdir -p /run/sshd; fi
}
