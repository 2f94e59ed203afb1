package packaging

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// underSystemd runs after it has become the first process of a process, mount and cgroup namespace of its own, which end with it. It starts a real systemd for the user and
// has it run what winnow service install writes.
const underSystemd = `set -eu
mount -t tmpfs none /run
mkdir -p /run/user/$(id -u) /run/systemd/system
mount -t cgroup2 none /sys/fs/cgroup
export XDG_RUNTIME_DIR=/run/user/$(id -u)
unset DBUS_SESSION_BUS_ADDRESS XDG_CONFIG_HOME XDG_STATE_HOME
/lib/systemd/systemd --user </dev/null >"$HOME/systemd.log" 2>&1 &
manager=$!
until_() { # WHAT COMMAND...
  what=$1; shift
  for i in $(seq 3000); do if "$@"; then return; fi; sleep 0.1; done
  echo "not yet: $what"; systemctl --user status --no-pager winnow.service || true; cat "$HOME/systemd.log"; exit 1
}
manages() { systemctl --user is-system-running >/dev/null 2>&1 || systemctl --user list-units >/dev/null 2>&1; }
until_ "systemd answers" manages
unit() { systemctl --user show -P "$1" winnow.service; }
swept() { case $(unit StatusText) in "$1, "*" to go at "*) ;; *) return 1 ;; esac; }
restarted() { [ "$(unit MainPID)" != "$1" ] && [ "$(unit ActiveState)" = active ]; }

echo "== install"; "$WINNOW" service install
[ "$(unit ActiveState) $(unit Type)" = "active notify" ]
until_ "the first sweep" swept observing
"$WINNOW" service status
(unset XDG_RUNTIME_DIR; "$WINNOW" service status) >"$HOME/said"
grep "export XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR, and do it again" "$HOME/said"

echo "== reload"
pid=$(unit MainPID)
systemctl --user reload winnow.service
[ "$(unit MainPID) $(unit ActiveState)" = "$pid active" ]

echo "== a daemon that hangs"
mkdir -p "$HOME/.config/systemd/user/winnow.service.d"
printf '[Service]\nWatchdogSec=4s\nRestartSec=100ms\nTimeoutAbortSec=1s\n' >"$HOME/.config/systemd/user/winnow.service.d/fast.conf"
systemctl --user daemon-reload
systemctl --user restart winnow.service
sleep 6 # it lives longer than the watchdog waits
[ "$(unit NRestarts)" = 0 ]
pid=$(unit MainPID)
kill -STOP "$pid"
until_ "a new daemon in the place of the one that hangs" restarted "$pid"
rm -r "$HOME/.config/systemd/user/winnow.service.d"
systemctl --user daemon-reload

echo "== stop"
systemctl --user stop winnow.service
[ "$(unit ActiveState) $(unit Result)" = "inactive success" ]

echo "== a wrong configuration is not tried again"
mkdir -p "$HOME/.config/winnow"
echo "nothing: [" >"$HOME/.config/winnow/config.yaml"
! systemctl --user start winnow.service
[ "$(unit ActiveState) $(unit ExecMainStatus)" = "failed 2" ]
rm "$HOME/.config/winnow/config.yaml"

echo "== a timer in its place"; "$WINNOW" service install --timer
systemctl --user start winnow-sweep.service
[ "$(systemctl --user show -P Result winnow-sweep.service)" = success ]
systemctl --user is-active winnow-sweep.timer

echo "== acting"
outside=$OUTSIDE session=$HOME/tmux
mkdir "$HOME/wt"
mount -t tmpfs none "$outside" # another file system than that of the trash in $HOME
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@localhost GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@localhost SHELL=/bin/sh
git init -q -b main "$HOME/project"
git -C "$HOME/project" commit -q --allow-empty -m start
cat >"$HOME/.config/winnow/config.yaml" <<CONFIG
version: 1
collect: {tmux: {sockets: [$session]}, dirs: {roots: [$HOME/wt, $outside], agent_folders: [], discover: false}}
rules: {session_names: {exact: [worker-1]}, grace: {dir: 0s, session: 0s}, confirm_after: 100ms, steady_for: 0s}
run: {rest: 100ms, brakes: {came_back_within: 0s}}
CONFIG
gone() { ! [ -e "$HOME/wt/project-review-1a2b3c4d" ] && ! [ -e "$outside/project-review-2a2b3c4d" ] && ! { [ -n "$TMUX_THERE" ] && tmux -S "$session" has-session -t =worker-1 2>/dev/null; }; }
acts() { # of the unit that runs: on worktrees in and outside of the home, and a session
  for w in "$HOME/wt/project-review-1a2b3c4d" "$outside/project-review-2a2b3c4d"; do
    git -C "$HOME/project" worktree prune
    git -C "$HOME/project" worktree add -q --detach "$w"
  done
  [ -z "$TMUX_THERE" ] || TMUX= tmux -S "$session" -f /dev/null new-session -d -s worker-1 -x 80 -y 24
  sleep 1 # a shell that has just begun is at work
  : >"$HOME/began"
  systemctl --user kill -s USR1 --kill-whom=main winnow.service
  until_ "worktrees and a session that go" gone
  # What git writes in people's repositories others can read as before; what winnow remembers nobody else can.
  open=$(find "$HOME/project/.git" -newer "$HOME/began" -type f -path "*refs/*" -not -perm -044)
  private=$(find "$HOME/.local/state/winnow" "$HOME/.local/state/winnow/trash" -maxdepth 1 -perm /077)
  if [ -n "$open$private" ]; then ls -ld $open $private; exit 1; fi
  "$WINNOW" trash
  "$WINNOW" trash empty --yes
  "$WINNOW" history >"$HOME/said"
  if grep -E "failed|refused" "$HOME/said"; then cat "$HOME/said"; exit 1; fi
}
"$WINNOW" service install --apply
until_ "the first sweep that may act" swept acting
acts

echo "== under the limits of the machine's unit"
sed -e "s#^ExecStart=.*#ExecStart=$WINNOW run --apply#" -e '/^User=/d' "$UNITS/system/winnow@.service" >"$HOME/.config/systemd/user/winnow.service" # in the place of another manager
systemctl --user daemon-reload
systemctl --user restart winnow.service
until_ "the first sweep under them" swept acting
grep "^CapBnd:.*8002f$" "/proc/$(unit MainPID)/status"
acts
"$WINNOW" service uninstall && exit 1 # it was not written by install
rm "$HOME/.config/systemd/user/winnow.service"
systemctl --user daemon-reload
systemctl --user stop winnow.service
"$WINNOW" service install

echo "== uninstall"; "$WINNOW" service uninstall
! systemctl --user is-active winnow.service
[ -z "$(ls "$HOME/.config/systemd/user" | grep winnow || true)" ]
systemctl --user exit
wait "$manager" || true
echo "== all of it"
`

