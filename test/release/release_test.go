// Package release_test makes a release as goreleaser does, with nothing published, and takes each way by which people get the program from it.
package release_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

const (
	version = "1.2.3"
	needs   = "it builds goreleaser and the program"
	root    = "../.."
)

// shell runs a script with this environment and gives what it prints, and whether it ended well.
func shell(t *testing.T, dir string, env []string, script string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func mustShell(t *testing.T, dir string, env []string, script string, args ...string) string {
	t.Helper()
	out, ok := shell(t, dir, env, script, args...)
	if !ok {
		t.Fatalf("%s\n%s", script, out)
	}
	return out
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(parts...)))(t))
}

// released makes the files of a release of this tree, for this processor alone.
func released(t *testing.T) (dist string) {
	t.Helper()
	top := must.Get(filepath.Abs(root))(t)
	goreleaser := strings.TrimSpace(mustShell(t, top, os.Environ(), "go tool -n -modfile=tools/goreleaser/go.mod goreleaser"))
	tree := filepath.Join(t.TempDir(), "winnow")
	must.Do(t, os.Mkdir(tree, 0o755))
	mustShell(t, top, os.Environ(), `git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - 2>/dev/null | tar -x -C "$1"`, tree)
	config := read(t, tree, ".goreleaser.yaml")
	one := strings.Replace(config, "goarch: [amd64, arm64]", "goarch: ["+runtime.GOARCH+"]", 1)
	if one == config {
		t.Fatal("a release is not for amd64 and arm64")
	}
	must.Do(t, os.WriteFile(filepath.Join(tree, ".goreleaser.yaml"), []byte(one), 0o644))
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	mustShell(t, tree, env, "git init -q -b main && git add -A && git commit -qm release && git tag v"+version+" && git remote add origin https://github.com/winnow-reaper/winnow")
	if out, ok := shell(t, tree, env, `"$1" check && "$1" release --clean --skip=publish,announce,docker`, goreleaser); !ok {
		t.Fatal(out)
	}
	return filepath.Join(tree, "dist")
}

