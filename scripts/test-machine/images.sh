# shellcheck shell=bash disable=SC2154  # the folders come from test-machine.sh, engine from docker.sh
# Base images without a registry, made of this machine's own files. Each is kept as a tar under the state folder and carries a
# label with the key of what it was made of, so that a second start only asks the engine for their labels.

make_images() {
  local node npm python
  make_image berth-test/busybox:latest "$(command -v busybox || true)" 'CMD ["sh"]'
  node=$(bundled_node)
  npm=$(readlink -f "$(command -v npm || true)" 2>/dev/null || true)
  make_image berth-test/node:24 "$node $npm" 'CMD ["node"]' \
    'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'
  python=$(readlink -f /usr/bin/python3 2>/dev/null || true)
  make_image "berth-test/python:${python##*/python}" "$python" 'CMD ["python3"]' \
    'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PYTHONUNBUFFERED=1 PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'
  make_database_images
}

# For services whose data is backed up and restored.
make_database_images() {
  local path='ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'
  make_image berth-test/postgres:latest "$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1 || true)" "$path" \
    'ENTRYPOINT ["start"]' 'EXPOSE 5432' 'VOLUME /var/lib/postgresql/data'
  make_image berth-test/mariadb:latest "$(command -v mariadbd || true)" "$path" 'ENTRYPOINT ["start"]' 'EXPOSE 3306' 'VOLUME /var/lib/mysql'
  make_image berth-test/redis:latest "$(command -v redis-server || true)" "$path" 'ENTRYPOINT ["start"]' 'CMD ["redis-server"]' \
    'EXPOSE 6379' 'VOLUME /data'
}

# make_image NAME SOURCES CHANGE…: SOURCES are the files whose change makes the image anew.
make_image() {
  local image=$1 sources=$2 kind setting identity tar tree=$run/tree
  shift 2
  kind=$(basename "${image%%:*}")
  setting=IMAGE_$(printf %s "$kind" | tr '[:lower:]' '[:upper:]')
  if [ ! -e "${sources%% *}" ]; then
    set_missing "$setting" "no $kind on this machine to make it of"
    return 0
  fi
  set_found "$setting" "$image"
  # shellcheck disable=SC2086  # a list of paths
  identity=$({ stat -L -c '%n %s %Y' $sources || true; cat "$parts/image-layers.sh"; } 2>/dev/null | cksum | tr ' ' -)
  [ "$(node "$parts/docker-api.mjs" key "$engine" "$image")" != "$identity" ] || return 0
  tar=$state/images/$kind-$identity.tar
  if [ ! -f "$tar" ]; then
    say "making the image $image"
    mkdir -p "$state/images"
    rm -rf "$state/images/$kind"-* "$tree"
    if bash "$parts/image-layers.sh" "$kind" "$tree" "$(bundled_node)" >"$state/images.log" 2>&1; then
      tar -C "$tree" --numeric-owner --owner=0 --group=0 -cf "$tar.new" . && mv "$tar.new" "$tar"
    fi
    rm -rf "$tree"
  fi
  if [ ! -f "$tar" ]; then
    set_missing "$setting" "it could not be made: $(tail -n 1 "$state/images.log")"
  elif ! node "$parts/docker-api.mjs" import "$engine" "$image" "$tar" "LABEL berth-test.key=$identity" "$@" 2>"$state/images.log"; then
    set_missing "$setting" "it could not be imported: $(tail -n 1 "$state/images.log")"
  fi
}

bundled_node() { readlink -f "$root/node_modules/.bin/node" 2>/dev/null || true; }
