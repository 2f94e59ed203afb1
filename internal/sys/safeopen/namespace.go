package safeopen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// standard are folders that only root makes, besides those that lie in /.
var standard = []string{"/dev/shm", "/run/user", "/var/tmp"}

// systems says whether what lies at path is root's although it does not look so: in a user namespace that does not have the machine's
// root, all that is root's shows the number that stands for users who are not in the namespace (user_namespaces(7)). So does what is another user's;
// but only root can put anything into /.
func systems(path string, uid uint32) bool {
	if filepath.Dir(path) != "/" && !slices.Contains(standard, path) {
		return false
	}
	nobody, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || strings.TrimSpace(string(nobody)) != strconv.FormatUint(uint64(uid), 10) {
		return false
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && unmapped(string(ids), uid)
}

// unmapped says whether no user of the namespace with this map has that number: first number inside, first outside, how many.
func unmapped(ids string, uid uint32) bool {
	for line := range strings.Lines(ids) {
		var inside, outside, count uint64
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			return false
		}
		if uint64(uid) >= inside && uint64(uid)-inside < count {
			return false
		}
	}
	return ids != ""
}
