package ledger

import (
	"slices"
	"testing"
)

// FuzzDiffer holds for every two texts: what differ keeps of the second makes it again, also packed, and nothing that is unpacked does harm.
func FuzzDiffer(f *testing.F) {
	for _, x := range samples {
		f.Add(x.base, x.text, []byte{})
	}
	f.Add("a1", "a2", []byte{0xcb, 0x04, 0x00})
	f.Fuzz(func(t *testing.T, base, text string, packed []byte) {
		if cs, same := differ(base, text); same {
			again(t, base, text, cs)
		}
		if cs, same := differ(base, base); !same || len(cs) > 0 {
			t.Fatalf("%q differs from itself: %v", base, cs)
		}
		if all, err := unpack(packed, 3); err == nil {
			for _, cs := range all {
				_, _ = apply(base, cs)
			}
		}
	})
}

func again(t *testing.T, base, text string, cs []change) {
	t.Helper()
	packed, err := pack([][]change{nil, cs, nil})
	if err != nil {
		t.Fatal(err)
	}
	all, err := unpack(packed, 3)
	if err != nil || len(all[0]) > 0 || len(all[2]) > 0 || !slices.Equal(all[1], cs) {
		t.Fatalf("%q to %q: %v became %v, %v", base, text, cs, all, err)
	}
	if got, err := apply(base, all[1]); err != nil || got != text {
		t.Fatalf("%q to %q by %v became %q, %v", base, text, cs, got, err)
	}
	if _, err := unpack(packed, 4); packed != nil && err == nil {
		t.Fatal("it was unpacked for another number of texts")
	}
}

var samples = []struct {
	base, text string
	same       bool
	literals   int
}{
	{"", "", true, 0},
	{"it changed 2m32s ago", "it changed 3m ago", true, 0},
	{"it changed 59s ago", "it changed 1m ago", true, 0},
	{"it changed 23h59m ago", "it changed 1d ago", true, 0},
	{"it changed 1d23h ago", "it changed 20d ago", true, 0},
	{`{"age":152.60198083,"grace":900}`, `{"age":180.45078201,"grace":900}`, true, 0},
	{`{"age":152.60198083}`, `{"age":153}`, true, 0},
	{`{"age":152}`, `{"age":153.5}`, true, 1},
	{"9", "10", true, 0},
	{"199 a 200", "200 a 199", true, 0},
	{"12:59:07", "13:00:00", true, 2},
	{"007", "8", true, 0},
	{"8", "007", true, 1},
	{"123456789012345678901", "123456789012345678902", true, 1},
	{"1.12345678901", "2.12345678902", true, 1},
	{"15m0s", "15m1s", true, 0},
	{"1h2m3s", "1h2m4s", true, 0},
	{"99999999999d", "99999999998d", true, 0},
	{"3 processes", "3 process", false, 0},
	{"1 process", "2 processes", false, 0},
	{"process 4711 (claude)", "process 4711 (codex)", false, 0},
	{"a", "a1", false, 0},
	{"a1", "a", false, 0},
	{"1a", "12", false, 0},
	{"-5", "5", false, 0},
}

func TestDiffer(t *testing.T) {
	t.Parallel()
	for _, x := range samples {
		cs, same := differ(x.base, x.text)
		literals := 0
		for _, c := range cs {
			if c.literal != "" {
				literals++
			}
		}
		if same != x.same || literals != x.literals {
			t.Errorf("%q to %q: %v, %v", x.base, x.text, cs, same)
		}
		if same {
			again(t, x.base, x.text, cs)
		}
	}
}
