# shellcheck shell=bash disable=SC2154  # state and run come from test-machine.sh
# A PostgreSQL cluster of our own on a free loopback port. It is thrown away by `stop`: tests make their own databases in it.
# BERTH_TEST_POSTGRES_FSYNC=on starts it for tests that pull the plug; without, it does not wait for the disk.

start_postgres() {
  local bin port password
  given POSTGRES_URL && return 0
  if postgres_pid >/dev/null; then return 0; fi
  bin=$(postgres_folder)
  [ -n "$bin" ] || { set_missing POSTGRES_URL 'PostgreSQL is not installed'; return 0; }
  make_postgres_home
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  (umask 077 && printf '%s\n' "$password" >"$run/postgres/password")
  is_root && chown -R "$(postgres_user)" "$run/postgres/"
  if ! as_postgres "$bin/initdb" -D "$run/postgres/data" -U berth --pwfile="$run/postgres/password" \
    --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --no-sync >"$state/postgres.log" 2>&1; then
    set_missing POSTGRES_URL "initdb failed: $(tail -n 1 "$state/postgres.log")"
    return 0
  fi
  port=$(free_port)
  cat >>"$run/postgres/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
max_connections = 300
shared_buffers = 64MB
fsync = ${BERTH_TEST_POSTGRES_FSYNC:-off}
full_page_writes = ${BERTH_TEST_POSTGRES_FSYNC:-off}
CONF
  if as_postgres "$bin/pg_ctl" -D "$run/postgres/data" -l "$run/postgres/log" -w -t 30 start >>"$state/postgres.log" 2>&1 9>&-; then
    set_found POSTGRES_URL "postgres://berth:$password@127.0.0.1:$port/postgres"
  else
    set_missing POSTGRES_URL "PostgreSQL did not start: $(tail -n 1 "$run/postgres/log" 2>/dev/null)"
  fi
}

# In memory where there is room: hundreds of databases are copied file by file, and nobody needs one after the run.
make_postgres_home() {
  local free
  rm -rf "$run/postgres" "$memory"
  mkdir -p "$run"
  free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)
  if [ "${BERTH_TEST_POSTGRES_FSYNC:-off}" = off ] && [ -w /dev/shm ] && [ "${free:-0}" -gt 4000000 ]; then
    mkdir -m 755 "$memory"
    ln -s "$memory" "$run/postgres"
  else
    mkdir "$run/postgres"
  fi
}

# A fast shutdown: sessions that a killed test left open do not hold it up.
stop_postgres() {
  local pid
  pid=$(postgres_pid) || return 0
  end_process "$pid" "$run/postgres/data" 10 INT
}

postgres_pid() {
  local pid
  pid=$(head -n 1 "$run/postgres/data/postmaster.pid" 2>/dev/null) || return 1
  is_ours "$pid" "$run/postgres/data" && printf %s "$pid"
}

# The newest server here; a client alone (psql) does not count.
postgres_folder() {
  local initdb
  initdb=$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1) || true
  [ -n "$initdb" ] || initdb=$(command -v initdb || true)
  [ -z "$initdb" ] || dirname "$(readlink -f "$initdb")"
}

postgres_user() { if id -u postgres >/dev/null 2>&1; then echo postgres; else echo nobody; fi; }

# PostgreSQL refuses to run as root.
as_postgres() {
  if is_root; then
    (cd "$run/postgres" && setpriv --reuid="$(postgres_user)" --regid="$(id -g "$(postgres_user)")" --clear-groups -- "$@" </dev/null)
  else
    (cd "$run/postgres" && "$@" </dev/null)
  fi
}
