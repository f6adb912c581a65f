# SPDX-License-Identifier: MIT
# Sourced by run.sh and test.sh: functions that install missing packages and build.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '== %s\n' "$*" >&2; }

# install_packages: installs the Debian packages of packages.txt that are missing.
install_packages() {
    local missing=() package sudo=()
    while read -r package; do
        case $package in '' | '#'*) continue ;; esac
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done <"$root/packaging/packages.txt"
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { say "needs root or sudo to install: ${missing[*]}"; exit 1; }
        sudo=(sudo)
    fi
    say "installing ${#missing[@]} packages"
    # An interrupted installation leaves packages unpacked but not configured; apt refuses to work until
    # they are.
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        dpkg --configure -a --force-confdef --force-confold >/dev/null
    "${sudo[@]}" apt-get -o DPkg::Lock::Timeout=900 update -qq
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -o DPkg::Lock::Timeout=900 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build PRESET [cmake option...]: configures and builds into build/PRESET.
build() {
    local preset=$1
    shift
    say "building ($preset)"
    (cd "$root" && cmake --preset "$preset" "$@" >/dev/null && cmake --build --preset "$preset")
}

# Waiting threads must not spin, as other processes use the cores too. Qt needs a private folder for sockets.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMP_WAIT_POLICY=passive
if [ -z "${XDG_RUNTIME_DIR:-}" ]; then
    export XDG_RUNTIME_DIR=/tmp/placewright-$(id -u)
    mkdir -p -m 700 "$XDG_RUNTIME_DIR"
fi
