# shellcheck shell=bash disable=SC2154  # state, run, key and parts come from test-machine.sh
# A Docker engine of our own, beside any other one: own data, own socket, own bridge and own addresses (10.<net>.0.0/16).
# Where another engine runs in this network, ours leaves the packet filter's Docker chains alone, because a second engine
# empties them at its start; BERTH_TEST_DOCKER_ISOLATED=0 then says that networks are not kept apart.

bridge=bt$key
engine=$run/docker.sock

start_docker() {
  if given DOCKER_SOCKET; then
    engine=$BERTH_TEST_DOCKER_SOCKET
    make_images
    return 0
  fi
  if docker_pid >/dev/null; then
    make_images
    return 0
  fi
  command -v dockerd >/dev/null || { no_docker 'dockerd is not installed'; return 0; }
  is_root || { no_docker 'starting a Docker engine needs root'; return 0; }
  mkdir -p "$run/docker" "$state/docker"
  rm -f "$run/docker/pid"
  local iptables=true isolated=1
  if other_engine_runs; then iptables=false isolated=0; fi
  if ! lay_network "$iptables" 2>"$run/docker/network.log"; then
    no_docker "no bridge can be made: $(tail -n 1 "$run/docker/network.log")"
    return 0
  fi
  launch_docker "$iptables"
  if node "$parts/docker-api.mjs" wait "$engine" 30; then
    set_found DOCKER_SOCKET "$engine"
    set_found DOCKER_ISOLATED "$isolated"
    make_images
  else
    no_docker "dockerd did not start: $(grep -E 'level=(error|fatal)|failed' "$state/docker.log" | tail -n 1 | cut -c1-300)"
    stop_docker
  fi
}

# What hangs on the engine is missing for the same reason.
no_docker() {
  local name
  set_missing DOCKER_SOCKET "$1"
  for name in DOCKER_ISOLATED IMAGE_BUSYBOX IMAGE_NODE IMAGE_PYTHON IMAGE_POSTGRES IMAGE_MARIADB IMAGE_REDIS; do
    drop_setting "$name"
    found+=("BERTH_TEST_${name}_MISSING=$1")
  done
}

# Some machines may not raise limits or lower OOM scores, so none are asked for. The user-land proxy serves loopback.
launch_docker() {
  local net
  net=$(cat "$run/docker/net")
  setsid --fork dockerd --data-root "$state/docker" --exec-root "$run/docker/exec" -H "unix://$engine" --pidfile "$run/docker/pid" \
    --bridge "$bridge" --fixed-cidr "10.$net.0.0/24" --default-address-pool "base=10.$net.128.0/17,size=24" --iptables="$1" \
    --oom-score-adjust 0 --shutdown-timeout 5 --log-level info </dev/null >"$state/docker.log" 2>&1 9>&-
}

stop_docker() {
  local pid
  if pid=$(docker_pid); then
    # Every container here is a test's; one that ignores SIGTERM would hold the engine up for ten seconds.
    node "$parts/docker-api.mjs" kill-all "$engine" || true
    end_process "$pid" "$state/docker" 20
  fi
  # dockerd ends its containerd unless it was killed.
  pid=$(cat "$run/docker/exec/containerd/containerd.pid" 2>/dev/null || true)
  end_process "$pid" "$run/docker/exec" 5
  [ -f "$run/docker/net" ] || return 0
  awk -v run="$run/" -v state="$state/" 'index($2, run) == 1 || index($2, state) == 1 { print $2 }' /proc/mounts | sort -r |
    while read -r mount; do umount -l "$mount" || true; done
  lift_network
}

docker_pid() {
  local pid
  pid=$(cat "$run/docker/pid" 2>/dev/null) || return 1
  is_ours "$pid" "$state/docker" && printf %s "$pid"
}

# An ended process whose parent does not wait for it keeps its name, but has no command line.
other_engine_runs() {
  local comm
  for comm in $(grep -lxs dockerd /proc/[0-9]*/comm); do
    [ -n "$(tr -d '\0' <"${comm%/comm}/cmdline" 2>/dev/null)" ] && return 0
  done
  return 1
}

# The first 10.x that no route of this machine uses, from a place of our own on.
lay_network() {
  local net tries
  lift_network
  for tries in $(seq 0 63); do
    net=$((160 + (key + tries) % 64))
    ip -4 route show table all | grep "[ /]10\.$net\." >/dev/null || break
  done
  printf %s "$net" >"$run/docker/net"
  iptables -S FORWARD 2>/dev/null | head -n 1 >"$run/docker/forward-policy" || true
  cat /proc/sys/net/ipv4/ip_forward >"$run/docker/ip-forward"
  ip link add name "$bridge" type bridge && ip addr add "10.$net.0.1/24" dev "$bridge" && ip link set "$bridge" up || return 1
  [ "$1" = false ] || return 0
  echo 1 >/proc/sys/net/ipv4/ip_forward
  iptables -I FORWARD -s "10.$net.0.0/16" -j ACCEPT &&
    iptables -I FORWARD -d "10.$net.0.0/16" -j ACCEPT &&
    iptables -t nat -A POSTROUTING -s "10.$net.0.0/16" ! -d "10.$net.0.0/16" -j MASQUERADE
}

# At stop. Takes away every bridge and rule with an address or a bridge of ours; Docker's own chains only when no engine is left to use them.
lift_network() {
  local net table link
  ip link del "$bridge" 2>/dev/null || true
  net=$(cat "$run/docker/net" 2>/dev/null) || return 0
  local names="$bridge"
  for link in $(ip -o -4 addr show | awk -v mark="^10[.]${net}[.]" '$4 ~ mark { print $2 }'); do
    names="$names|$link"
    ip link del "$link" 2>/dev/null || true
  done
  for table in nat filter; do
    { iptables-save -t "$table" 2>/dev/null | grep -E "^-A .*( 10\.$net\.| -[io] ($names)( |\$))" || true; } | while read -r _ rule; do
      # shellcheck disable=SC2086  # a rule as iptables-save prints it is words
      iptables -t "$table" -D $rule 2>/dev/null || true
    done
  done
  rm -f "$run/docker/net"
  other_engine_runs || forget_docker_chains
}

forget_docker_chains() {
  local table
  for table in nat filter; do
    { iptables-save -t "$table" 2>/dev/null || true; } | awk -v table="$table" '
      /^-A/ && / -j DOCKER/ && $2 !~ /^DOCKER/ { sub(/^-A/, "-D"); print table, $0 }
      /^:DOCKER/ { sub(/^:/, ""); flush = flush table " -F " $1 "\n"; drop = drop table " -X " $1 "\n" }
      END { printf "%s%s", flush, drop }'
  done | while read -r table rule; do
    # shellcheck disable=SC2086
    iptables -t "$table" $rule 2>/dev/null || true
  done
  if grep -qs ' ACCEPT' "$run/docker/forward-policy"; then iptables -P FORWARD ACCEPT; fi
  if [ "$(cat "$run/docker/ip-forward" 2>/dev/null)" = 0 ]; then echo 0 >/proc/sys/net/ipv4/ip_forward; fi
}