// TestARealSystemdRunsTheUnits installs, reloads, hangs, stops and removes the service under a systemd of its own.
func TestARealSystemdRunsTheUnits(t *testing.T) {
	stage.NeedSecond(t, "it needs programs beside Go, git and tmux, or minutes")
	t.Parallel()
	for _, need := range []string{"/lib/systemd/systemd", "/usr/bin/systemctl", "/usr/bin/unshare"} {
		if _, err := os.Stat(need); err != nil {
			t.Skip("there is no systemd here: ", err)
		}
	}
	apart := []string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--cgroup", "--kill-child"}
	if out, err := exec.Command(apart[0], append(apart[1:], "sh", "-c", "mount -t cgroup2 none /sys/fs/cgroup")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces of its own here, in which a systemd could run: %v: %s", err, out)
	}
	main, home := must.Get(filepath.Abs("../.."))(t), t.TempDir()
	program := filepath.Join(home, "winnow")
	run(t, main, nil, "go", "build", "-o", program, "./cmd/winnow")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, apart[0], append(apart[1:], "bash", "-c", underSystemd)...)
	cmd.Dir = home
	there, _ := exec.LookPath("tmux")
	cmd.Env = append(os.Environ(), "HOME="+home, "WINNOW="+program, "UNITS="+must.Get(filepath.Abs("systemd"))(t), "TMUX_THERE="+there, "OUTSIDE="+t.TempDir())
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "== all of it\n") {
		t.Errorf("%v:\n%s", err, out)
	}
}
