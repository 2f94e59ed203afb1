// Package commandline reads command lines as shells and interpreters do: what one was started for, and which program it runs.
package commandline

import (
	"path"
	"strings"
)

// How a shell was started, by its command line.
const (
	Unclear     = iota // not understood
	Interactive        // to ask a person for commands
	Script             // to run a script or a command
)

// Shell reads a shell's command line as that shell does. What is not understood is unclear.
func Shell(kind string, argv []string) int {
	if len(argv) == 0 || argv[0] == "" {
		return Unclear
	}
	g, ok := grammars[kind]
	if !ok {
		return Unclear
	}
	if kind == "xonsh" {
		argv = behindPython(argv)
	}
	return g(argv[1:])
}

// grammars are how each shell reads its arguments, by its name.
var grammars = map[string]func([]string) int{
	"sh": posix.read, "ash": posix.read, "dash": posix.read,
	"bash": bash.read, "ksh": korn.read, "mksh": mirbsd.read, "oksh": korn.read, "zsh": zsh.read,
	"csh": csh, "tcsh": csh,
	"fish": fish.read, "elvish": elvish.read, "nu": nu.read, "xonsh": xonsh.read, "pwsh": pwsh.read,
}

// letters is the grammar of the shells that descend from Bourne's: bundled letters, the same behind a + to turn them off, o with a name.
type letters struct {
	// flags take nothing; valued take the next argument, as o does.
	flags, valued string
	// long are words behind one or two signs, which bash knows only before letters; a true one takes the next argument.
	long map[string]bool
	// anyLong is set where every other word behind two signs is an option without a value, sameWord where the name for o may stand in
	// the same word.
	anyLong, sameWord bool
}

// The letters that set(1) of each shell and its manual page give for the start. Those that end it after one command, or only check what
// is read, are left out: then it is not known what it does.
var (
	posix  = letters{flags: "aefhilmnpuvxbCEIVq"}
	bash   = letters{flags: "abefhiklmprsuvxBCEHPT", valued: "O", long: bashLong}
	korn   = letters{flags: "abefhiklmpruvxBCEGHX"}
	mirbsd = letters{flags: "abefhiklmpruvxBCUX"}
	zsh    = letters{flags: "0123456789adefghijklmpruvwxyBCDEFGHIJKLMNOPQRSTUVWXYZ", long: map[string]bool{"emulate": true}, anyLong: true, sameWord: true}
)

var bashLong = map[string]bool{
	"debug": false, "debugger": false, "init-file": true, "login": false, "noediting": false, "noprofile": false, "norc": false,
	"posix": false, "protected": false, "rcfile": true, "restricted": false, "verbose": false,
}

func (g letters) read(args []string) int {
	stdin, short := false, false
	for len(args) > 0 {
		arg := args[0]
		if arg == "-" || arg == "--" {
			args = args[1:]
			break
		}
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
			break
		}
		args = args[1:]
		if takes, is := g.word(arg, short); is {
			if takes && len(args) == 0 {
				return Unclear
			} else if takes {
				args = args[1:]
			}
			continue
		}
		short = true
		left, how, reads := g.bundle(arg, args)
		if how != Interactive {
			return how
		}
		args, stdin = left, stdin || reads
	}
	if len(args) > 0 && !stdin {
		return Script
	}
	return Interactive
}

// word reports whether an argument is a long option, and whether that takes the next argument.
func (g letters) word(arg string, short bool) (takes, is bool) {
	name, two := strings.CutPrefix(arg, "--")
	if !two {
		name = arg[1:]
	}
	if takes, is = g.long[name]; is {
		return takes, two || !short && arg[0] == '-' && !g.anyLong
	}
	return false, two && g.anyLong && !strings.HasPrefix(name, "help") && !strings.HasPrefix(name, "version")
}

