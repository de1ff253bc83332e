# Sourced by ./demo and ./check: installs by package name what is missing, says so first, and
# checks the Rust toolchain. It changes nothing else on the machine.

LEAST_RUST=85 # 1.85, rust-version in Cargo.toml

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 3; }

# command:package pairs whose command is not on PATH (or in sbin, which users often lack there); of one that begins with
# a slash, whose file is not there.
missing_packages() {
    for pair in "$@"; do
        command=${pair%%:*}
        case "$command" in
        /*) [ -e "$command" ] ;;
        *) PATH="$PATH:/usr/sbin:/sbin" command -v "$command" >/dev/null 2>&1 ;;
        esac || printf '%s ' "${pair#*:}"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
    packages=$(missing_packages "$@")
    [ -n "$packages" ] || return 0
    command -v apt-get >/dev/null 2>&1 ||
        die "missing: $packages-- this machine has no apt-get; install them with its own package manager and run this again"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
        die "missing: $packages-- run as root: apt-get install $packages"
    fi
    say "Installing with apt-get$([ "$(id -u)" = 0 ] || printf ' (through sudo)'): $packages"
    # An old package list is refreshed; a failed refresh may still leave a usable one.
    as_root apt-get update -qq || say "apt-get update failed; going on with the list that is there"
    # shellcheck disable=SC2086 # package names, to be split
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null ||
        die "apt-get could not install: $packages"
}

rust_minor() {
    cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p'
}

apt_rust_minor() {
    apt-cache policy rustc 2>/dev/null | sed -n 's/.*Candidate: 1\.\([0-9]*\)\..*/\1/p'
}

need_rust() {
    # rustup puts cargo here; a shell that was open before does not know it yet.
    [ -d "$HOME/.cargo/bin" ] && PATH="$HOME/.cargo/bin:$PATH" && export PATH
    minor=$(rust_minor)
    [ "${minor:-0}" -ge "$LEAST_RUST" ] && return 0
    packaged=$(apt_rust_minor)
    if [ -z "$minor" ] && [ "${packaged:-0}" -ge "$LEAST_RUST" ]; then
        install_packages cargo:cargo rustc:rustc rustfmt:rustfmt cargo-clippy:rust-clippy
        [ "$(rust_minor)" -ge "$LEAST_RUST" ] && return 0
    fi
    found=${minor:+"found 1.$minor"}
    say "iotax needs Rust 1.$LEAST_RUST or newer (${found:-no cargo found}), and this release packages none that new." >&2
    if apt-cache show rustup >/dev/null 2>&1; then
        die "Run: $([ "$(id -u)" = 0 ] || printf 'sudo ')apt-get install rustup && rustup default stable    and then this again."
    fi
    die "Run: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y    and then this again."
}
