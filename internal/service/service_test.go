package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// shapes are all units there are.
func shapes(program string) []Unit {
	var all []Unit
	for _, instances := range []bool{false, true} {
		for _, timer := range []bool{false, true} {
			all = append(all, Unit{Program: program, Instances: instances, Timer: timer, Every: 5 * time.Minute})
		}
	}
	return all
}

// TestOnlyTheCommandAndTheIntervalChange: all else is what the package has.
func TestOnlyTheCommandAndTheIntervalChange(t *testing.T) {
	t.Parallel()
	for _, u := range shapes("/opt/winnow") {
		u.Apply, u.Flags, u.Every = true, []string{"--state", "/a b"}, 7*time.Minute
		dir := filepath.Join("../../packaging/linux/systemd", map[bool]string{false: "user", true: "system"}[u.Instances])
		for _, f := range must.Get(u.Files())(t) {
			want := []string{Mark}
			for i, line := range strings.Split(string(must.Get(os.ReadFile(filepath.Join(dir, f.Name)))(t)), "\n") {
				if words, ok := strings.CutPrefix(line, "ExecStart=/usr/bin/winnow run"); ok {
					line = `ExecStart=/opt/winnow --state "/a b" run` + words + " --apply"
				}
				if strings.HasSuffix(f.Name, ".timer") {
					line = strings.NewReplacer("300s", "420s", "DelaySec=30s", "DelaySec=42s").Replace(line)
				}
				if i > 0 {
					want = append(want, line)
				}
			}
			must.Equal(t, strings.Join(want, "\n"), string(f.Text), "%s", f.Name)
		}
	}
}

// TestNoUnitMakesANamespace: winnow in a mount or user namespace of its own would see the processes of people as strangers. The settings
// are those of systemd.exec(5) that make one.
func TestNoUnitMakesANamespace(t *testing.T) {
	t.Parallel()
	for _, u := range shapes("/usr/bin/winnow") {
		for _, f := range must.Get(u.Files())(t) {
			for line := range strings.Lines(string(f.Text)) {
				name, _, _ := strings.Cut(line, "=")
				for _, bad := range []string{"ProtectSystem", "ProtectHome", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups",
					"ProtectProc", "ProcSubset", "ProtectHostname", "PrivateTmp", "PrivateDevices", "PrivateUsers", "PrivateMounts", "PrivateNetwork", "PrivateIPC", "PrivatePIDs",
					"ReadOnlyPaths", "ReadWritePaths", "InaccessiblePaths", "ExecPaths", "NoExecPaths", "BindPaths", "BindReadOnlyPaths", "TemporaryFileSystem",
					"RootDirectory", "RootImage", "MountAPIVFS", "DynamicUser"} {
					if name == bad {
						t.Errorf("%s has %s", f.Name, strings.TrimSpace(line))
					}
				}
			}
		}
	}
}

// TestSystemdTakesTheUnits has systemd itself read all units, of a program whose path has everything in it that a unit has to escape.
func TestSystemdTakesTheUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	for i, dir := range []string{"plain", `odd $HOME %i ; x`} {
		dir = filepath.Join(t.TempDir(), dir)
		must.Do(t, os.MkdirAll(dir, 0o755))
		program := filepath.Join(dir, "winnow")
		must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
		for _, u := range shapes(program) {
			u.Flags = []string{"--config", program, "--state", `/$HOME ${HOME} %i "q" 'a' \n ; x`}
			units, run := t.TempDir(), t.TempDir()
			var paths []string
			for _, f := range must.Get(u.Files())(t) {
				path := filepath.Join(units, f.Name)
				must.Do(t, os.WriteFile(path, f.Text, 0o644))
				paths = append(paths, path)
			}
			args := []string{"verify", "--man=no"}
			if !u.Instances {
				args = append(args, "--user")
			}
			said, err := systemd(analyze, run, append(args, paths...)...)
			if err != nil || strings.Contains(said, units) || strings.Contains(said, "winnow") {
				t.Errorf("program %d, %s: %v: %s", i, paths, err, said)
			}
			// A service without any of this has 9.6 of 10, in tenths; what is left is what makes namespaces, the network, and for a user's own manager, which has
			// none to give, capabilities.
			service, most := paths[len(paths)-1], map[bool]string{false: "70", true: "50"}[u.Instances]
			if said, err := systemd(analyze, run, "security", "--offline=true", "--threshold="+most, service); err != nil {
				t.Errorf("%s is exposed too much: %v: %s", service, err, said)
			}
		}
	}
}

