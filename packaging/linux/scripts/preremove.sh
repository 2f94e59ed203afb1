#!/bin/sh
# Before the package goes for good (deb: remove, rpm: 0), what the machine's manager runs of it is stopped, and no link stays that leads to a unit that is gone. An upgrade
# stops nothing. What the managers of users run, only they can stop.
set -e
case "${1:-}" in
remove | 0) ;;
*) exit 0 ;;
esac
runs=
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	runs=yes
fi
for link in "${DPKG_ROOT:-}"/etc/systemd/system/*.wants/winnow@*.service "${DPKG_ROOT:-}"/etc/systemd/system/*.wants/winnow-sweep@*.timer \
	"${DPKG_ROOT:-}"/etc/systemd/user/*.wants/winnow.service "${DPKG_ROOT:-}"/etc/systemd/user/*.wants/winnow-sweep.timer; do
	[ -L "$link" ] || continue
	# A unit of winnow service install in the place of the package's goes on, also by a link that the package's had before.
	name=${link##*/}
	case "$name" in
	*@*) name=${name%%@*}@.${name##*.} ;;
	esac
	[ ! -e "${link%/*/*}/$name" ] || continue
	case "$(readlink "$link")" in
	*/usr/lib/systemd/system/* | /lib/systemd/system/*)
		if [ -n "$runs" ]; then
			systemctl disable --now -- "${link##*/}" || true
		fi
		;;
	*/usr/lib/systemd/user/* | /lib/systemd/user/*) ;; # systemctl --global enable
	*) continue ;;                                     # not a unit of this package
	esac
	rm -f -- "$link"
done
[ -n "$runs" ] || exit 0
# What was started without being enabled has no link.
for unit in $(systemctl list-units --plain --no-legend 'winnow@*.service' 'winnow-sweep@*.timer' 'winnow-sweep@*.service' | sed 's/ .*//'); do
	case "$(systemctl show --property=FragmentPath --value -- "$unit")" in
	/usr/lib/systemd/system/* | /lib/systemd/system/*) systemctl stop -- "$unit" || true ;;
	esac
done
