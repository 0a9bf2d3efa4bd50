# shellcheck shell=bash disable=SC2154  # state and run come from test-machine.sh
# A real S3 server: Ceph's gateway on loopback over one object store that keeps everything in memory. It is thrown away by `stop`.
# BERTH_TEST_S3_URL=http://KEY:SECRET@127.0.0.1:PORT; tests make their own buckets. Wrong secrets and signatures are refused by it.

ceph_home=$run/ceph

start_s3() {
  local program port
  given S3_URL && return 0
  if ceph_pid radosgw >/dev/null; then return 0; fi
  for program in ceph-mon ceph-osd radosgw radosgw-admin ceph monmaptool; do
    command -v "$program" >/dev/null || { set_missing S3_URL "$program is not installed"; return 0; }
  done
  is_root || { set_missing S3_URL 'Ceph is started as root only'; return 0; }
  stop_s3
  rm -rf "$ceph_home"
  mkdir -p "$ceph_home"/{mon,osd,run}
  port=$(free_port)
  ceph_settings "$(free_port)" "$port"
  if raise_s3 "$port" >"$state/s3.log" 2>&1; then
    set_found S3_URL "http://$(cat "$ceph_home/credentials")@127.0.0.1:$port"
  else
    set_missing S3_URL "Ceph did not start: $(tail -n 1 "$state/s3.log" | cut -c1-300)"
    stop_s3
  fi
}

# One copy of everything, one placement group a pool, small caches: a store for tests, not for data.
ceph_settings() {
  cat >"$ceph_home/ceph.conf" <<CONF
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon host = [v2:127.0.0.1:$1]
ms bind msgr1 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
run dir = $ceph_home/run
pid file = $ceph_home/run/\$name.pid
admin socket = $ceph_home/run/\$name.asok
log file = $ceph_home/\$name.log
keyring = $ceph_home/keyring
crash dir = $ceph_home
mon data = $ceph_home/mon
osd data = $ceph_home/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd memory target = 939524096
osd class update on start = false
osd op num shards = 1
osd op num threads per shard = 1
osd max object name len = 256
mon allow pool size one = true
mon max pg per osd = 1000
rgw frontends = beast endpoint=127.0.0.1:$2
rgw data = $ceph_home
rgw thread pool size = 32
rgw enable usage log = false
rgw enable ops log = false
rgw enable gc threads = true
rgw enable quota threads = false
rgw run sync thread = false
CONF
}

raise_s3() {
  local conf=$ceph_home/ceph.conf fsid disk
  fsid=$(awk '/^fsid/ { print $3 }' "$conf")
  disk=$(cat /proc/sys/kernel/random/uuid)
  : >"$ceph_home/keyring"
  monmaptool --create --fsid "$fsid" --addv a "$(awk '/^mon host/ { print $4 }' "$conf")" "$ceph_home/monmap" || return 1
  ceph-mon -c "$conf" --mkfs -i a --monmap "$ceph_home/monmap" || return 1
  ceph-mon -c "$conf" -i a 9>&- || return 1
  timeout 30 ceph -c "$conf" osd new "$disk" || return 1
  ceph-osd -c "$conf" -i 0 --mkfs --osd-uuid "$disk" || return 1
  ceph-osd -c "$conf" -i 0 9>&- || return 1
  timeout 40 radosgw-admin -c "$conf" user create --uid=berth --display-name=berth --access-key=berth-test \
    --secret-key="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >"$ceph_home/user.json" || return 1
  node -e 'const [key] = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8")).keys; process.stdout.write(`${key.access_key}:${key.secret_key}`)' \
    "$ceph_home/user.json" >"$ceph_home/credentials" || return 1
  timeout 40 radosgw -c "$conf" -n client.admin --no-mon-config 9>&- || return 1
  wait_for_s3 "$1"
}

wait_for_s3() {
  for _ in $(seq 300); do
    if node -e 'fetch(process.argv[1]).then(() => process.exit(0), () => process.exit(1))' "http://127.0.0.1:$1"; then return 0; fi
    sleep 0.2
  done
  echo "the gateway does not answer on port $1"
  return 1
}

# Everything is in memory and nobody's: no time is spent on a clean end.
stop_s3() {
  local name pid
  for name in radosgw ceph-osd ceph-mon; do
    if pid=$(ceph_pid "$name"); then end_process "$pid" "$ceph_home/" 1 KILL; fi
  done
}

ceph_pid() {
  local pid
  for pid in $(pgrep -x "$1" 2>/dev/null); do
    is_ours "$pid" "$ceph_home/" && printf %s "$pid" && return 0
  done
  return 1
}
