#!/usr/bin/env bash
# Installs those packages of tools/packages.txt that the machine lacks, and says so.
#   install_packages.sh [FURTHER_LIST ...]      further lists in tools, packages_to_check.txt for one
set -euo pipefail
cd "$(dirname "$0")"

mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' packages.txt "$@" | sort -u)

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "qklab: no apt-get here; please install what corresponds to: ${wanted[*]}"
  exit 0
fi

mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}") \
  <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort -u))

if [ "${#missing[@]}" -eq 0 ]; then
  echo "qklab: system packages: all ${#wanted[@]} installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "qklab: neither root nor sudo; as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "qklab: installing system packages with apt-get: ${missing[*]}"
apt_get() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >/dev/null; }
apt_get update || echo "qklab: apt-get update failed; trying with the package lists at hand" >&2
apt_get install --yes --no-install-recommends "${missing[@]}"
echo "qklab: system packages: all ${#wanted[@]} installed"
