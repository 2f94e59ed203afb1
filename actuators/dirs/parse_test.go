package dirs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"winnow/engine/decision"
)

func TestMountPoints(t *testing.T) {
	t.Parallel()
	got, err := mountPoints("25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n26 30 0:24 / /a\\040b\\011c\\012d\\134e rw - proc proc rw\n")
	if diff := cmp.Diff([]string{"/sys", "/a b\tc\nd\\e"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, text := range []string{"\n", "25 30 0:23 /\n", "25 30 0:23 /  rw - x\n"} {
		if got, err := mountPoints(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzMountPoints(f *testing.F) {
	own, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(own))
	f.Fuzz(func(t *testing.T, text string) {
		points, err := mountPoints(text)
		if err != nil && points != nil {
			t.Errorf("%q: an error and %q", text, points)
		}
	})
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	a, b, z := "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222", "0000000000000000000000000000000000000000"
	diff := ":100644 100644 " + a + " " + b + " M\x00a file\x00:100644 000000 " + a + " " + z + " D\x00:odd\x00:000000 160000 " + z + " " + a + " A\x00lib\x00"
	if d := cmp.Diff([]string{b}, diffBlobs(diff)); d != "" {
		t.Errorf("diff (-want +got):\n%s", d)
	}
	stage := "100644 " + a + " 1\ta b\x00100644 " + b + " 2\ta b\x00160000 " + a + " 0\tlib\x00"
	if d := cmp.Diff([]string{a, b}, stagedBlobs(stage)); d != "" {
		t.Errorf("stage (-want +got):\n%s", d)
	}
}

// FuzzBlobs reads what git prints: what comes out of it goes back into git as names of objects.
func FuzzBlobs(f *testing.F) {
	a := "1111111111111111111111111111111111111111"
	f.Add(":100644 100644 " + a + " " + a + " M\x00a file\x00")
	f.Add("100644 " + a + " 1\ta b\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, id := range append(diffBlobs(text), stagedBlobs(text)...) {
			if !objectName.MatchString(id) {
				t.Errorf("%q gives %q", text, id)
			}
		}
	})
}

// FuzzPlan reads intents: what is accepted names nothing but places of its own.
func FuzzPlan(f *testing.F) {
	const in = `{"id":"A1","candidate":"dir:/r/w","kind":"dir","identity":{"key":"k","dir":{"path":"/r/w","root":"/r","device":1,"inode":2,"born_at":"2026-01-02T03:04:05Z","worktree":true}},` +
		`"findings":[],"at":"2026-01-02T03:04:05Z","plan":{"from":"/r/w","root":"/r","trash":"/s/trash/A1","admin":{"from":"/p/.git/worktrees/w","to":"/s/trash/A1/admin",` +
		`"common":"/p/.git","head":"1111111111111111111111111111111111111111","refs":"refs/winnow/A1/","device":1,"inode":3,"born_at":"2026-01-02T03:04:05Z"}}}`
	f.Add([]byte(in))
	f.Fuzz(func(t *testing.T, text []byte) {
		var in decision.Intent
		if json.Unmarshal(text, &in) != nil {
			return
		}
		if p, err := readPlan(in); err == nil {
			checkPlan(t, in, p)
		}
	})
}

// FuzzManifest reads manifests, which may be anybody's.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"schema":"winnow.trash/v1","intent":{"id":"A1","candidate":"dir:/r/w","kind":"dir","identity":{"key":"k","dir":{"path":"/r/w","root":"/r","device":1,"inode":2,"born_at":"2026-01-02T03:04:05Z","worktree":false}},"findings":[],"at":"2026-01-02T03:04:05Z","plan":{"from":"/r/w","root":"/r","trash":"/r/.winnow-trash/A1"}},"undo":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		const place = "/r/.winnow-trash/A1"
		in, ok, err := readManifest(text, place)
		if err != nil && ok {
			t.Errorf("%q: %v and taken", text, err)
		}
		if !ok {
			return
		}
		p, err := readPlan(in)
		if err != nil || p.Trash != place || p.Root != "/r" || in.ID != "A1" {
			t.Fatalf("%q: %+v %v", text, p, err)
		}
		checkPlan(t, in, p)
	})
}

func checkPlan(t *testing.T, in decision.Intent, p plan) {
	t.Helper()
	if !strings.HasPrefix(p.From, strings.TrimSuffix(p.Root, "/")+"/") || strings.Contains(p.From, "/../") || filepath.Base(p.Trash) != in.ID {
		t.Errorf("a folder outside: %+v", p)
	}
	if a := p.Admin; a != nil && (filepath.Dir(a.From) != a.Common+"/worktrees" && a.Common != "/" || strings.ContainsAny(a.Head+a.Refs, " \n") ||
		a.To != p.Trash+"/admin" && a.To != filepath.Join(a.Common, "winnow-trash", in.ID, "admin")) {
		t.Errorf("an entry that is not its own: %+v", a)
	}
}
