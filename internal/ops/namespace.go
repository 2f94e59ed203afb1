package ops

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// ThingDiffers says why a candidate may be another thing to the program that asks than it is to the daemon, "" where it is not.
func ThingDiffers(asker listen.Conn, id string) string {
	switch kind, _ := snapshot.KindOf(id); kind.Name {
	case snapshot.KindDir:
		return FolderDiffers(asker, filepath.Clean(strings.TrimPrefix(id, snapshot.KindDir+":")))
	case snapshot.KindProcess:
		return PIDDiffers(asker)
	}
	return ""
}

// FolderDiffers says why a path (absolute and clean) may lead the program that asks to another folder than it leads the daemon, "" where it does not.
func FolderDiffers(asker listen.Conn, path string) string {
	if asker.Conn == nil {
		return ""
	}
	if asker.PID <= 0 {
		return "the program that asks is outside of this pid namespace, so whether the path leads it to the same folder is not known"
	}
	v, err := proc.ViewOf("/proc", asker.PID)
	if err == nil && v.Mounts {
		return ""
	}
	same := false
	if err == nil {
		same, err = proc.SameThere("/proc", asker.PID, path)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("whether the path leads the program that asks to the same folder is not known: %v", err)
	case same:
		return ""
	}
	return fmt.Sprintf("the program that asks (pid %d) has other mounts than the daemon, and the path leads it to another folder", asker.PID)
}

// PIDDiffers says why a pid may be another process to the program that asks, "" where it is the same.
func PIDDiffers(asker listen.Conn) string {
	if asker.Conn == nil {
		return ""
	}
	if asker.PID > 0 {
		switch v, err := proc.ViewOf("/proc", asker.PID); {
		case err != nil:
			return fmt.Sprintf("whether the number is the same process to the program that asks is not known: %v", err)
		case v.PIDs:
			return ""
		}
	}
	return "the program that asks is in another pid namespace, where that number is another process"
}
