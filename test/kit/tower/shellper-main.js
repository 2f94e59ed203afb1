# What a shellper is for tests: it runs the command on the terminal, stays when that has ended, and runs it again when told to.
# Descriptors: 3 the socket, which nobody accepts from, 4 the terminal, 5 what to do next, 6 what happened.
eval "set -- $TOWER_RUN"
unset TOWER_RUN
cwd=$1 deaf=$2
shift 2
[ "$deaf" = no ] || trap '' TERM
while :; do
	(
		trap - TERM
		cd "$cwd" || cd /
		exec <&4 >&4 2>&4 3>&- 4>&- 5<&-
		exec setsid -c sh -c 'echo "agent $$" >&6; exec 6>&-; exec "$@"' agent "$@"
	)
	echo "exit $?" >&6
	read -r again <&5 || exit 0
done
