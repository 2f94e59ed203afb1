#!/bin/sh
# systemd reads the units anew. Nothing is enabled or started: whether winnow runs is for a person to say. Not where a root is built (DPKG_ROOT), nor where
# systemd does not run.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
