package proc

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	names := []string{"AGENT", "TMUX"}
	for name, c := range map[string]struct {
		text string
		want map[string]string
		ok   bool
	}{
		"markers and others":              {"HOME=/h\x00AGENT=1\x00SECRET=s\x00TMUX=/t,1,2\x00", map[string]string{"AGENT": "1", "TMUX": "/t,1,2"}, true},
		"none of them is known and empty": {"HOME=/h\x00", nil, true},
		"no bytes prove nothing":          {"", nil, false},
		"a cut text proves nothing":       {"AGENT=1\x00HOM", nil, false},
		"the first of two counts":         {"AGENT=1\x00AGENT=2\x00", map[string]string{"AGENT": "1"}, true},
		"a longer name is another":        {"AGENTS=1\x00XAGENT=1\x00AGEN=1\x00", nil, true},
		"empty value":                     {"AGENT=\x00", map[string]string{"AGENT": ""}, true},
		"value with = and newline":        {"AGENT=a=b\nTMUX=c\x00", map[string]string{"AGENT": "a=b\nTMUX=c"}, true},
		"no = and nothing at all":         {"AGENT\x00\x00=x\x00", nil, true},
	} {
		got, ok := Variables([]byte(c.text), names)
		if d := cmp.Diff(c.want, got); d != "" || ok != c.ok {
			t.Errorf("%s: ok %v (-want +got):\n%s", name, ok, d)
		}
	}
}

func FuzzVariables(f *testing.F) {
	f.Add([]byte("HOME=/h\x00AGENT=1\x00"), "AGENT")
	f.Add([]byte("=\x00\x00A"), "")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		kept, ok := Variables(text, []string{name})
		if !ok {
			return
		}
		// The same by splitting, which keeps everything and so serves as oracle only.
		want := map[string]string{}
		for entry := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00"), "\x00") {
			key, value, found := strings.Cut(entry, "=")
			if _, twice := want[key]; found && key == name && key != "" && !twice {
				want[key] = value
			}
		}
		if !maps.Equal(want, kept) {
			t.Errorf("%q of %q: kept %q, want %q", name, text, kept, want)
		}
	})
}