// systemd runs systemd-analyze with a runtime folder of its own, which a user's manager needs.
func systemd(program, run string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+run, "SYSTEMD_LOG_LEVEL=notice", "SYSTEMD_PAGER=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestWhatAUnitCannotHold(t *testing.T) {
	t.Parallel()
	for _, u := range []Unit{{Program: "/x/win\nExecStartPre=/bin/sh"}, {Program: "/x/winnow", Flags: []string{"--state", "/a\rb"}},
		{Program: `/x/"y/winnow`}, {Program: `/x/y\n/winnow`}} {
		if files, err := u.Files(); err == nil || len(files) != 0 {
			t.Errorf("%q %q: %v, %v", u.Program, u.Flags, files, err)
		}
	}
}

// recorder is a manager that takes down what it is asked to do. fails is the verb that fails.
type recorder struct {
	did   []string
	fails string
	// props is what show answers, "" for a unit that is enabled and active.
	props string
}

func (r *recorder) Do(_ context.Context, args ...string) (string, error) {
	if r.fails == args[0] {
		return "", errors.New(args[0] + " fails")
	}
	if args[0] != "show" {
		r.did = append(r.did, strings.Join(args, " "))
	}
	return cmp.Or(r.props, "UnitFileState=enabled\nActiveState=active\nMainPID=0\n"), nil
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	list := []string{}
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		list = append(list, e.Name())
	}
	return list
}

func TestInstallAndUninstall(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	m := &recorder{}
	s := Service{Place{Folder: dir, Package: t.TempDir()}, m}
	u := Unit{Program: "/bin/sh", Every: time.Minute}

	c := must.Get(s.Install(t.Context(), u))(t)
	must.Equal(t, Changed{Unit: "winnow.service", Written: []string{dir + "/winnow.service"}, Started: true}, c, "installed")
	must.Equal(t, []string{"daemon-reload", "enable -- winnow.service", "restart -- winnow.service"}, m.did, "asked")
	c = must.Get(s.Install(t.Context(), u))(t)
	must.Equal(t, []string{dir + "/winnow.service"}, c.Kept, "the same again")

	// One form at a time.
	m.did, u.Timer = nil, true
	c = must.Get(s.Install(t.Context(), u))(t)
	must.Equal(t, []string{dir + "/winnow.service"}, c.Removed, "the other form")
	must.Equal(t, []string{"winnow-sweep.service", "winnow-sweep.timer"}, names(t, dir), "units")
	must.Equal(t, []string{"disable --now -- winnow.service", "daemon-reload", "enable -- winnow-sweep.timer", "restart -- winnow-sweep.timer"}, m.did, "asked")

	all, silent, err := s.Status(t.Context())
	must.Do(t, err)
	must.Equal(t, []Status{{Form: "timer", Unit: "winnow-sweep.timer", Path: dir + "/winnow-sweep.timer", Enabled: "enabled", Active: "active",
		Log: "journalctl --user -u winnow-sweep.service"}}, all, "status")
	must.Equal(t, "", silent, "silent")

	// What the manager does not stop is not removed.
	m.fails = "disable"
	if _, err := s.Uninstall(t.Context()); err == nil || len(names(t, dir)) != 2 {
		t.Errorf("%v, %v", err, names(t, dir))
	}
	m.fails = ""
	c = must.Get(s.Uninstall(t.Context()))(t)
	must.Equal(t, []string{dir + "/winnow-sweep.timer", dir + "/winnow-sweep.service"}, c.Removed, "removed")
	must.Equal(t, []string{}, names(t, dir), "units")
}

