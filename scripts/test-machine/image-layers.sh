#!/usr/bin/env bash
# image-layers.sh KIND TREE NODE: lays the files of one base image into the folder TREE, out of this machine's own files.
# A program of its own, so that any command that fails stops it.
set -euo pipefail
kind=$1 tree=$2 bundled=$3

lay_busybox() {
  local applet
  mkdir -p "$tree"/{bin,sbin,etc,dev,proc,sys,root,home/node,var/tmp,usr/bin,usr/local/bin,etc/ssl/certs,run}
  mkdir -m 1777 "$tree/tmp"
  cp -L "$(command -v busybox)" "$tree/bin/busybox"
  copy_libraries "$(command -v busybox)"
  for applet in $(busybox --list); do ln -s busybox "$tree/bin/$applet" 2>/dev/null || true; done
  ln -s /bin/env "$tree/usr/bin/env"
  printf 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >"$tree/etc/passwd"
  printf 'root:x:0:\nnode:x:1000:\nnogroup:x:65534:\n' >"$tree/etc/group"
  printf 'hosts: files dns\n' >"$tree/etc/nsswitch.conf"
  cp -L /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/" 2>/dev/null || true
}

lay_node() {
  local npm
  lay_busybox
  cp -L "$bundled" "$tree/usr/local/bin/node"
  copy_libraries "$bundled"
  # What compiled parts of packages ask for, and a real image of Node has.
  copy_shared libgcc_s.so.1 libstdc++.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libm.so.6
  # npm as it came with the machine's Node: one folder with everything it needs. Another layout is left out.
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  [ -d "$npm/node_modules" ] || return 0
  mkdir -p "$tree/usr/local/lib/node_modules"
  cp -a "$npm" "$tree/usr/local/lib/node_modules/npm"
  rm -rf "$tree/usr/local/lib/node_modules/npm/"{docs,man}
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$tree/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$tree/usr/local/bin/npx"
}

