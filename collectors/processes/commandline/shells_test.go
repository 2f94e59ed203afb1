package commandline

import (
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// commands are command lines after the shell's own name, blanks between arguments, with what they mean.
var commands = map[string]map[string]int{
	"bash": {
		"": Interactive, "-i": Interactive, "-l": Interactive, "-il": Interactive, "--login": Interactive, "-login": Interactive, "--norc": Interactive, "--posix": Interactive,
		"--noprofile --norc -i": Interactive, "--rcfile /tmp/rc": Interactive, "--init-file /tmp/rc -i": Interactive, "-rcfile rc": Interactive,
		"-O extglob": Interactive, "+O extglob": Interactive, "-o vi": Interactive, "-eo pipefail": Interactive, "+x": Interactive, "-s": Interactive, "-s one two": Interactive,
		"-is one": Interactive, "-": Interactive, "--": Interactive, "-i --": Interactive, "--noediting": Interactive,
		"worker.sh": Script, "-x worker.sh": Script, "-i worker.sh": Script, "-l worker.sh arg": Script, "- worker.sh": Script, "-- -c": Script,
		"-c true": Script, "-ic true": Script, "-lc true": Script, "-i -c true": Script, "-l -c true": Script, "--norc -c true": Script,
		"-O extglob worker.sh": Script, "-o pipefail worker.sh": Script, "-eo pipefail worker.sh": Script, "--rcfile rc worker.sh": Script,
		"--posix worker.sh": Script, "+x worker.sh": Script, "+c": Unclear, "/dev/stdin": Script, ".builder-start.sh": Script,
		"-t": Unclear, "-D": Unclear, "-n": Unclear, "--version": Unclear, "--rcfile": Unclear, "-o": Unclear, "-Z": Unclear, "--dump-strings": Unclear,
	},
	"dash": {
		"": Interactive, "-i": Interactive, "-": Interactive, "-s": Interactive, "-o vi": Interactive, "-l": Interactive, "-E": Interactive, "+m": Interactive,
		"worker.sh": Script, "-e worker.sh": Script, "-c true": Script, "-ec true": Script, "-s x": Interactive, "-O": Unclear, "--login": Unclear,
	},
	"sh":   {"": Interactive, "-c true": Script, "-lc true": Script, "-": Interactive, "-l": Interactive, "-x script": Script},
	"ash":  {"": Interactive, "-l": Interactive, "script": Script, "-c x": Script},
	"ksh":  {"": Interactive, "-i": Interactive, "-o emacs": Interactive, "script": Script, "-c x": Script, "-R file": Unclear},
	"oksh": {"": Interactive, "script": Script},
	"mksh": {"": Interactive, "-l": Interactive, "script": Script, "-T tty1": Unclear, "-c x": Script},
	"zsh": {
		"": Interactive, "-i": Interactive, "-l": Interactive, "-f": Interactive, "-df": Interactive, "-o vi": Interactive, "-ovi": Interactive, "-fo vi": Interactive, "--no-rcs": Interactive,
		"--emulate sh": Interactive, "--emulate sh -i": Interactive, "+Z": Interactive, "-s one": Interactive, "--": Interactive,
		"script": Script, "-i file": Script, "-f script": Script, "-ic true": Script, "-o vi script": Script, "-ovi script": Script, "--no-rcs script": Script,
		"--emulate sh script": Script, "-c true": Script, "-t": Unclear, "-b": Unclear, "--version": Unclear, "--help": Unclear, "--emulate": Unclear,
	},
	"csh":  {"": Interactive, "-i": Interactive, "-f": Interactive, "-l": Interactive, "script": Script, "-f script": Script, "-c x": Script, "-i script": Unclear, "-t": Unclear},
	"tcsh": {"": Interactive, "-fc x": Unclear, "script x": Script},
	"fish": {
		"": Interactive, "-i": Interactive, "-l": Interactive, "-il": Interactive, "-C cmd": Interactive, "--init-command cmd": Interactive, "--init-command=cmd -i": Interactive, "-N": Interactive,
		"-c cmd": Script, "--command=cmd": Script, "-C cmd script": Script, "script": Script, "-i script": Script, "-C": Unclear, "-n": Unclear, "-Ccmd": Unclear,
		"-- script": Script, "--": Interactive, "-": Script,
	},
	"elvish": {"": Interactive, "-i": Interactive, "-norc": Interactive, "-rc file": Interactive, "-c x": Script, "script.elv": Script, "-lsp": Unclear, "-daemon": Unclear},
	"nu":     {"": Interactive, "-l": Interactive, "-e ls": Interactive, "--config f": Interactive, "-c ls": Script, "--commands=ls": Script, "x.nu": Script, "--lsp": Unclear},
	"pwsh":   {"": Interactive, "-NoLogo": Interactive, "-nop -NoLogo": Interactive, "-Login": Interactive, "-File x.ps1": Script, "-Command x": Script, "x.ps1": Script, "-NoExit": Unclear},
}

func TestShell(t *testing.T) {
	t.Parallel()
	for kind, lines := range commands {
		for line, want := range lines {
			if got := Shell(kind, append([]string{"-" + kind}, strings.Fields(line)...)); got != want {
				t.Errorf("%s %s: %d, want %d", kind, line, got, want)
			}
		}
	}
	if got := Shell("rc", []string{"rc"}); got != Unclear {
		t.Errorf("a shell whose arguments are not known: %d", got)
	}
	if got := Shell("bash", nil); got != Unclear {
		t.Errorf("no command line: %d", got)
	}
}

// TestShellOfPython has xonsh run by the interpreter that its first line names.
func TestShellOfPython(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"xonsh": Interactive, "python3 /usr/bin/xonsh": Interactive, "/usr/bin/python3 -s /usr/bin/xonsh -i": Interactive, "python3 xonsh --no-rc": Interactive,
		"python3 /usr/bin/xonsh script.xsh": Script, "python3 -u /usr/bin/xonsh -c ls": Script, "python3 worker.py": Unclear, "python3 -m xonsh": Unclear,
		"python3 -c xonsh": Unclear, "python3": Unclear,
	} {
		argv := proc.Arguments([]byte(strings.ReplaceAll(line, " ", "\x00") + "\x00"))
		if got := Shell("xonsh", argv); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}

// FuzzShell holds that no command line is more than the three.
func FuzzShell(f *testing.F) {
	for kind, lines := range commands {
		for line := range lines {
			f.Add(kind, line)
		}
	}
	f.Fuzz(func(t *testing.T, kind, line string) {
		argv := proc.Arguments([]byte(strings.ReplaceAll("x "+line, " ", "\x00")))
		if got := Shell(kind, argv); got < Unclear || got > Script {
			t.Errorf("%s %q: %d", kind, line, got)
		}
	})
}
