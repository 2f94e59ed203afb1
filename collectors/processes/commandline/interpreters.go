package commandline

import (
	"path"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// maxName is the longest name that a file can have.
const maxName = 255

// Program is what an interpreter was started to run. All empty means that it is not a file: code in an argument, standard input, or a prompt.
type Program struct {
	// File is the program's file as it was given.
	File string
	// Module is a python module, or an npm package that is run by its name.
	Module string
}

// Script is the base name of the file, "" where it runs no file, and nil for a name that no file can have.
func (r Program) Script() *string {
	if r.File == "" {
		return new("")
	}
	name := path.Base(path.Clean(r.File))
	if len(name) > maxName || name == "." || name == "/" || name == ".." {
		return nil
	}
	return &name
}

// language says how a family of interpreters reads its command line.
type language struct {
	// takes are options whose value is the next word. inline are those that are followed by code, so that no file is run.
	takes, inline []string
	// flags are the beginnings of options without a value. verbs may stand before the file.
	flags, verbs []string
	// strict is true where a first word may be something else than a file: a task or a command, which runs no file in this process.
	strict bool
}

var (
	nodeWords = language{
		takes: []string{
			"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file", "--env-file-if-exists",
			"--input-type", "--title", "--icu-data-dir", "--openssl-config", "--watch-path", "--experimental-config-file",
		},
		inline: []string{"-e", "--eval", "-p", "--print", "-pe", "-i", "--interactive", "-"},
		flags: []string{
			"--inspect", "--no-", "--trace-", "--enable-", "--experimental-", "--expose", "--watch", "--preserve-", "--use-", "--harmony", "--test",
			"--abort-", "--frozen-", "--jitless", "--throw-", "--prof", "--permission", "--allow-",
		},
		verbs: []string{"inspect"},
	}
	bunWords = language{
		takes: []string{
			"-r", "--preload", "--require", "--import", "-c", "--config", "--cwd", "--env-file", "-d", "--define", "--conditions", "--port",
			"-F", "--filter", "-l", "--loader", "--tsconfig-override",
		},
		inline: []string{"-e", "--eval", "-p", "--print", "-"},
		verbs:  []string{"run"},
		strict: true,
	}
	denoWords = language{
		takes:  []string{"-c", "--config", "--import-map", "--lock", "--env-file", "-L", "--log-level", "--cert", "--seed", "--location"},
		inline: []string{"-"},
		verbs:  []string{"run", "serve"},
		strict: true,
	}
)

// ParseProgram reads a command line as the interpreter with that file name does, and reports false where it is not understood. What
// comes after the program's file is never looked at.
func ParseProgram(exe string, words []string) (Program, bool) {
	as := BaseName(words[0]) // bun stands in for node under its name
	switch args := words[1:]; {
	case strings.HasPrefix(exe, "python"), strings.HasPrefix(exe, "pypy"):
		return parsePython(args)
	case strings.HasPrefix(exe, "node"), strings.HasPrefix(exe, "bun") && strings.HasPrefix(as, "node"):
		return nodeWords.parse(args)
	case strings.HasPrefix(exe, "bun") && strings.HasPrefix(as, "bun"):
		return bunWords.parse(args)
	case exe == "deno":
		return denoWords.parse(args)
	default:
		return Program{}, false
	}
}

func (l language) parse(args []string) (Program, bool) {
	direct, verb := !l.strict, false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "":
			return Program{}, false // a program that gave itself a title wiped out what was there
		case slices.Contains(l.inline, arg):
			return Program{}, true
		case arg == "--":
			if i+1 == len(args) {
				return Program{}, true
			}
			direct = true
		case slices.Contains(l.takes, arg):
			i++
		case arg[0] == '-':
			// One that is not known may take the next word as its value: what follows has to look like a file.
			direct = direct && (strings.Contains(arg, "=") || slices.ContainsFunc(l.flags, func(f string) bool { return strings.HasPrefix(arg, f) }))
		case !verb && slices.Contains(l.verbs, arg):
			verb = true
		default:
			return l.file(arg, direct)
		}
	}
	return Program{}, l.strict || !verb
}