// bundle reads one argument of letters, and gives what is left of those behind it. What reads is set, the operands are not a script.
func (g letters) bundle(arg string, args []string) (left []string, how int, reads bool) {
	for i := 1; i < len(arg); i++ {
		letter := arg[i]
		switch {
		case letter == 'c' && arg[0] == '-':
			return nil, Script, false
		case letter == 's' && arg[0] == '-':
			reads = true
		case letter == 'o' || strings.IndexByte(g.valued, letter) >= 0:
			if letter == 'o' && g.sameWord && i+1 < len(arg) {
				return args, Interactive, reads
			}
			if len(args) == 0 {
				return nil, Unclear, false
			}
			args = args[1:]
		case strings.IndexByte(g.flags, letter) < 0:
			return nil, Unclear, false
		}
	}
	return args, Interactive, reads
}

// csh reads what csh and tcsh take: letters that take nothing, and operands that are a script.
func csh(args []string) int {
	for i, arg := range args {
		switch {
		case len(arg) < 2 || arg[0] != '-':
			return Script
		case arg[1] == 'c' || arg[1] == 'b': // a command; what follows is operands
			return Script
		case strings.Trim(arg[1:], "defilmqsvxFVX") != "":
			return Unclear
		case strings.Contains(arg, "i") && i+1 < len(args):
			return Unclear // it may take operands, and no script
		}
	}
	return Interactive
}

// words is the grammar of shells whose options are whole words.
type words struct {
	// alone take nothing, valued the next argument or what is behind a = in the same word; command runs one, or a script, and ends.
	alone, valued, command string
	// fold compares without case.
	fold bool
}

var (
	fish   = words{"-i --interactive -l --login -il -li -N --no-config -P --private", "-C --init-command -f --features -d --debug -o --debug-output", "-c --command", false}
	elvish = words{"-i -norc --norc", "-rc --rc -log --log -db --db -sock --sock", "-c --c", false}
	nu     = words{"-i --interactive -l --login -il -li -n --no-config-file --no-std-lib --no-history", "-e --execute --config --env-config --plugin-config --log-level --log-target -t --threads -I --include-path -m --table-mode", "-c --commands", false}
	xonsh  = words{"-i --interactive -l --login --no-rc --no-env --no-script-cache --cache-everything", "--shell-type -D -st", "-c", false}
	pwsh   = words{"-login -l -nologo -nol -noprofile -nop -interactive -i -noprofileloadtime", "-workingdirectory -wd -configurationname -config -settingsfile", "-command -c -commandwithargs -cwa -encodedcommand -e -ec -file -f", true}
)

func (g words) read(args []string) int {
	for len(args) > 0 {
		arg := args[0]
		if g.fold {
			arg = strings.ToLower(arg)
		}
		args = args[1:]
		name, _, joined := strings.Cut(arg, "=")
		switch {
		case arg == "" || arg[0] != '-' || arg == "-" || has(g.command, name):
			return Script
		case arg == "--" && len(args) == 0:
		case arg == "--":
			return Script
		case has(g.valued, name) && joined && strings.HasPrefix(name, "--"):
		case has(g.valued, arg) && len(args) > 0:
			args = args[1:]
		case !has(g.alone, arg):
			return Unclear
		}
	}
	return Interactive
}

func has(list, word string) bool {
	for one := range strings.FieldsSeq(list) {
		if one == word {
			return true
		}
	}
	return false
}

// behindPython leaves the interpreter that runs xonsh out: python3 and its flags before the program's own path.
func behindPython(argv []string) []string {
	if !strings.HasPrefix(path.Base(argv[0]), "python") {
		return argv
	}
	for i, arg := range argv[1:] {
		option := strings.HasPrefix(arg, "-")
		if !option && path.Base(arg) == "xonsh" {
			return argv[i+1:]
		}
		if !option || strings.ContainsAny(arg, "cmWX") {
			break
		}
	}
	return []string{argv[0], "-unclear"}
}
