// Package service makes, installs and removes the systemd units that run winnow, and says how they stand.
//
// A file counts as one that it wrote by its first line, Mark. It replaces and removes no other.
package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/winnow-reaper/winnow"
)

// Service is where units lie and who runs them.
type Service struct {
	Place
	Manager Manager
}

// Changed is what Install and Uninstall did.
type Changed struct {
	// Unit is the name under which it is enabled, such as winnow.service or winnow@ann.service; "" where nothing was installed.
	Unit string `json:"unit,omitempty"`
	// Written, Kept and Removed are paths of units. Kept ones had the right text already, or have other users' instances.
	Written []string `json:"written,omitempty"`
	Kept    []string `json:"kept,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Disabled are units of a package. They start no more; the package keeps their files.
	Disabled []string `json:"disabled,omitempty"`
	// Shared are other users' instances of a template that was written: they run so too, once they are started again.
	Shared []string `json:"shared,omitempty"`
	// Started is true where the manager runs it now.
	Started bool `json:"started"`
	// Silent says why no manager answers; "" where one did.
	Silent string `json:"silent,omitempty"`
}

// Install writes a unit, and has the manager run it from now on where one answers. The other form (daemon or timer) is taken away, so that only
// one of them sweeps; a package's is disabled. It fails before it writes anything where somebody else wrote a file of one of the names.
func (s Service) Install(ctx context.Context, u Unit) (Changed, error) {
	u.Instances = s.System
	files, err := u.Files()
	if err == nil {
		err = s.foreignUnit()
	}
	if err != nil {
		return Changed{}, fmt.Errorf("%w; nothing was written", err)
	}
	c := Changed{Unit: s.enabled(files[0].Name), Silent: s.silent(ctx)}
	for _, f := range files { // before the other form goes: where this fails, that one goes on
		if err := s.write(ctx, f, &c); err != nil {
			return c, err
		}
	}
	if err := s.takeAway(ctx, &c, !u.Timer); err != nil {
		return c, fmt.Errorf("%w; the unit %s is there, and was not started", err, c.Unit)
	}
	if len(c.Written) > 0 {
		if c.Shared, err = s.otherInstances(files[0].Name); err != nil {
			return c, err
		}
	}
	if c.Silent != "" {
		return c, nil
	}
	verbs := [][]string{{"daemon-reload"}, {"enable", "--", c.Unit}, {"restart", "--", c.Unit}}
	for _, args := range verbs { // restart, because one that runs already would go on as it was
		if _, err := s.Manager.Do(ctx, args...); err != nil {
			return c, fmt.Errorf("%w; the unit is written, and winnow service status says how it stands", err)
		}
	}
	c.Started = true
	return c, nil
}

// Uninstall stops what runs and removes the units that Install wrote, of both forms; those of a package it disables. It fails before it does
// anything where somebody else wrote a file of one of the names.
func (s Service) Uninstall(ctx context.Context) (Changed, error) {
	if err := s.foreignUnit(); err != nil {
		return Changed{}, fmt.Errorf("%w; nothing was removed", err)
	}
	c := Changed{Silent: s.silent(ctx)}
	err := errors.Join(s.takeAway(ctx, &c, false), s.takeAway(ctx, &c, true))
	if c.Silent == "" && len(c.Removed) > 0 {
		_, reload := s.Manager.Do(ctx, "daemon-reload")
		err = errors.Join(err, reload)
	}
	return c, err
}

// takeAway stops a form and removes those of its units that Install wrote. A template that other users have enabled stays.
// A package's unit is disabled.
func (s Service) takeAway(ctx context.Context, c *Changed, timer bool) error {
	names := s.names(timer)
	var ours []string
	packaged := false
	for _, name := range names {
		path, err := s.file(name)
		switch {
		case err != nil:
			return err
		case filepath.Dir(path) == s.Folder:
			ours = append(ours, path)
		default:
			packaged = packaged || path != ""
		}
	}
	if len(ours) == 0 && !packaged {
		return nil
	}
	unit := s.enabled(names[0])
	if err := s.disable(ctx, unit, names[0], c.Silent == ""); err != nil {
		return fmt.Errorf("%w; %s goes on, and no unit of it was removed", err, unit)
	}
	if len(ours) == 0 {
		c.Disabled = append(c.Disabled, unit)
		return nil
	}
	if others, err := s.otherInstances(names[0]); err != nil || len(others) > 0 {
		c.Kept = append(c.Kept, ours...)
		return err
	}
	for _, path := range ours {
		if err := os.Remove(path); err != nil {
			return err
		}
		c.Removed = append(c.Removed, path)
	}
	return nil
}

// disable stops a unit and has it start no more. Without a manager it removes the links by which one would start it.
func (s Service) disable(ctx context.Context, unit, name string, answers bool) error {
	if answers {
		_, err := s.Manager.Do(ctx, "disable", "--now", "--", unit)
		return err
	}
	links, err := s.links(unit)
	for _, link := range links {
		if to, no := os.Readlink(link); no == nil && filepath.Base(to) == name { // enable made it for this unit
			err = errors.Join(err, os.Remove(link))
		}
	}
	return err
}

// Status is how one form stands.
type Status struct {
	// Form is daemon or timer.
	Form string `json:"form"`
	// Unit is the name under which it is enabled, Path its file.
	Unit string `json:"unit"`
	Path string `json:"path"`
	// Enabled and Active are the manager's words (enabled, disabled, static; active, inactive, failed, ...), Since the time at which it
	// became active; "" where no manager answers.
	Enabled string `json:"enabled,omitempty"`
	Active  string `json:"active,omitempty"`
	Since   string `json:"since,omitempty"`
	// PID is the process of the daemon, "" where it does not run.
	PID string `json:"pid,omitempty"`
	// Log is the command that shows its log. Next says what to do, "" where nothing is.
	Log  string `json:"log"`
	Next string `json:"next,omitempty"`
}

// Status gives the forms that are installed, and why no manager answers: "" where one does.
func (s Service) Status(ctx context.Context) (all []Status, silent string, err error) {
	silent = s.silent(ctx)
	for _, form := range []string{"daemon", "timer"} {
		names := s.names(form == "timer")
		path, err := s.file(names[0])
		if err != nil {
			return nil, silent, err
		}
		if path == "" {
			continue
		}
		// A timer has its service write the log.
		st := Status{Form: form, Unit: s.enabled(names[0]), Path: path, Log: s.command("journalctl", "-u "+s.enabled(names[len(names)-1]))}
		if silent == "" {
			if err := s.ask(ctx, &st); err != nil {
				return nil, silent, err
			}
		}
		all = append(all, st)
	}
	return all, silent, nil
}

// ask has the manager say how a unit stands.
func (s Service) ask(ctx context.Context, st *Status) error {
	out, err := s.Manager.Do(ctx, "show", "--property=UnitFileState,ActiveState,ActiveEnterTimestamp,MainPID,NeedDaemonReload", "--", st.Unit)
	if err != nil {
		return err
	}
	props := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		props[name] = value
	}
	st.Enabled, st.Active = props["UnitFileState"], props["ActiveState"]
	if st.Active == "active" {
		st.Since = props["ActiveEnterTimestamp"]
	}
	if pid := props["MainPID"]; pid != "0" {
		st.PID = pid
	}
	program, _ := os.Readlink("/proc/" + st.PID + "/exe")
	switch {
	case props["NeedDaemonReload"] == "yes":
		st.Next = "the unit has changed since the manager read it: " + s.Systemctl("daemon-reload")
	case strings.HasSuffix(program, " (deleted)"):
		st.Next = "its program was replaced since it began; have it run the new one: " + s.Systemctl("restart "+st.Unit)
	case st.Active == "failed":
		st.Next = "it failed; its log says why. When that is mended: " + s.Systemctl("restart "+st.Unit)
	case st.Enabled == "disabled":
		st.Next = "it does not start by itself; have it do so: " + s.Systemctl("enable --now "+st.Unit)
	}
	return nil
}

// Manager is systemd, as systemctl speaks to it.
type Manager interface {
	// Do runs systemctl with these arguments and gives what it printed. It fails where systemctl does.
	Do(ctx context.Context, args ...string) (string, error)
}

// Systemctl is the manager of the system, or of this user.
type Systemctl struct{ System bool }

// within is how long systemctl has for one thing: a unit that stops has two minutes for the act in hand.
const within = 150 * time.Second

// Do implements Manager.
func (s Systemctl) Do(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if !s.System {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, "systemctl", args...)
	cmd.WaitDelay = time.Second
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if said := strings.TrimSpace(complaint.String()); err != nil && said != "" {
		err = errors.New(strings.Join(strings.Fields(said), " "))
	}
	if err != nil {
		err = fmt.Errorf("systemctl %s: %w", strings.Join(args, " "), err)
		if dir := fmt.Sprintf("/run/user/%d", os.Geteuid()); !s.System && os.Getenv("XDG_RUNTIME_DIR") == "" { // as after su
			if _, no := os.Lstat(dir + "/systemd/private"); no == nil {
				err = fmt.Errorf("%w; your manager runs, and this shell does not say where: export XDG_RUNTIME_DIR=%s, and do it again", err, dir)
			}
		}
		return "", err
	}
	return string(out), nil
}

// silent says why no manager answers, "" where one does.
func (s Service) silent(ctx context.Context) string {
	if _, err := s.Manager.Do(ctx, "show", "--property=Version", "--value"); err != nil {
		return err.Error()
	}
	return ""
}

// Mark is the first line of every unit that Install writes.
const Mark = "# Written by winnow service install. winnow service uninstall removes it; change it with systemctl edit."

// Unit is what Install changes in the units of the package.
type Unit struct {
	// Program is the absolute path of winnow.
	Program string
	// Flags stand between the program and run: they are taken word by word.
	Flags []string
	// Instances is true for a unit of the system, a template with an instance for each user, and false for one of a user's own manager.
	Instances bool
	// Timer has a timer run one sweep at a time, in the place of a daemon.
	Timer bool
	// Apply lets it act.
	Apply bool
	// Every is from one sweep to the next, for a timer; whole seconds count.
	Every time.Duration
}

// File is one unit: its name, such as winnow.service, and its text.
type File struct {
	Name string
	Text []byte
}

// Files gives the units, the one that is to be enabled first. It fails for a program or a flag that a unit cannot hold.
func (u Unit) Files() ([]File, error) {
	command, err := commandLine(u.Program, u.Flags)
	if err != nil {
		return nil, err
	}
	apply := "\n"
	if u.Apply {
		apply = " --apply\n"
	}
	change := strings.NewReplacer(
		"ExecStart=/usr/bin/winnow run --once\n", "ExecStart="+command+" run --once"+apply, "ExecStart=/usr/bin/winnow run\n", "ExecStart="+command+" run"+apply,
		"every 300s", "every "+seconds(u.Every), "OnUnitInactiveSec=300s", "OnUnitInactiveSec="+seconds(u.Every), "RandomizedDelaySec=30s", "RandomizedDelaySec="+seconds(u.Every/10))
	folder := map[bool]string{false: "user", true: "system"}[u.Instances]
	var files []File
	for _, name := range u.names() {
		text, err := winnow.Units.ReadFile(path.Join("packaging/linux/systemd", folder, name))
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
		_, rest, _ := strings.Cut(string(text), "\n") // the first line says that it belongs to the package
		files = append(files, File{name, []byte(Mark + "\n" + change.Replace(rest))})
	}
	return files, nil
}

// names are the units' names, the one that is to be enabled first.
func (u Unit) names() []string {
	at := ""
	if u.Instances {
		at = "@"
	}
	if u.Timer {
		return []string{"winnow-sweep" + at + ".timer", "winnow-sweep" + at + ".service"}
	}
	return []string{"winnow" + at + ".service"}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", max(1, int(d.Seconds()))) }

// commandLine writes a program and its flags as ExecStart= reads them (systemd.service(5), COMMAND LINES).
func commandLine(program string, flags []string) (string, error) {
	var words []string
	for i, word := range append([]string{program}, flags...) {
		if strings.IndexFunc(word, unicode.IsControl) >= 0 {
			return "", fmt.Errorf("%q has a control character, which a unit cannot hold", word)
		}
		if i == 0 && strings.ContainsAny(word, "\"'\\") { // systemd says: Executable name contains special characters
			return "", fmt.Errorf("the path of the program, %s, has a quotation mark or a backslash, which systemd does not take there", word)
		}
		word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word)
		if i > 0 { // in the program's own path a $ stands for itself
			word = strings.ReplaceAll(word, "$", "$$")
		}
		if strings.ContainsAny(word, ` '"\;`) || word == "" {
			word = `"` + word + `"`
		}
		words = append(words, word)
	}
	return strings.Join(words, " "), nil
}
