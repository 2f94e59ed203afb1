#!/bin/sh
# Before the package goes for good (deb: remove, rpm: 0), what runs of it is stopped, and no link stays that leads to a unit that is gone. An upgrade
# stops nothing.
set -e
case "${1:-}" in
remove | 0) ;;
*) exit 0 ;;
esac
for link in "${DPKG_ROOT:-}"/etc/systemd/system/*.wants/winnow@*.service "${DPKG_ROOT:-}"/etc/systemd/system/*.wants/winnow-sweep@*.timer; do
	[ -L "$link" ] || continue
	case "$(readlink "$link")" in
	*/usr/lib/systemd/system/* | /lib/systemd/system/*) ;;
	*) continue ;; # not a unit of this package
	esac
	if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
		systemctl disable --now -- "${link##*/}" || true
	fi
	rm -f -- "$link"
done
