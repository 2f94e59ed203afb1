// Package screen types into views, and holds what they show in a real terminal against golden files.
package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/schema"
	"github.com/winnow-reaper/winnow/test/kit/tmux"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

var named = map[string]rune{
	"up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "space": tea.KeySpace,
}

// Key is a key that was pressed: a character, or one of those with a name.
func Key(name string) tea.KeyPressMsg {
	if code, ok := named[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// Step is what is typed, as tmux names keys, a text that the screen then has, and the name of the golden file of all that it shows.
type Step struct {
	Keys, Until, Golden string
}

// Here is true in the process that a test of Shows runs on a screen: it shows the view there.
func Here() bool { return os.Getenv("WINNOW_SCREEN") != "" }

// Shows runs this test once more, on screens of 80 and of 120 columns, and holds what they show against golden files in a folder. -update writes them.
func Shows(t *testing.T, folder string, steps []Step) {
	t.Helper()
	show(t, folder, 80, 24, steps)
	show(t, folder, 120, 40, steps)
}

func show(t *testing.T, folder string, columns, rows int, steps []Step) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	s := tmux.Fresh(t, "view", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "-e", "WINNOW_SCREEN=1", "-e", "TZ=UTC", "-e", "NO_COLOR=1", "-e", "HOME=/home/ann",
		self, "-test.run=^"+t.Name()+"$")
	for _, step := range steps {
		for _, key := range strings.Fields(step.Keys) {
			s.Run("send-keys", "-t", "view", key)
		}
		golden := filepath.Join(folder, fmt.Sprintf("%dx%d-%s.txt", columns, rows, step.Golden))
		shown := ""
		capture := func() string {
			lines := strings.Split(s.Run("capture-pane", "-p", "-t", "view"), "\n")
			for len(lines) < rows { // tmux leaves out what is empty at the end
				lines = append(lines, "")
			}
			return strings.Join(lines, "\n") + "\n"
		}
		so := func() bool {
			shown = capture()
			want, err := os.ReadFile(golden)
			if schema.Updating() {
				return strings.Contains(shown, step.Until) && shown == capture()
			}
			return err == nil && shown == string(want)
		}
		if !wait.Until(wait.Patience, so) {
			t.Fatalf("after %q the screen is not as %s has it; with -update it is written. It shows\n%s", step.Keys, golden, shown)
		}
		if schema.Updating() {
			must.Do(t, os.WriteFile(golden, []byte(shown), 0o644))
		}
	}
}