// TestTheOtherFormOfAPackageIsDisabled: a package's timer and a daemon that install wrote would both sweep; and what uninstall says is over is over.
func TestTheOtherFormOfAPackageIsDisabled(t *testing.T) {
	t.Parallel()
	for _, system := range []bool{false, true} {
		at, user := "", ""
		if system {
			at, user = "@", "@ann"
		}
		dir, packaged, m := t.TempDir(), t.TempDir(), &recorder{}
		for _, name := range []string{"winnow" + at + ".service", "winnow-sweep" + at + ".timer", "winnow-sweep" + at + ".service"} {
			must.Do(t, os.WriteFile(filepath.Join(packaged, name), []byte("# A part of the package winnow.\n"), 0o644))
		}
		s := Service{Place{System: system, User: "ann", Folder: dir, Package: packaged}, m}
		c := must.Get(s.Install(t.Context(), Unit{Program: "/bin/sh"}))(t)
		must.Equal(t, []string{"winnow-sweep" + user + ".timer"}, c.Disabled, "disabled by install")
		must.Equal(t, []string{"disable --now -- winnow-sweep" + user + ".timer", "daemon-reload", "enable -- winnow" + user + ".service", "restart -- winnow" + user + ".service"}, m.did, "asked")
		must.Equal(t, 3, len(names(t, packaged)), "files of the package")

		m.did = nil
		c = must.Get(s.Uninstall(t.Context()))(t)
		must.Equal(t, Changed{Removed: []string{dir + "/winnow" + at + ".service"}, Disabled: []string{"winnow-sweep" + user + ".timer"}}, c, "uninstalled")
		must.Equal(t, []string{"disable --now -- winnow" + user + ".service", "disable --now -- winnow-sweep" + user + ".timer", "daemon-reload"}, m.did, "asked")

		// The package's alone.
		c = must.Get(s.Uninstall(t.Context()))(t)
		must.Equal(t, Changed{Disabled: []string{"winnow" + user + ".service", "winnow-sweep" + user + ".timer"}}, c, "uninstalled")
		m.fails = "disable"
		if c, err := s.Install(t.Context(), Unit{Program: "/bin/sh"}); err == nil || !strings.Contains(err.Error(), "goes on, and no unit of it was removed") || c.Started {
			t.Errorf("what the manager does not stop: %+v, %v", c, err)
		}

		// Without a manager the link goes by which it would start.
		silent := Service{s.Place, &recorder{fails: "show"}}
		must.Get(silent.Uninstall(t.Context()))(t)
		wants := filepath.Join(dir, "timers.target.wants")
		must.Do(t, os.Mkdir(wants, 0o755))
		must.Do(t, os.Symlink(packaged+"/winnow-sweep"+at+".timer", wants+"/winnow-sweep"+user+".timer"))
		c = must.Get(silent.Install(t.Context(), Unit{Program: "/bin/sh"}))(t)
		must.Equal(t, []string{"winnow-sweep" + user + ".timer"}, c.Disabled, "disabled without a manager")
		must.Equal(t, []string{}, names(t, wants), "enabled")
	}
}

// TestTheOldFormStaysWhereTheNewOneCannotBeWritten, on a full disk for one: otherwise nothing would sweep any more.
func TestTheOldFormStaysWhereTheNewOneCannotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root writes into every folder")
	}
	dir, m := t.TempDir(), &recorder{}
	s := Service{Place{Folder: dir, Package: t.TempDir()}, m}
	must.Get(s.Install(t.Context(), Unit{Program: "/bin/sh"}))(t)
	m.did = nil
	must.Do(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if c, err := s.Install(t.Context(), Unit{Program: "/bin/sh", Timer: true, Every: time.Minute}); err == nil {
		t.Errorf("%+v", c)
	}
	must.Equal(t, []string{"winnow.service"}, names(t, dir), "units")
	must.Equal(t, 0, len(m.did), "asked")
}

// TestAnInstanceOfAnotherUserStays: a template is removed with its last instance.
func TestAnInstanceOfAnotherUserStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ann := Service{Place{System: true, User: "ann", Folder: dir, Package: t.TempDir()}, &recorder{fails: "show"}}
	c := must.Get(ann.Install(t.Context(), Unit{Program: "/bin/sh"}))(t)
	must.Equal(t, Changed{Unit: "winnow@ann.service", Written: []string{dir + "/winnow@.service"}, Silent: "show fails"}, c, "installed")
	wants := dir + "/multi-user.target.wants"
	must.Do(t, os.Mkdir(wants, 0o755))
	for _, user := range []string{"ann", "bob"} {
		must.Do(t, os.Symlink(dir+"/winnow@.service", wants+"/winnow@"+user+".service"))
	}
	c = must.Get(ann.Install(t.Context(), Unit{Program: "/bin/sh", Apply: true}))(t)
	must.Equal(t, []string{"winnow@bob.service"}, c.Shared, "whose unit it is too")
	c = must.Get(ann.Uninstall(t.Context()))(t)
	must.Equal(t, []string{dir + "/winnow@.service"}, c.Kept, "bob's")
	must.Equal(t, []string{"winnow@bob.service"}, names(t, wants), "enabled")
	bob := ann
	bob.User = "bob"
	c = must.Get(bob.Uninstall(t.Context()))(t)
	must.Equal(t, []string{dir + "/winnow@.service"}, c.Removed, "the last one's")
}

