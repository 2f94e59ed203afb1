package processes

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tail = " 1 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 777 1000 50 18446744073709551615"

func TestParseStat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       stat
		bad        bool
	}{
		{"plain", "5 (sleep) S" + tail, stat{comm: "sleep", state: 'S', flags: 4194560, threads: 3, start: 777}, false},
		{"a name like the rest", "5 () R 1 (x\n y) Z" + tail, stat{comm: ") R 1 (x\n y", state: 'Z', flags: 4194560, threads: 3, start: 777}, false},
		{"empty", "", stat{}, true},
		{"cut short", "5 (sleep) S 1 5", stat{}, true},
		{"no name", "5 sleep S" + tail, stat{}, true},
		{"no number", strings.Replace("5 (sleep) S"+tail, "777", "x", 1), stat{}, true},
	} {
		got, err := parseStat([]byte(c.text))
		if (err != nil) != c.bad {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(stat{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("5 () R 1 (x\n y) Z" + tail))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseStat(text)
		if err != nil && s != (stat{}) {
			t.Errorf("%q: an error and %+v", text, s)
		}
		if err == nil && !strings.Contains(string(text), "("+s.comm+")") {
			t.Errorf("%q: the name %q is not in it", text, s.comm)
		}
	})
}
