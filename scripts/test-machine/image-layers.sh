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

copy_libraries() {
  local library
  for library in $(ldd "$@" 2>/dev/null | grep -oE '/[^ :]+\.so[^ :]*' | sort -u); do
    case $library in */lib-dynload/*) continue ;; esac
    mkdir -p "$tree$(dirname "$library")"
    cp -L "$library" "$tree$library"
  done
}

"lay_$kind"
