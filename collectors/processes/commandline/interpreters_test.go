package commandline

import (
	"strings"
	"testing"
)

func TestParseProgram(t *testing.T) {
	t.Parallel()
	const unknown = "?"
	for line, want := range map[string]string{
		// What is in front of the program is the interpreter's; what comes behind it is never looked at.
		"node /x/app.js": "/x/app.js",
		"node server":    "server",
		"node --max-old-space-size=4096 /x/.bin/gemini -p hi":  "/x/.bin/gemini",
		"node --no-warnings /x/app":                            "/x/app",
		"node --no-warnings app.mjs":                           "app.mjs",
		"node --a-new-option words of a prompt":                unknown,
		"node --require ./pre.cjs --import file:///l.mjs a.ts": "a.ts",
		"node --inspect --watch server":                        "server",
		"node -r pre words":                                    "words",
		"node inspect app.js":                                  "app.js",
		"node -- app":                                          "app",
		"node -e secret.js":                                    "",
		"node --no-warnings -p secret.js":                      "",
		"node -":                                               "",
		"node":                                                 "",
		"node --test":                                          "",
		"node  app.js":                                         unknown, // an empty word: wiped out
		"nodejs /x/app.js":                                     "/x/app.js",

		"bun /x/app.ts":                     "/x/app.ts",
		"bun run src/index.ts":              "src/index.ts",
		"bun --bun run /x/.bin/opencode":    "/x/.bin/opencode",
		"bun dev":                           "",
		"bun run dev":                       "",
		"bun x @google/gemini-cli":          "",
		"bun -e secret.js":                  "",
		"bun install":                       "",
		"deno run -A main.ts":               "main.ts",
		"deno task dev":                     "",
		"deno run -A npm:@scope/name@1/bin": "module @scope/name",
		"deno run npm:name@latest":          "module name",
		"deno eval secret.js":               "",

		"python3 /x/app.py":            "/x/app.py",
		"python3.12 -u -W ignore a.py": "a.py",
		"python3 -Wignore a.py":        "a.py",
		"python3 -m http.server 80":    "module http.server",
		"python3 -um http.server":      "module http.server",
		"python3 -mpytest":             "module pytest",
		"python3 -c secret.py":         "",
		"python3 -Ic secret.py":        "",
		"python3 -":                    "",
		"python3":                      "",
		"python3 --no-such a.py":       unknown,
		"python3 -Y a.py":              unknown,
		"pypy3 a.py":                   "a.py",

		"ruby a.rb": unknown,
	} {
		words := strings.Split(line, " ")
		got := unknown
		if ran, ok := ParseProgram(words[0], words); ok {
			if got = ran.File; ran.Module != "" {
				got = "module " + ran.Module
			}
		}
		if got != want {
			t.Errorf("%q runs %q, want %q", line, got, want)
		}
	}
}

func TestBunInThePlaceOfNode(t *testing.T) {
	t.Parallel()
	if got, ok := ParseProgram("bun", []string{"node", "server"}); !ok || got.File != "server" {
		t.Errorf("got %+v, %v", got, ok)
	}
	if got, ok := ParseProgram("bun", []string{"another", "server"}); ok {
		t.Errorf("got %+v of an unknown name", got)
	}
}

func TestPackageName(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"/usr/lib/node_modules/@google/gemini-cli/dist/index.js":  "@google/gemini-cli",
		"/usr/lib/node_modules/npm/bin/npx-cli.js":                "npm",
		"/x/node_modules/a/node_modules/@b/c/d.js":                "@b/c",
		"/x/node_modules/.pnpm/a@1/node_modules/a/cli.js":         "a",
		"/x/node_modules/.bin/gemini":                             "",
		"/x/node_modules/cli.js":                                  "",
		"/x/node_modules/a/node_modules/.bin/b":                   "",
		"/x/node_modules/@b":                                      "",
		"/x/.venv/lib/python3.12/site-packages/aider/__main__.py": "aider",
		"/usr/lib/python3/dist-packages/aider/main.py":            "aider",
		"/x/app.js":    "",
		"node_modules": "",
		"":             "",
	} {
		if got := Package(file); got != want {
			t.Errorf("%q is of %q, want %q", file, got, want)
		}
	}
}

// TestMultiprocessing knows the processes of python's own package by the code that it gives them, as python 3.11 was seen to.
func TestMultiprocessing(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=4, pipe_handle=6)":                 "multiprocessing",
		"from multiprocessing.resource_tracker import main;main(3)":                                             "multiprocessing",
		"from multiprocessing.forkserver import main; main(3, 5, ['__main__'], **{'sys_path': ['/w', '/usr']})": "multiprocessing",
		"from multiprocessing.pool import Pool; secret()":                                                       "",
		"import multiprocessing": "",
	} {
		got, ok := ParseProgram("python3.11", []string{"python3", "-c", code, "--multiprocessing-fork"})
		if !ok || got.Module != want || got.File != "" {
			t.Errorf("%q: %+v, %v", code, got, ok)
		}
	}
}
