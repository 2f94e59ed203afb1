package termsafe

import (
	"os/exec"
	"testing"
)

func TestAShellReadsBackWhatWasQuoted(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	for _, s := range []string{"", "/w/acme-7", "/w/x; echo y", "it's $(echo y) `echo y`", "a\nb\x1b[31m", `back\slash "quoted"`, "*", "ü"} {
		out, err := exec.Command(bash, "-c", "printf %s "+Quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q, quoted as %s: the shell reads %q, %v", s, Quote(s), out, err)
		}
	}
}
