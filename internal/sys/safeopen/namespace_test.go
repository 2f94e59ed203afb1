package safeopen

import "testing"

func TestUnmapped(t *testing.T) {
	t.Parallel()
	for ids, want := range map[string]bool{
		"         0          0 4294967295\n": false,
		"         0       1000          1\n": true,
		"      1000       1000          1\n": true,
		"0 1000 1\n1 100000 65536\n":         false,
		"":                                   false,
		"what\n":                             false,
	} {
		if got := unmapped(ids, 65534); got != want {
			t.Errorf("%q: want %v, got %v", ids, want, got)
		}
	}
	if systems("/tmp/a", 65534) || systems("/tmp", 1) {
		t.Error("a folder of another user counts as the machine's own")
	}
}
