package processes

import (
	"path"
	"slices"
	"strings"
)

// ran is what an interpreter was started to run. All empty means that it is not a file: code in an argument, standard input, or a prompt.
type ran struct {
	// file is the program's file as it was given.
	file string
	// module is a python module, or an npm package that is run by its name.
	module string
}

// script is the base name of the file, "" where it runs no file, and nil for a name that no file can have.
func (r ran) script() *string {
	if r.file == "" {
		return new("")
	}
	name := path.Base(path.Clean(r.file))
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

// parseProgram reads a command line as the interpreter with that file name does, and reports false where it is not understood. What
// comes after the program's file is never looked at.
func parseProgram(exe string, words []string) (ran, bool) {
	as := base(words[0]) // bun stands in for node under its name
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
		return ran{}, false
	}
}

func (l language) parse(args []string) (ran, bool) {
	direct, verb := !l.strict, false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "":
			return ran{}, false // a program that gave itself a title wiped out what was there
		case slices.Contains(l.inline, arg):
			return ran{}, true
		case arg == "--":
			if i+1 == len(args) {
				return ran{}, true
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
	return ran{}, l.strict || !verb
}

// file takes a word for the program where only a program can stand, and elsewhere only when it looks like one.
func (l language) file(arg string, direct bool) (ran, bool) {
	if spec, ok := strings.CutPrefix(arg, "npm:"); ok {
		return ran{module: unversioned(spec)}, true
	}
	if direct || strings.Contains(arg, "/") && !strings.HasPrefix(arg, "@") && !strings.ContainsAny(arg, " \n") || slices.Contains(extensions, path.Ext(arg)) {
		return ran{file: strings.TrimPrefix(arg, "file://")}, true
	}
	return ran{}, l.strict
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
func parsePython(args []string) (ran, bool) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "":
			return ran{}, false
		case arg == "-":
			return ran{}, true
		case arg[0] != '-':
			return ran{file: arg}, true
		case arg == "--check-hash-based-pycs":
			i++
			continue
		case strings.HasPrefix(arg, "--"):
			return ran{}, false
		}
		at := strings.IndexAny(arg, "cmWX")
		if strings.Trim(arg[1:max(at, 1)], pythonFlags) != "" || at < 0 && strings.Trim(arg[1:], pythonFlags) != "" {
			return ran{}, false
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
			return ran{module: startedBy(value)}, true
		case 'm':
			return ran{module: value}, value != ""
		}
	}
	return ran{}, true
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
