package holders_test

import (
	"bufio"
	"io"
	"os/exec"
	"testing"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/collectors/processes/holders"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestTable: what the look has read of a process is not read again. The process has another name by then.
func TestTable(t *testing.T) {
	t.Parallel()
	dir := files.RealTemp(t)
	cmd := exec.Command("sh", "-c", "read -r x; printf renamed > /proc/$$/comm; echo done; read -r x")
	cmd.Dir = dir
	in, out := must.Get(cmd.StdinPipe())(t), must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	table := &processes.Table{}
	must.Get(processes.New(processes.Options{Root: "/proc", Markers: []string{"X"}, Table: table}).Read(t.Context()))(t)
	must.Get(io.WriteString(in, "\n"))(t)
	must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	for name, with := range map[string]*processes.Table{"sh": table, "renamed": nil} {
		held, _, err := holders.Find(t.Context(), holders.Options{Root: "/proc", Table: with}, []string{dir})
		if err != nil || len(held[dir]) != 1 || held[dir][0].Name != name {
			t.Errorf("%v, %v: want it to be called %s", held, err, name)
		}
	}
}