// TestMakeInstall puts the program of this tree and what belongs to it into a root that has nothing else.
func TestMakeInstall(t *testing.T) {
	stage.NeedSecond(t, needs)
	t.Parallel()
	stage.NeedProgram(t, "make")
	to, out := t.TempDir(), t.TempDir()
	mustShell(t, root, os.Environ(), `make -s install out="$1" DESTDIR="$2" PREFIX=/usr VERSION=`+version, out, to)
	if said := mustShell(t, to, []string{"HOME=" + out}, "usr/bin/winnow version"); !strings.HasPrefix(said, "winnow v"+version+" ") {
		t.Error(said)
	}
	for _, name := range []string{"man/man1/winnow.1.gz", "bash-completion/completions/winnow", "zsh/site-functions/_winnow", "fish/vendor_completions.d/winnow.fish"} {
		if st, err := os.Stat(filepath.Join(to, "usr/share", name)); err != nil || st.Mode() != 0o644 || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestARelease holds the files of a release to each other, and installs from them in places that have nothing else.
func TestARelease(t *testing.T) {
	stage.NeedSecond(t, needs)
	t.Parallel()
	dist := released(t)
	archive := "winnow_" + version + "_linux_" + runtime.GOARCH + ".tar.gz"
	sums := read(t, dist, "checksums.txt")
	mustShell(t, dist, os.Environ(), "sha256sum -c checksums.txt")
	sum := regexp.MustCompile(`([0-9a-f]{64})  ` + regexp.QuoteMeta(archive)).FindStringSubmatch(sums)
	if sum == nil || strings.Count(sums, ".deb\n") != 1 || strings.Count(sums, ".rpm\n") != 1 || !strings.Contains(sums, ".cdx.json\n") {
		t.Fatalf("the list has not each file of a release:\n%s", sums)
	}
	members := strings.Fields(mustShell(t, dist, os.Environ(), `tar -tzf "$1"`, archive))
	inside := strings.Join(members, " ")
	address := "https://github.com/winnow-reaper/winnow/releases/download/v" + version + "/" + archive
	for file, wants := range map[string][]string{
		"homebrew/Casks/winnow.rb": {`binary "winnow"`, `manpage "man/winnow.1.gz"`, sum[1], "github.com/winnow-reaper/winnow/releases/download/v#{version}/winnow_#{version}_linux_"},
		"aur/winnow-bin.pkgbuild":  {"pkgname='winnow-bin'", sum[1], "github.com/winnow-reaper/winnow/releases/download/v${pkgver}/winnow_${pkgver}_linux_"},
	} {
		text := read(t, dist, file)
		for _, want := range wants {
			if !strings.Contains(strings.ReplaceAll(text, version, "${pkgver}"), want) && !strings.Contains(text, want) {
				t.Errorf("%s does not have %q:\n%s", file, want, text)
			}
		}
	}
	if out, ok := shell(t, dist, os.Environ(), "bash -n aur/winnow-bin.pkgbuild"); !ok {
		t.Error(out)
	}
	lists(t, dist)
	// What the AUR's package and the cask take out of the archive is in it.
	for _, name := range []string{"winnow", "LICENSE", "man/winnow.1.gz", "completions/winnow.bash", "completions/_winnow", "completions/winnow.fish",
		"packaging/linux/systemd/user/winnow.service", "packaging/linux/systemd/system/winnow@.service"} {
		if !strings.Contains(" "+inside+" ", " "+name+" ") {
			t.Errorf("%s is not in the archive of %s", name, address)
		}
	}
	t.Run("install.sh", func(t *testing.T) { installs(t, dist, archive) })
	t.Run("the AUR's package", func(t *testing.T) { packs(t, dist, archive) })
	t.Run("the image", func(t *testing.T) { images(t, dist, archive) })
}

// lists holds the list of what is in the program (SBOM) to what the program itself says.
func lists(t *testing.T, dist string) {
	t.Helper()
	var list struct {
		BomFormat  string
		Components []struct{ Name, Version string }
	}
	must.Do(t, json.Unmarshal([]byte(read(t, dist, "winnow_"+version+"_linux_"+runtime.GOARCH+".cdx.json")), &list))
	if list.BomFormat != "CycloneDX" {
		t.Errorf("the list's format is %q", list.BomFormat)
	}
	has := map[string]bool{}
	for _, c := range list.Components {
		has[c.Name+" "+c.Version] = true
	}
	n := 0
	for line := range strings.Lines(mustShell(t, dist, os.Environ(), "go version -m winnow_linux_*/winnow")) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "dep" {
			continue
		}
		if n++; !has[f[1]+" "+f[2]] {
			t.Errorf("%s %s is in the program and not in the list", f[1], f[2])
		}
	}
	if std := "std " + runtime.Version(); n < 20 || !has[std] {
		t.Errorf("%d modules, and %s is in the list: %v", n, std, has[std])
	}
}

// installs runs install.sh as a person does, and as a dev container does, against a folder that looks as the releases do.
func installs(t *testing.T, dist, archive string) {
	releases, home := t.TempDir(), t.TempDir()
	mustShell(t, dist, os.Environ(), `mkdir -p "$1/download/v`+version+`" "$1/latest" && cp checksums.txt "$2" "$1/download/v`+version+`" && ln -s ../download/v`+version+` "$1/latest/download"`, releases, archive)
	script := must.Get(filepath.Abs(filepath.Join(root, "packaging/feature/winnow/install.sh")))(t)
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + home, "INSTALL_FROM=file://" + releases, "TMPDIR=" + t.TempDir()}
	to := filepath.Join(home, "bin")
	for _, ask := range []string{"", "--version " + version, "--version v" + version} {
		out := mustShell(t, home, env, `sh "$1" --to "$2" `+ask, script, to)
		if !strings.Contains(out, "installed "+to+"/winnow\nwinnow v"+version+" ") || !strings.Contains(out, to+" is not on PATH") {
			t.Errorf("%q: %s", ask, out)
		}
		must.Do(t, os.Remove(filepath.Join(to, "winnow")))
	}
	for ask, says := range map[string]string{
		"--version 7.7.7": "/download/v7.7.7/checksums.txt could not be fetched", "--version ../x": "../x is no version", "--from x": "--from is no option",
	} {
		if out, ok := shell(t, home, env, `sh "$1" --to "$2" `+ask, script, to); ok || !strings.Contains(out, says) {
			t.Errorf("%s: %s", ask, out)
		}
	}
	// A dev container gives the version as a variable, without arguments.
	feature := append(env, "_REMOTE_USER=vscode", "VERSION=8.8.8")
	if out, ok := shell(t, home, feature, `sh "$1"`, script); ok || !strings.Contains(out, "/download/v8.8.8/") {
		t.Errorf("the Feature's version is not taken: %s", out)
	}
	var about struct {
		ID, Version, Name string
		Options           map[string]struct{ Type, Default string }
	}
	must.Do(t, json.Unmarshal([]byte(read(t, filepath.Dir(script), "devcontainer-feature.json")), &about))
	if about.ID != filepath.Base(filepath.Dir(script)) || about.Options["version"].Default != "latest" || about.Version == "" || about.Name == "" {
		t.Errorf("%+v", about)
	}
	must.Do(t, os.WriteFile(filepath.Join(releases, "download", "v"+version, archive), []byte("another file"), 0o644))
	out, ok := shell(t, home, env, `sh "$1" --to "$2"`, script, to)
	if _, err := os.Lstat(filepath.Join(to, "winnow")); ok || err == nil || !strings.Contains(out, "is not what checksums.txt says") {
		t.Errorf("an archive that was changed: %v %s", err, out)
	}
}

