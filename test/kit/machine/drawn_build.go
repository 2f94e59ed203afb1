package machine

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

func (d *Drawing) builds() {
	r, main, node := d.acme, d.acme.path, d.program("node")
	dead, older := d.dead, d.older
	const tag = "CACHEDIR.TAG=Signature: 8a477f597d28d172789f06886806bc55"

	made := func(name, why string, files ...string) { d.gone(name, why, dirPart(d.landed(name, squash, files...))) }
	made("dotnet", "landed; bin and obj beside a .csproj", "obj/project.assets.json={}", "obj/Debug/net9.0/acme.dll=x",
		"bin/Debug/net9.0/acme.dll=x")
	made("composer", "landed; vendor by composer", "vendor/composer/installed.json={\"packages\":[]}",
		"vendor/autoload.php=<?php", "vendor/a/b/c.php=<?php")
	made("cargo", "landed; target in the root and in fuzz", "target/"+tag, "target/debug/acme=x", "fuzz/target/"+tag,
		"fuzz/target/debug/fuzz=x")
	made("python", "landed; .venv and caches", ".venv/pyvenv.cfg=home = /usr/bin",
		".venv/lib/python3.12/site-packages/a.py=x", ".pytest_cache/"+tag,
		".mypy_cache/"+tag, ".mypy_cache/3.12/a.json={}", "__pycache__/a.cpython-312.pyc=x")
	made("web", "landed; .next, .turbo, coverage", ".next/BUILD_ID=a", ".next/cache/webpack/0.pack=x",
		".turbo/turbo-build.log=x", "tsconfig.tsbuildinfo={}",
		"coverage/lcov.info=x", "coverage/coverage-final.json={}")
	made("cmake", "landed; CMake's build folder",
		"build/CMakeCache.txt=CMAKE_HOME_DIRECTORY:INTERNAL="+d.inside("cmake"), "build/CMakeFiles/a.dir/a.o=x",
		"build/Makefile=all:",
		"build/acme=x")

	p := r.worktree(d.inside("remnant"), "worktree-remnant", 0)
	r.git(main, "worktree", "remove", p)
	d.write(filepath.Join(p, "node_modules", ".vite", "deps", "_metadata.json"), "{}\n")
	d.must(age(p, time.Hour))
	d.gone("remnant", "the worktree was removed; a late dev server made its cache again", dirPart(p))

	java := d.program("java")
	gradle := order{Argv: []string{java, "-cp", d.Path(".gradle", "wrapper", "dists", "gradle-8.5-bin", "lib",
		"gradle-launcher-8.5.jar"),
		"org.gradle.launcher.daemon.bootstrap.GradleDaemon", "8.5"}, Dir: d.Path(".gradle", "daemon", "8.5"),
		Away: true, Env: dead.env(true)}
	d.must(os.MkdirAll(gradle.Dir, 0o755))
	pid, _ := d.listens(dead.Starter, gradle)
	d.gone("Gradle daemon", "its Claude was killed; it listens, and has no client", pidPart(pid))

	p = d.landed("watched", squash)
	pid = dead.tell(order{Argv: []string{node, d.script("code/acme/.claude/worktrees/watched", "typescript",
		"bin/tsc"), "--watch"}, Dir: p, Away: true, Env: dead.env(true)}, "wait")
	d.left(p)
	d.gone("tsc --watch", "its Claude was killed, its worktree landed", pidPart(pid), dirPart(p))

	p = d.landed("nx", squash)
	socket := d.Path("nx.sock")
	pid, _ = d.listens(dead.Starter, order{Argv: []string{node,
		d.script("code/acme/.claude/worktrees/nx", "nx", "src/daemon/server/start.js")}, Dir: p, Away: true,
		Env: append(dead.env(true), socketVar+"="+socket)})
	d.left(p)
	d.gone("nx daemon", "its Claude was killed, its worktree landed; it listens on a socket, and has no client",
		pidPart(pid), dirPart(p))

	holds := func(name, why, file, text string) {
		p := d.landed(name, squash, file+"="+text)
		d.stays(name, why, dirPart(p), d.filePart(filepath.Join(p, file)))
	}
	holds("results", "build without a maker's mark holds a person's results", "build/results.csv", "1,2,3")
	holds("release", "dist holds a release that a person packed by hand", "dist/acme-1.0.zip", "PK")
	holds("measured", "target without CACHEDIR.TAG holds measurements", "target/measurements.json", "{\"ms\":1}")

	p = d.landed("editable", squash, ".venv/pyvenv.cfg=home = /usr/bin")
	lib := filepath.Join(p, ".venv", "src", "lib")
	r.git(d.Home, "clone", "-q", main+".remote", lib)
	d.write(filepath.Join(lib, "own.txt"), "own\n")
	r.commit(lib, "own", 2*day)
	d.stays("clone in .venv", "pip install -e put it there; it has a commit of its own", dirPart(d.left(p)),
		d.filePart(filepath.Join(lib, "own.txt")))

	linked := d.Path("dev", "lib", "index.js")
	d.write(linked, "// mine\n")
	p = d.landed("linked", squash, "node_modules/.package-lock.json={}")
	d.must(os.Symlink(filepath.Dir(linked), filepath.Join(p, "node_modules", "lib")))
	d.left(p)
	d.stays("npm link", "node_modules links to a person's own folder", d.filePart(linked))

	make, flock := d.parents(older.Starter, order{Argv: []string{d.program("make"), "all"}, Dir: main,
		Env: older.env(true), Away: true}, "wait", d.program("flock"), "build.lock")
	d.stays("sleeping build", "it waits for a lock, below a live agent", pidPart(make), pidPart(flock))

	says := d.file()
	dev := d.terminal(main, []string{roleVar + "=listen", saysVar + "=" + says}, d.program("npm"), "run", "dev")
	d.heard(says)
	d.stays("a person's dev server", "it runs in a person's terminal", pidPart(dev))

	pid, at := d.listens(dead.Starter, gradle)
	idea := d.person(main)
	says = d.file()
	client := idea.tell(order{Argv: []string{d.program("idea")}, Dir: main, Away: true,
		Env: []string{peerVar + "=" + at, saysVar + "=" + says}}, "connect")
	d.heard(says)
	d.stays("Gradle daemon with a client", "a person's IDE is connected", pidPart(pid), pidPart(client))

	holds("database", "a database that stands nowhere else", "dev.db", "rows")

	var kept []Thing
	for _, f := range []string{"node_modules/.package-lock.json={}", "node_modules/vite/index.js=x",
		".venv/pyvenv.cfg=home = /usr/bin", "target/" + tag, "target/debug/acme=x"} {
		name, text, _ := strings.Cut(f, "=")
		d.write(filepath.Join(main, name), text)
		kept = append(kept, d.filePart(filepath.Join(main, name)))
	}
	d.must(age(filepath.Join(main, "node_modules"), 2*day))
	d.stays("main checkout", "it is a person's own, with what its builds made", append(kept, dirPart(main))...)
}
