package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/panes/tmux"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/version"
)

// ConfigFingerprint is a digest, before the policies were loaded and put their own parameters in, of what says how this program looks and decides: its version, its configuration, the
// programs that it asks, the variables that say where agents keep their things, and what a path and a pid mean to it. Where a command and the daemon differ in it, the command does its
// work by itself. The variable PATH is not in it, only where it leads: that of a service manager is never a shell's.
func ConfigFingerprint(cfg *config.Config) string {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode([]any{version.Read(), cfg}); err != nil {
		return "" // matches no other one
	}
	for _, name := range append([]string{"HOME"}, Steering...) {
		fmt.Fprintf(h, "%s=%q\n", name, os.Getenv(name))
	}
	for _, name := range []string{"git", "tmux"} {
		path, err := exec.LookPath(name)
		if real, err := filepath.EvalSymlinks(path); err == nil { // /bin is often a link to /usr/bin
			path = real
		}
		fmt.Fprintf(h, "%s=%q %t\n", name, path, err == nil)
	}
	fmt.Fprintf(h, "tmux=%q\n", tmux.OutsideSocket(os.Getenv, os.Getuid()))
	for _, name := range []string{"mnt", "pid"} { // in a container or a sandbox a path is another folder, and a pid another process
		link, err := os.Readlink("/proc/self/ns/" + name)
		fmt.Fprintf(h, "%s=%q %t\n", name, link, err == nil)
	}
	var root unix.Stat_t
	err := unix.Stat("/", &root)
	fmt.Fprintf(h, "root=%d:%d %t\n", root.Dev, root.Ino, err == nil)
	return hex.EncodeToString(h.Sum(nil))
}

// Steering are variables, besides those that begin with WINNOW_, that say where winnow looks.
var Steering = []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMUX_TMPDIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "CODEV_AGENT_FARM_DIR", "HERDR_SOCKET_PATH", "HERDR_SESSION", "SHEPHERD_DB"}