lay_python() {
  local python version part
  python=$(readlink -f /usr/bin/python3)
  version=${python##*/}
  lay_busybox
  cp -L "$python" "$tree/usr/bin/$version"
  ln -s "$version" "$tree/usr/bin/python3"
  ln -s "$version" "$tree/usr/bin/python"
  (cd / && cp -a --parents "usr/lib/$version" "$tree/" && { cp -a --parents "etc/$version" usr/share/python-wheels "$tree/" || true; }) 2>/dev/null
  mkdir -p "$tree/usr/lib/python3/dist-packages" "$tree/usr/local/lib/$version/dist-packages"
  for part in pip setuptools wheel pkg_resources _distutils_hack distutils-precedence.pth; do
    cp -a /usr/lib/python3/dist-packages/"$part"* "$tree/usr/lib/python3/dist-packages/" 2>/dev/null || true
  done
  if [ -e /usr/bin/pip3 ]; then cp -L /usr/bin/pip3 "$tree/usr/bin/pip3" && ln -s pip3 "$tree/usr/bin/pip"; fi
  # The image belongs to one project, so pip may install into it.
  rm -rf "$tree/usr/lib/$version/"{EXTERNALLY-MANAGED,test,idlelib} "$tree/usr/lib/$version/"config-*
  copy_libraries "$python" "/usr/lib/$version/lib-dynload/"*.so
}

# The three databases start as the official images do: as root they take their folder over, then become a user of their own, and
# the same variables name passwords and databases. A first start copies an empty database that was made with the image.

lay_postgres() {
  local home share
  home=$(dirname "$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1)")")
  share=/usr/share/postgresql/${home##*/}
  lay_busybox
  add_user postgres
  mkdir -p "$tree$home/bin" "$tree$home/lib" "$tree$share" "$tree/usr/share/zoneinfo" "$tree/var/run/postgresql"
  for program in postgres initdb pg_dump pg_dumpall pg_restore psql pg_isready createdb dropdb; do
    cp -L "$home/bin/$program" "$tree$home/bin/"
    ln -s "$home/bin/$program" "$tree/usr/bin/$program"
  done
  cp -L "$home/lib/"{plpgsql,dict_snowball,libpqwalreceiver}.so "$tree$home/lib/"
  cp -RL "$share/." "$tree$share/"
  rm -rf "$tree$share/man" "$tree$share/extension/"[a-oq-z]*
  cp -RL /usr/share/zoneinfo/{UTC,GMT,Etc} "$tree/usr/share/zoneinfo/" 2>/dev/null || true
  copy_libraries "$home/bin/"{postgres,pg_dump,pg_restore,psql} "$home/lib/plpgsql.so"
  make_template postgres "$home/bin/initdb" -D '{}' -U postgres --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C --no-sync
  entrypoint <<'START'
data=${PGDATA:-/var/lib/postgresql/data}
mkdir -p "$data" && chown postgres:postgres "$data" && chmod 700 "$data"
if [ ! -s "$data/PG_VERSION" ]; then
  cp -a /opt/template/. "$data/"
  chown -R postgres:postgres "$data"
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  user=${POSTGRES_USER:-postgres}
  [ "$user" = postgres ] || echo "create role \"$user\" superuser login;" >>/tmp/first.sql
  echo "alter role \"$user\" password '${POSTGRES_PASSWORD:-}';" >>/tmp/first.sql
  [ "${POSTGRES_DB:-$user}" = postgres ] || echo "create database \"${POSTGRES_DB:-$user}\" owner \"$user\";" >>/tmp/first.sql
  /usr/bin/setpriv --reuid=999 --regid=999 --clear-groups -- postgres --single -D "$data" postgres </tmp/first.sql >/dev/null
fi
chown postgres:postgres /var/run/postgresql
exec /usr/bin/setpriv --reuid=999 --regid=999 --clear-groups -- postgres -D "$data" -c listen_addresses='*' -c shared_buffers=16MB -c fsync=off
START
}

lay_mariadb() {
  lay_busybox
  add_user mysql
  mkdir -p "$tree/usr/lib/mysql/plugin" "$tree/usr/share/mysql" "$tree/run/mysqld" "$tree/usr/sbin"
  cp -L /usr/sbin/mariadbd "$tree/usr/sbin/"
  for program in mariadb mariadb-dump mariadb-admin; do cp -L "/usr/bin/$program" "$tree/usr/bin/"; done
  ln -s mariadb "$tree/usr/bin/mysql"
  ln -s mariadb-dump "$tree/usr/bin/mysqldump"
  cp -RL /usr/share/mysql/{english,charsets} "$tree/usr/share/mysql/"
  copy_libraries /usr/sbin/mariadbd /usr/bin/mariadb /usr/bin/mariadb-dump
  make_template mysql mariadb-install-db --no-defaults --user=mysql --datadir='{}' --auth-root-authentication-method=normal --skip-test-db
  entrypoint <<'START'
data=/var/lib/mysql
mkdir -p "$data" && chown mysql:mysql "$data" /run/mysqld
if [ ! -d "$data/mysql" ]; then
  cp -a /opt/template/. "$data/"
  chown -R mysql:mysql "$data"
  password=${MARIADB_ROOT_PASSWORD:-${MYSQL_ROOT_PASSWORD:-}} name=${MARIADB_DATABASE:-${MYSQL_DATABASE:-}}
  user=${MARIADB_USER:-${MYSQL_USER:-}} its=${MARIADB_PASSWORD:-${MYSQL_PASSWORD:-}}
  # One statement a line. A user without a name would come before those who log in from here.
  {
    echo "delete from mysql.global_priv where user='';"
    echo 'flush privileges;'
    echo "alter user root@localhost identified by '$password';"
    echo "create or replace user root@'%' identified by '$password';"
    echo "grant all on *.* to root@'%' with grant option;"
    [ -z "$name" ] || echo "create database if not exists \`$name\`;"
    [ -z "$user" ] || echo "create user '$user'@'%' identified by '$its';"
    [ -z "$user" ] || echo "grant all on \`${name:-%}\`.* to '$user'@'%';"
  } >/tmp/first.sql
  chmod 644 /tmp/first.sql
  first=--init-file=/tmp/first.sql
fi
exec mariadbd --no-defaults --user=mysql --datadir="$data" --socket=/run/mysqld/mysqld.sock --bind-address=0.0.0.0 --lc-messages-dir=/usr/share/mysql \
  --innodb-buffer-pool-size=16M --innodb-flush-method=fsync --skip-name-resolve --performance-schema=off ${first:-}
START
}

lay_redis() {
  lay_busybox
  add_user redis
  cp -L /usr/bin/redis-server /usr/bin/redis-cli "$tree/usr/bin/"
  copy_libraries /usr/bin/redis-server /usr/bin/redis-cli
  mkdir -p "$tree/data"
  entrypoint <<'START'
chown redis:redis /data
[ "${1:-}" = redis-server ] && shift
exec /usr/bin/setpriv --reuid=999 --regid=999 --clear-groups -- redis-server --bind 0.0.0.0 --protected-mode no --dir /data "$@"
START
}

add_user() {
  echo "$1:x:999:999::/var/lib/$1:/bin/sh" >>"$tree/etc/passwd"
  echo "$1:x:999:" >>"$tree/etc/group"
  # Called by its path: the shell takes its own one for the name.
  cp -L "$(command -v setpriv)" "$tree/usr/bin/"
  copy_libraries "$(command -v setpriv)"
}

# make_template USER PROGRAM WORD…: an empty database in /opt/template, made by this machine's own programs; {} is its folder.
make_template() {
  local user=$1 made word words=()
  shift
  made=$(mktemp -d)
  mkdir -p "$made/data"
  chown -R "$user" "$made"
  for word in "$@"; do words+=("${word//'{}'/$made/data}"); done
  (cd "$made" && setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups -- "${words[@]}" </dev/null)
  mkdir -p "$tree/opt"
  mv "$made/data" "$tree/opt/template"
  rm -rf "$made"
}

entrypoint() {
  { printf '#!/bin/sh\nset -e\n' && cat; } >"$tree/usr/local/bin/start"
  chmod 755 "$tree/usr/local/bin/start"
}

copy_shared() {
  local name library
  for name in "$@"; do
    # Read to its end: who writes to a reader that is gone is killed, and with pipefail that ends this program without a word.
    library=$(ldconfig -p | awk -v name="$name" '$1 == name && !found { print $NF; found = 1 }')
    [ -n "$library" ] || continue
    mkdir -p "$tree$(dirname "$library")"
    cp -L "$library" "$tree$library"
  done
}

copy_libraries() {
  local library
  for library in $(ldd "$@" 2>/dev/null | grep -oE '/[^ :]+\.so[^ :]*' | sort -u); do
    case $library in */lib-dynload/*) continue ;; esac
    mkdir -p "$tree$(dirname "$library")"
    cp -L "$library" "$tree$library"
  done
}

"lay_$kind"
