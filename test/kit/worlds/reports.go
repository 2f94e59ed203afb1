package worlds

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// said are reasons of folders and of processes, with a time in them as rules write it.
var said = [...]string{
	"all its work is on origin/main, and nothing has happened in it for %dd",
	"its name says that it was made to be thrown away, and nothing has happened in it for %dd",
	"its work was squashed into origin/main as 1a2b3c4d5e, and nothing has happened in it for %dd",
	"its agent has ended",
	"nothing can speak with it any more, and it waits for what cannot come",
}

// manyThings are so many folders of four repositories and processes; most of them go, and some stay.
func manyThings(n int) (ds []decision.Decision) {
	for i := range n {
		repo := []string{"acme", "shop-frontend", "billing-service", "a-monorepo-with-a-long-name"}[i%4]
		d := decision.Decision{Verdict: decision.Reap, InScope: true, About: &decision.About{Idle: new(float64(i) * 1000), Age: new(float64(i) * 2000)}}
		reason := decision.Reason{Rule: "reap.dirs.landed", Message: said[i%3]}
		if i%5 == 4 {
			d.Kind, d.ID, d.Label = "process", fmt.Sprintf("process:%d@%d", 1000+i, i), "node"
			d.About.Command, d.About.Folder, d.About.Memory = "node @modelcontextprotocol/server-filesystem", "/home/ann/code/"+repo, new(int64(i)<<20)
			reason = decision.Reason{Rule: "reap.processes.orphan", Message: said[3+i%2]}
		} else {
			d.Kind, d.ID = "dir", fmt.Sprintf("dir:/home/ann/code/%s/.claude/worktrees/agent-%04x-feature-with-many-words-%d", repo, i*7919%65536, i)
			d.About.Repository = "/home/ann/code/" + repo
			d.Size = &decision.Size{Bytes: int64(i) << 18, Complete: true}
			if strings.Contains(reason.Message, "%d") {
				reason.Message = fmt.Sprintf(reason.Message, i%9+1)
			}
		}
		d.Findings = []decision.Reason{reason}
		if i%7 == 6 {
			d.Verdict, d.Findings = decision.Spare, nil
			d.Objections = []decision.Reason{{Rule: "protect.live", Message: "it is in use"}}
			d.Main = &decision.Main{Rule: "protect.live", Group: "in use", Message: "it is in use"}
		}
		ds = append(ds, d)
	}
	return ds
}

// CheckReports prints reports of 20, 280 and 555 things at four widths: no line is wider, no reason stands twice in a group, and there are 60 lines at most.
func CheckReports(t *testing.T, write func(w io.Writer, ds []decision.Decision, width int) error) {
	t.Helper()
	for _, n := range []int{20, 280, 555} {
		for _, width := range []int{60, 80, 120, 200} {
			var out bytes.Buffer
			if err := write(&out, manyThings(n), width); err != nil {
				t.Fatal(err)
			}
			printed := out.String()
			lines := strings.Split(strings.TrimSuffix(printed, "\n"), "\n")
			if len(lines) > 60 {
				t.Errorf("%d things at %d columns: %d lines", n, width, len(lines))
			}
			for _, line := range lines {
				if got := ansi.StringWidth(line); got > width {
					t.Errorf("%d things at %d columns: a line has %d: %s", n, width, got, line)
				}
			}
			// Of four repositories with three reasons, and of two of processes, each is one group.
			flat := strings.Join(strings.Fields(printed), " ")
			for i, reason := range said {
				reason, _, _ = strings.Cut(reason, ", and nothing")
				most := 4
				if i > 2 {
					most = 1
				}
				if got := strings.Count(flat, reason); n > 20 && got > most || got == 0 && i != 2 {
					t.Errorf("%d things at %d columns: %q stands %d times:\n%s", n, width, reason, got, printed)
				}
			}
			if strings.Contains(flat, " for 1d") {
				t.Errorf("%d things at %d columns: a reason has a time that differs in each", n, width)
			}
		}
	}
}
