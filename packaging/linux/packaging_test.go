// Package packaging has what packages of winnow are made of, and the tests that make one and install it.
package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// version is what the test's program is stamped with.
const version = "1.2.3"

// TestTheDebInstallsInACleanRoot makes the deb as a release does, installs it in a root that has nothing else, runs the program in it, and removes it. Where
// dpkg may not install (it must be root for that), the package is unpacked.
func TestTheDebInstallsInACleanRoot(t *testing.T) {
	stage.NeedSecond(t, "it needs programs beside Go, git and tmux, or minutes")
	t.Parallel()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("there is no dpkg-deb")
	}
	main := must.Get(filepath.Abs("../.."))(t)
	out, home := t.TempDir(), t.TempDir()
	program := filepath.Join(out, "winnow")
	run(t, main, nil, "go", "build", "-ldflags", "-X main.stamped=v"+version, "-o", program, "./cmd/winnow")
	run(t, main, nil, "packaging/linux/generate.sh", program, out)
	nfpm := strings.TrimSpace(run(t, main, nil, "go", "tool", "-n", "-modfile=tools/nfpm/go.mod", "nfpm"))
	deb := filepath.Join(out, "winnow.deb")
	run(t, main, []string{"OUT=" + out, "VERSION=" + version, "GOARCH=" + runtime.GOARCH}, nfpm, "package", "-f", "packaging/linux/nfpm.yaml", "-p", "deb", "-t", deb)

	root := t.TempDir()
	dpkg := []string{"dpkg", "--root=" + root, "--force-script-chrootless", "--log=/dev/null"}
	if os.Geteuid() == 0 {
		for _, dir := range []string{"info", "updates", "triggers"} {
			must.Do(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755))
		}
		must.Do(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
		run(t, out, nil, append(dpkg, "--install", deb)...)
	} else {
		run(t, out, nil, "dpkg-deb", "-x", deb, root)
	}

	said := run(t, home, []string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME="}, filepath.Join(root, "usr/bin/winnow"), "version")
	if !strings.HasPrefix(said, "winnow v"+version+" ") {
		t.Errorf("winnow version: %s", said)
	}
	for path, mode := range map[string]os.FileMode{
		"usr/bin/winnow": 0o755, "usr/lib/systemd/user/winnow.service": 0o644, "usr/lib/systemd/system/winnow@.service": 0o644,
		"usr/lib/systemd/user/winnow-sweep.timer": 0o644, "usr/lib/systemd/system/winnow-sweep@.timer": 0o644,
		"usr/share/man/man1/winnow.1.gz": 0o644, "usr/share/man/man1/winnow-service-install.1.gz": 0o644, "usr/share/man/man5/winnow-config.5.gz": 0o644,
		"usr/share/bash-completion/completions/winnow": 0o644, "usr/share/zsh/vendor-completions/_winnow": 0o644,
		"usr/share/fish/vendor_completions.d/winnow.fish": 0o644, "usr/share/doc/winnow/copyright": 0o644,
	} {
		if st := must.Get(os.Lstat(filepath.Join(root, path)))(t); st.Mode() != mode || st.Size() == 0 {
			t.Errorf("%s: %v, %d bytes", path, st.Mode(), st.Size())
		}
	}
	if page := run(t, out, nil, "gzip", "-dc", filepath.Join(root, "usr/share/man/man1/winnow.1.gz")); !strings.Contains(page, "winnow v"+version) {
		t.Errorf("the manual page does not say the version: %.200s", page)
	}

	if os.Geteuid() != 0 {
		return
	}
	wants := filepath.Join(root, "etc/systemd/system/multi-user.target.wants")
	must.Do(t, os.MkdirAll(wants, 0o755))
	must.Do(t, os.Symlink("/usr/lib/systemd/system/winnow@.service", wants+"/winnow@ann.service"))
	must.Do(t, os.Symlink("/etc/systemd/system/winnow@.service", wants+"/winnow@bob.service")) // one that the package did not bring
	timers := filepath.Join(root, "etc/systemd/system/timers.target.wants")                    // the package's timer was enabled, and install wrote another one in its place
	must.Do(t, os.MkdirAll(timers, 0o755))
	must.Do(t, os.Symlink("/usr/lib/systemd/system/winnow-sweep@.timer", timers+"/winnow-sweep@eve@example.org.timer"))
	must.Do(t, os.WriteFile(filepath.Join(root, "etc/systemd/system/winnow-sweep@.timer"), nil, 0o644))
	for name, unit := range map[string]string{"default.target.wants/winnow.service": "winnow.service", "timers.target.wants/winnow-sweep.timer": "winnow-sweep.timer"} {
		link := filepath.Join(root, "etc/systemd/user", name) // systemctl --global enable
		must.Do(t, os.MkdirAll(filepath.Dir(link), 0o755))
		must.Do(t, os.Symlink("/usr/lib/systemd/user/"+unit, link))
	}
	run(t, out, nil, append(dpkg, "--remove", "winnow")...)
	left := strings.Fields(run(t, root, nil, "find", ".", "-not", "-type", "d", "-not", "-path", "./var/lib/dpkg/*"))
	slices.Sort(left)
	must.Equal(t, []string{"./etc/systemd/system/multi-user.target.wants/winnow@bob.service", "./etc/systemd/system/timers.target.wants/winnow-sweep@eve@example.org.timer",
		"./etc/systemd/system/winnow-sweep@.timer"}, left, "what the removed package left")
}

