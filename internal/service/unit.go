// Package service makes, installs and removes the systemd units that run winnow, and says how they stand.
//
// A file counts as one that it wrote by its first line, Mark. It replaces and removes no other.
package service

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/winnow-reaper/winnow"
)

// Mark is the first line of every unit that Install writes.
const Mark = "# Written by winnow service install. winnow service uninstall removes it; change it with systemctl edit."

// Unit is what Install changes in the units of the package.
type Unit struct {
	// Program is the absolute path of winnow.
	Program string
	// Flags stand between the program and run: they are taken word by word.
	Flags []string
	// Instances is true for a unit of the system, a template with an instance for each user, and false for one of a user's own manager.
	Instances bool
	// Timer has a timer run one sweep at a time, in the place of a daemon.
	Timer bool
	// Apply lets it act.
	Apply bool
	// Every is from one sweep to the next, for a timer; whole seconds count.
	Every time.Duration
}

// File is one unit: its name, such as winnow.service, and its text.
type File struct {
	Name string
	Text []byte
}

// Files gives the units, the one that is to be enabled first. It fails for a program or a flag that a unit cannot hold.
func (u Unit) Files() ([]File, error) {
	command, err := commandLine(u.Program, u.Flags)
	if err != nil {
		return nil, err
	}
	apply := "\n"
	if u.Apply {
		apply = " --apply\n"
	}
	change := strings.NewReplacer(
		"ExecStart=/usr/bin/winnow run --once\n", "ExecStart="+command+" run --once"+apply, "ExecStart=/usr/bin/winnow run\n", "ExecStart="+command+" run"+apply,
		"every 300s", "every "+seconds(u.Every), "OnUnitInactiveSec=300s", "OnUnitInactiveSec="+seconds(u.Every), "RandomizedDelaySec=30s", "RandomizedDelaySec="+seconds(u.Every/10))
	folder := map[bool]string{false: "user", true: "system"}[u.Instances]
	var files []File
	for _, name := range u.names() {
		text, err := winnow.Units.ReadFile(path.Join("packaging/linux/systemd", folder, name))
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
		_, rest, _ := strings.Cut(string(text), "\n") // the first line says that it belongs to the package
		files = append(files, File{name, []byte(Mark + "\n" + change.Replace(rest))})
	}
	return files, nil
}

// names are the units' names, the one that is to be enabled first.
func (u Unit) names() []string {
	at := ""
	if u.Instances {
		at = "@"
	}
	if u.Timer {
		return []string{"winnow-sweep" + at + ".timer", "winnow-sweep" + at + ".service"}
	}
	return []string{"winnow" + at + ".service"}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", max(1, int(d.Seconds()))) }

// commandLine writes a program and its flags as ExecStart= reads them (systemd.service(5), COMMAND LINES).
func commandLine(program string, flags []string) (string, error) {
	var words []string
	for i, word := range append([]string{program}, flags...) {
		if strings.IndexFunc(word, unicode.IsControl) >= 0 {
			return "", fmt.Errorf("%q has a control character, which a unit cannot hold", word)
		}
		if i == 0 && strings.ContainsAny(word, "\"'\\") { // systemd says: Executable name contains special characters
			return "", fmt.Errorf("the path of the program, %s, has a quotation mark or a backslash, which systemd takes in no program's path", word)
		}
		word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word)
		if i > 0 { // in the program's own path a $ stands for itself
			word = strings.ReplaceAll(word, "$", "$$")
		}
		if strings.ContainsAny(word, ` '"\;`) || word == "" {
			word = `"` + word + `"`
		}
		words = append(words, word)
	}
	return strings.Join(words, " "), nil
}
