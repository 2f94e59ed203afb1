package act

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
	testkit "github.com/winnow-reaper/winnow/test/kit/tmux"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	s := testkit.Fresh(t, "worker")
	for _, text := range []string{"", "plain", "it's", `"$HOME" #{pid} \ ~ {}`, "a ; b", "%if", "''"} {
		s.Run("set-option", "-g", "@x", "unset")
		file := filepath.Join(filepath.Dir(s.Socket), "conf")
		must.Do(t, os.WriteFile(file, []byte("set-option -g @x "+quote(text)+"\n"), 0o600))
		s.Run("source-file", file)
		if got := s.Run("show-options", "-gv", "@x"); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