// TestWhatOthersWroteStays: a unit of another hand, and a link such as systemctl mask makes, is neither replaced nor removed, and nothing else is
// written beside it.
func TestWhatOthersWroteStays(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"a unit of another hand": func(path string) error { return os.WriteFile(path, []byte("[Service]\n"+Mark+"\n"), 0o644) },
		"a link to nothing":      func(path string) error { return os.Symlink("/dev/null", path) },
		"a folder":               func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		for _, in := range []string{"winnow.service", "winnow-sweep.timer", "winnow-sweep.service"} {
			dir, m := t.TempDir(), &recorder{}
			must.Do(t, put(filepath.Join(dir, in)))
			s := Service{Place{Folder: dir, Package: t.TempDir()}, m}
			for _, timer := range []bool{false, true} {
				if c, err := s.Install(t.Context(), Unit{Program: "/bin/sh", Timer: timer}); err == nil || !strings.Contains(err.Error(), in) {
					t.Errorf("%s %s: %+v, %v", name, in, c, err)
				}
			}
			if c, err := s.Uninstall(t.Context()); err == nil {
				t.Errorf("%s %s: %+v", name, in, c)
			}
			must.Equal(t, []string{in}, names(t, dir), "%s", name)
			must.Equal(t, 0, len(m.did), "%s: asked", name)
		}
	}
}

// TestStatusWithoutAManager says what is installed, a package's unit too.
func TestStatusWithoutAManager(t *testing.T) {
	t.Parallel()
	dir, packaged := t.TempDir(), t.TempDir()
	s := Service{Place{Folder: dir, Package: packaged}, &recorder{fails: "show"}}
	must.Do(t, os.WriteFile(filepath.Join(packaged, "winnow.service"), nil, 0o644))
	for _, path := range []string{filepath.Join(packaged, "winnow.service"), filepath.Join(dir, "winnow.service")} {
		all, silent, err := s.Status(t.Context())
		must.Do(t, err)
		must.Equal(t, []Status{{Form: "daemon", Unit: "winnow.service", Path: path, Log: "journalctl --user -u winnow.service"}}, all, "status")
		must.Equal(t, "show fails", silent, "silent")
		must.Get(s.Install(t.Context(), Unit{Program: "/bin/sh"}))(t)
	}
}

// TestStatusSaysToWhichManager a person has to speak: what it proposes is run as it stands.
func TestStatusSaysToWhichManager(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "sleep")
	must.Do(t, os.WriteFile(program, must.Get(os.ReadFile(must.Get(exec.LookPath("sleep"))(t)))(t), 0o755))
	cmd := exec.Command(program, "600")
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	must.Do(t, os.Remove(program))
	replaced := fmt.Sprint(cmd.Process.Pid)
	for _, system := range []bool{false, true} {
		own := Service{Place{System: system, User: "ann", Folder: t.TempDir(), Package: t.TempDir()}, &recorder{}}
		must.Get(own.Install(t.Context(), Unit{Program: "/bin/sh"}))(t)
		for _, c := range []struct{ props, yours, machines string }{
			{"NeedDaemonReload=yes\n", "systemctl --user daemon-reload", "sudo systemctl daemon-reload"},
			{"ActiveState=failed\n", "systemctl --user restart winnow.service", "sudo systemctl restart winnow@ann.service"},
			{"UnitFileState=disabled\n", "systemctl --user enable --now winnow.service", "sudo systemctl enable --now winnow@ann.service"},
			{"ActiveState=active\nMainPID=" + replaced + "\n", "systemctl --user restart winnow.service", "sudo systemctl restart winnow@ann.service"},
		} {
			own.Manager = &recorder{props: c.props}
			all, _, err := own.Status(t.Context())
			must.Do(t, err)
			if want := map[bool]string{false: c.yours, true: c.machines}[system]; len(all) != 1 || !strings.HasSuffix(all[0].Next, want) {
				t.Errorf("want %s in %+v", want, all)
			}
		}
	}
}

func TestAProgramThatOthersCanReplace(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	program := filepath.Join(dir, "winnow")
	must.Do(t, os.WriteFile(program, nil, 0o755))
	must.Do(t, Replaceable(program))
	must.Do(t, os.Symlink(program, dir+"/link"))
	must.Do(t, Replaceable(dir+"/link")) // one of this user's own leads where it says
	for _, c := range []struct {
		what  string
		spoil func() error
		path  string
		why   error
	}{
		{"a file for everybody", func() error { return os.Chmod(program, 0o777) }, program, safeopen.ErrWritable},
		{"a folder for everybody", func() error { return errors.Join(os.Chmod(program, 0o755), os.Chmod(dir, 0o777)) }, program, safeopen.ErrWritable},
		{"nothing", func() error { return os.Chmod(dir, 0o755) }, dir + "/none", fs.ErrNotExist},
		{"a folder", func() error { return nil }, dir, safeopen.ErrNotRegular},
	} {
		must.Do(t, c.spoil())
		if err := Replaceable(c.path); !errors.Is(err, c.why) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if os.Getuid() != 0 {
		return
	}
	must.Do(t, os.Chown(program, 12345, 0))
	if err := Replaceable(program); !errors.Is(err, safeopen.ErrOwner) || !strings.Contains(err.Error(), "12345") {
		t.Errorf("another user's: %v", err)
	}
}
