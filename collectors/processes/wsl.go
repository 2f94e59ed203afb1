package processes

import (
	"os"
	"path/filepath"
	"strings"
)

// Windows reports whether the kernel of a root is that of the Windows Subsystem for Linux, by its release: "microsoft-standard-WSL2" since
// version 2, "Microsoft" before.
func Windows(path string) bool {
	text, err := os.ReadFile(filepath.Join(path, "sys/kernel/osrelease"))
	return err == nil && strings.Contains(strings.ToLower(string(text)), "microsoft")
}