// packs runs the package function of the PKGBUILD on the archive.
func packs(t *testing.T, dist, archive string) {
	dir := t.TempDir()
	mustShell(t, dir, append(os.Environ(), "pkgdir="+dir+"/pkg"), `tar -xzf "$1" && bash -ec '. "$0"; package' "$2"`, filepath.Join(dist, archive), filepath.Join(dist, "aur/winnow-bin.pkgbuild"))
	for _, name := range []string{"usr/bin/winnow", "usr/lib/systemd/user/winnow.service", "usr/lib/systemd/system/winnow@.service", "usr/share/man/man1/winnow.1.gz",
		"usr/share/bash-completion/completions/winnow", "usr/share/licenses/winnow/LICENSE"} {
		if st, err := os.Stat(filepath.Join(dir, "pkg", name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// images makes the image's root as the Dockerfile says, and checks policies in it, where nothing else is.
func images(t *testing.T, dist, archive string) {
	dir := t.TempDir()
	mustShell(t, dir, os.Environ(), `mkdir -p context/linux/x && tar -xzf "$1" -C context/linux/x winnow && cp "$2/LICENSE" context`, filepath.Join(dist, archive), must.Get(filepath.Abs(root))(t))
	from, env := false, []string{"PATH=" + os.Getenv("PATH")}
	for line := range strings.Lines(read(t, root, "packaging/image/Dockerfile")) {
		f := strings.Fields(strings.ReplaceAll(line, "$TARGETPLATFORM", "linux/x"))
		switch {
		case len(f) == 0 || f[0] == "#" || f[0] == "ARG":
		case f[0] == "FROM" && f[1] == "scratch":
			from = true
		case f[0] == "WORKDIR":
			must.Do(t, os.MkdirAll(filepath.Join(dir, "root", f[1]), 0o755))
		case f[0] == "ENV":
			env = append(env, f[1])
		case f[0] == "COPY":
			mustShell(t, dir, os.Environ(), `mkdir -p "root$(dirname "$2")" && cp "context/$1" "root$2"`, f[1], f[2])
		case f[0] == "ENTRYPOINT" && f[1] == `["/usr/bin/winnow"]`:
		default:
			t.Fatalf("%q is more than this test knows", line)
		}
	}
	if !from {
		t.Error("the image is not made from scratch")
	}
	if out, ok := shell(t, dir, os.Environ(), `unshare -rmpf true`); !ok {
		t.Skipf("this machine allows no namespaces here: %s", out)
	}
	must.Do(t, os.CopyFS(filepath.Join(dir, "root/repository"), os.DirFS(filepath.Join(root, "examples/team-policies"))))
	must.Do(t, os.Mkdir(filepath.Join(dir, "root/proc"), 0o755))
	out := mustShell(t, dir, env, `unshare -rmpf sh -ec 'mount -t proc proc root/proc; for check in check test; do chroot root /usr/bin/winnow policy $check /repository/policies; done'`)
	if !strings.Contains(out, "ok: ") {
		t.Error(out)
	}
}