// file takes a word for the program where only a program can stand, and elsewhere only when it looks like one.
func (l language) file(arg string, direct bool) (Program, bool) {
	if spec, ok := strings.CutPrefix(arg, "npm:"); ok {
		return Program{Module: unversioned(spec)}, true
	}
	if direct || strings.Contains(arg, "/") && !strings.HasPrefix(arg, "@") && !strings.ContainsAny(arg, " \n") || slices.Contains(extensions, path.Ext(arg)) {
		return Program{File: strings.TrimPrefix(arg, "file://")}, true
	}
	return Program{}, l.strict
}

var extensions = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"}

// unversioned is the name in an npm specifier such as @scope/name@1.2/bin.
func unversioned(spec string) string {
	parts := strings.SplitN(strings.TrimPrefix(spec, "/"), "/", 3)
	name := parts[0]
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		rest, _, _ := strings.Cut(parts[1], "@")
		return name + "/" + rest
	}
	name, _, _ = strings.Cut(name, "@")
	return name
}

// parsePython goes by python(1): options are letters that can stand together, and c, m, W and X take the rest of the word or the next.
func parsePython(args []string) (Program, bool) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "":
			return Program{}, false
		case arg == "-":
			return Program{}, true
		case arg[0] != '-':
			return Program{File: arg}, true
		case arg == "--check-hash-based-pycs":
			i++
			continue
		case strings.HasPrefix(arg, "--"):
			return Program{}, false
		}
		at := strings.IndexAny(arg, "cmWX")
		if strings.Trim(arg[1:max(at, 1)], pythonFlags) != "" || at < 0 && strings.Trim(arg[1:], pythonFlags) != "" {
			return Program{}, false
		}
		if at < 0 {
			continue
		}
		value := arg[at+1:]
		if value == "" && i+1 < len(args) {
			i++
			value = args[i]
		}
		switch arg[at] {
		case 'c':
			return Program{Module: startedBy(value)}, true
		case 'm':
			return Program{Module: value}, value != ""
		}
	}
	return Program{}, true
}

// startedBy is multiprocessing for the code by which that python package starts its processes, and "" for any other.
func startedBy(code string) string {
	for _, begins := range []string{
		"from multiprocessing.spawn import spawn_main; spawn_main(", "from multiprocessing.forkserver import main; main(",
		"from multiprocessing.resource_tracker import main;main(",
	} {
		if strings.HasPrefix(code, begins) {
			return "multiprocessing"
		}
	}
	return ""
}

const pythonFlags = "bBdEhiIOPqRsSuvVx?"

// Package is the package in whose folder a file lies, with its scope: what follows the last node_modules, site-packages or
// dist-packages of its path. A folder in there that begins with a dot holds links or other packages, and does not count.
func Package(file string) string {
	parts := strings.Split(file, "/")
	for i := len(parts) - 2; i > 0; i-- {
		name := parts[i]
		switch {
		case strings.HasPrefix(name, "."):
		case parts[i-1] == "node_modules" && strings.HasPrefix(name, "@"):
			if i+2 < len(parts) {
				return name + "/" + parts[i+1]
			}
		case parts[i-1] == "node_modules", parts[i-1] == "site-packages", parts[i-1] == "dist-packages":
			return name
		case name == "node_modules", name == "site-packages", name == "dist-packages":
			return "" // a file that lies in there by itself
		}
	}
	return ""
}

// BaseName is the name of the file at a path, that of an executable too which was replaced. npm's packages put an .exe at the end of some,
// bun's and agents', on every system.
func BaseName(file string) string {
	return strings.TrimSuffix(path.Base(strings.TrimSuffix(file, proc.Deleted)), ".exe")
}
