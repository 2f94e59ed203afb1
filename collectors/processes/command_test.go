package processes

import (
	"strings"
	"testing"
)

// commands are command lines after the shell's own name, blanks between arguments, with what they mean.
var commands = map[string]map[string]int{
	"bash": {
		"": asked, "-i": asked, "-l": asked, "-il": asked, "--login": asked, "-login": asked, "--norc": asked, "--posix": asked,
		"--noprofile --norc -i": asked, "--rcfile /tmp/rc": asked, "--init-file /tmp/rc -i": asked, "-rcfile rc": asked,
		"-O extglob": asked, "+O extglob": asked, "-o vi": asked, "-eo pipefail": asked, "+x": asked, "-s": asked, "-s one two": asked,
		"-is one": asked, "-": asked, "--": asked, "-i --": asked, "--noediting": asked,
		"worker.sh": told, "-x worker.sh": told, "-i worker.sh": told, "-l worker.sh arg": told, "- worker.sh": told, "-- -c": told,
		"-c true": told, "-ic true": told, "-lc true": told, "-i -c true": told, "-l -c true": told, "--norc -c true": told,
		"-O extglob worker.sh": told, "-o pipefail worker.sh": told, "-eo pipefail worker.sh": told, "--rcfile rc worker.sh": told,
		"--posix worker.sh": told, "+x worker.sh": told, "+c": unclear, "/dev/stdin": told, ".builder-start.sh": told,
		"-t": unclear, "-D": unclear, "-n": unclear, "--version": unclear, "--rcfile": unclear, "-o": unclear, "-Z": unclear, "--dump-strings": unclear,
	},
	"dash": {
		"": asked, "-i": asked, "-": asked, "-s": asked, "-o vi": asked, "-l": asked, "-E": asked, "+m": asked,
		"worker.sh": told, "-e worker.sh": told, "-c true": told, "-ec true": told, "-s x": asked, "-O": unclear, "--login": unclear,
	},
	"sh":   {"": asked, "-c true": told, "-lc true": told, "-": asked, "-l": asked, "-x script": told},
	"ash":  {"": asked, "-l": asked, "script": told, "-c x": told},
	"ksh":  {"": asked, "-i": asked, "-o emacs": asked, "script": told, "-c x": told, "-R file": unclear},
	"oksh": {"": asked, "script": told},
	"mksh": {"": asked, "-l": asked, "script": told, "-T tty1": unclear, "-c x": told},
	"zsh": {
		"": asked, "-i": asked, "-l": asked, "-f": asked, "-df": asked, "-o vi": asked, "-ovi": asked, "-fo vi": asked, "--no-rcs": asked,
		"--emulate sh": asked, "--emulate sh -i": asked, "+Z": asked, "-s one": asked, "--": asked,
		"script": told, "-i file": told, "-f script": told, "-ic true": told, "-o vi script": told, "-ovi script": told, "--no-rcs script": told,
		"--emulate sh script": told, "-c true": told, "-t": unclear, "-b": unclear, "--version": unclear, "--help": unclear, "--emulate": unclear,
	},
	"csh":  {"": asked, "-i": asked, "-f": asked, "-l": asked, "script": told, "-f script": told, "-c x": told, "-i script": unclear, "-t": unclear},
	"tcsh": {"": asked, "-fc x": unclear, "script x": told},
	"fish": {
		"": asked, "-i": asked, "-l": asked, "-il": asked, "-C cmd": asked, "--init-command cmd": asked, "--init-command=cmd -i": asked, "-N": asked,
		"-c cmd": told, "--command=cmd": told, "-C cmd script": told, "script": told, "-i script": told, "-C": unclear, "-n": unclear, "-Ccmd": unclear,
		"-- script": told, "--": asked, "-": told,
	},
	"elvish": {"": asked, "-i": asked, "-norc": asked, "-rc file": asked, "-c x": told, "script.elv": told, "-lsp": unclear, "-daemon": unclear},
	"nu":     {"": asked, "-l": asked, "-e ls": asked, "--config f": asked, "-c ls": told, "--commands=ls": told, "x.nu": told, "--lsp": unclear},
	"pwsh":   {"": asked, "-NoLogo": asked, "-nop -NoLogo": asked, "-Login": asked, "-File x.ps1": told, "-Command x": told, "x.ps1": told, "-NoExit": unclear},
}

func TestStarted(t *testing.T) {
	t.Parallel()
	for kind, lines := range commands {
		for line, want := range lines {
			if got := started(kind, append([]string{"-" + kind}, strings.Fields(line)...)); got != want {
				t.Errorf("%s %s: %d, want %d", kind, line, got, want)
			}
		}
	}
	if got := started("rc", []string{"rc"}); got != unclear {
		t.Errorf("a shell whose arguments are not known: %d", got)
	}
	if got := started("bash", nil); got != unclear {
		t.Errorf("no command line: %d", got)
	}
}

// TestStartedByPython has xonsh run by the interpreter that its first line names.
func TestStartedByPython(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"xonsh": asked, "python3 /usr/bin/xonsh": asked, "/usr/bin/python3 -s /usr/bin/xonsh -i": asked, "python3 xonsh --no-rc": asked,
		"python3 /usr/bin/xonsh script.xsh": told, "python3 -u /usr/bin/xonsh -c ls": told, "python3 worker.py": unclear, "python3 -m xonsh": unclear,
		"python3 -c xonsh": unclear, "python3": unclear,
	} {
		argv := arguments([]byte(strings.ReplaceAll(line, " ", "\x00") + "\x00"))
		if got := started("xonsh", argv); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}

// FuzzStarted holds that no command line is more than the three.
func FuzzStarted(f *testing.F) {
	for kind, lines := range commands {
		for line := range lines {
			f.Add(kind, line)
		}
	}
	f.Fuzz(func(t *testing.T, kind, line string) {
		argv := arguments([]byte(strings.ReplaceAll("x "+line, " ", "\x00")))
		if got := started(kind, argv); got < unclear || got > told {
			t.Errorf("%s %q: %d", kind, line, got)
		}
	})
}
