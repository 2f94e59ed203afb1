package ledger_test

import (
	"fmt"
	"testing"

	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestMountsOfEachNamespace: those of one namespace do not replace another's, nothing remembered is no error, and the host keeps its own
// also after many containers.
func TestMountsOfEachNamespace(t *testing.T) {
	t.Parallel()
	l := open(t)
	must.Do(t, ledger.Remember(l, t.Context(), "mounts", nil))
	must.Do(t, l.SaveMounts(t.Context(), proc.FirstNamespace, []string{"/disk"}))
	for i := range 40 {
		must.Do(t, l.SaveMounts(t.Context(), fmt.Sprint("pid:", i), []string{"/work"}))
	}
	must.Equal(t, must.Get(l.Mounts(t.Context(), proc.FirstNamespace))(t), []string{"/disk"}, "the host's")
	must.Equal(t, must.Get(l.Mounts(t.Context(), "pid:39"))(t), []string{"/work"}, "the last container's")
}