// run runs a command and gives its output; it ends the test where the command fails.
func run(t *testing.T, dir string, env []string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s%s", strings.Join(command, " "), err, out, complaint.String())
	}
	return string(out)
}

// content is a file in a package.
type content struct {
	Src, Dst, Packager string
	Info               struct{ Mode int } `yaml:"file_info"`
}

// described is what nfpm.yaml and the nfpms of .goreleaser.yaml both say.
type described struct {
	Section, Priority, Maintainer, Description, Homepage, License string
	Recommends, Suggests                                          []string
	Contents                                                      []content
	Scripts                                                       map[string]string
}

// TestAReleaseMakesTheSamePackages holds what goreleaser packs to what nfpm.yaml packs, which is what the other test installs.
func TestAReleaseMakesTheSamePackages(t *testing.T) {
	t.Parallel()
	var one described
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("nfpm.yaml"))(t), &one))
	var release struct {
		Builds []struct {
			Env, Ldflags []string
		}
		Nfpms []struct {
			described `yaml:",inline"`
			Bindir    string
		}
	}
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("../../.goreleaser.yaml"))(t), &release))
	if len(release.Nfpms) != 1 || len(release.Builds) != 1 {
		t.Fatalf("%+v", release)
	}
	program := content{Src: "${OUT}/winnow", Dst: release.Nfpms[0].Bindir + "/winnow"}
	program.Info.Mode = 0o755
	if !slices.Contains(one.Contents, program) {
		t.Errorf("%+v is not in %+v", program, one.Contents)
	}
	one.Contents = slices.DeleteFunc(one.Contents, func(c content) bool { return c == program })
	for i := range one.Contents {
		one.Contents[i].Src = strings.Replace(one.Contents[i].Src, "${OUT}/", "packaging/out/", 1)
	}
	must.Equal(t, one, release.Nfpms[0].described, "packages")
	if b := release.Builds[0]; !slices.Contains(b.Env, "CGO_ENABLED=0") || !regexp.MustCompile(`-X main\.stamped=v\{\{ \.Version }}`).MatchString(strings.Join(b.Ldflags, " ")) {
		t.Errorf("the build of a release is not static, or has no version: %+v", b)
	}
}

// TestEveryUnitIsPacked: a unit that is made is in the packages.
func TestEveryUnitIsPacked(t *testing.T) {
	t.Parallel()
	var one described
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("nfpm.yaml"))(t), &one))
	units := must.Get(filepath.Glob("systemd/*/*"))(t)
	if len(units) != 6 {
		t.Errorf("%d units: %v", len(units), units)
	}
	for _, u := range units {
		if !slices.ContainsFunc(one.Contents, func(c content) bool {
			return c.Src == "packaging/linux/"+u && c.Dst == "/usr/lib/"+u
		}) {
			t.Errorf("%s is in no package", u)
		}
	}
}
