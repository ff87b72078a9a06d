#!/bin/bash
# Build and test this tree on Debian 13, in a folder that mmdebstrap makes and removes again.
# usage: debian13.sh SUITE PACKAGE...
#
# The packages are those that the tests need; apt checks them with Debian's keyring.  Warnings of the
# compiler are errors.  The exit status is that of `./dev test SUITE` there, or 77 when such a folder
# cannot be made here: the last line on stderr says why.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly NOT_HAD=77
suite=$1
shift

skip() {
    printf 'debian13: SKIPPED: no Debian 13 can be made here: %s\n' "$1" >&2
    exit "$NOT_HAD"
}

command -v mmdebstrap >/dev/null || skip "mmdebstrap is missing: apt-get install mmdebstrap"

log=build-debian13.log
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 tools/servers.py --sources trixie >"$work/debian.sources"
git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from=- --ignore-failed-read --transform='s,^,slotmq/,' \
        --file="$work/tree.tar"

# In it, / is a mount point, because `unshare --mount`, which a test uses, needs that.
cat >"$work/run" <<'END'
mount --rbind "$1" "$1"
exec chroot "$1" env -i HOME=/root LC_ALL=C.UTF-8 DEV_WERROR=true \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c 'cd /slotmq && cat /etc/debian_version && ./dev test "$1"; echo debian13: status $?' dev "$2"
END
chmod -R a+rX "$work"

# The variable $1 is mmdebstrap's.  It does not hand on the exit status of a hook, so a line does.
mmdebstrap --variant=apt --format=null --include="$(IFS=,; printf '%s' "$*")" \
    --customize-hook="tar-in $work/tree.tar /" \
    --customize-hook="unshare --mount sh -eu $work/run \"\$1\" $suite" \
    trixie - "$work/debian.sources" 2>&1 | tee "$log" || true
status=$(sed -n 's/^debian13: status //p' "$log")
[ -n "$status" ] || skip "$(grep '^E: ' "$log" | head -n 1)"
exit "$status"
