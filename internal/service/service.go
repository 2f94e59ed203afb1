package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	// Disabled are units of a package that were enabled or active. They start no more; the package keeps their files.
	Disabled []string `json:"disabled,omitempty"`
	// Shared are other users' instances of a template that was written: they run so too, once they are started again.
	Shared []string `json:"shared,omitempty"`
	// Started is true where the manager runs it now.
	Started bool `json:"started"`
	// Silent says why no manager answers; "" where one did.
	Silent string `json:"silent,omitempty"`
}

// Install writes a unit, and has the manager run it from now on where one answers. The other form (daemon or timer) is taken away, so that only
// one of them sweeps; a package's is disabled. It fails before it writes anything where a file of one of the names is not Ours.
func (s Service) Install(ctx context.Context, u Unit) (Changed, error) {
	u.Instances = s.System
	files, err := u.Files()
	if err != nil {
		return Changed{}, fmt.Errorf("%w; nothing was written", err)
	}
	if err := s.foreignUnit(); err != nil {
		return Changed{}, fmt.Errorf("%w; nothing was written", err)
	}
	c := Changed{Unit: s.enabled(files[0].Name)}
	silent := Silent(ctx, s.Manager)
	if silent != nil {
		c.Silent = silent.Error()
	}
	for _, f := range files { // before the other form goes: where this fails, that one goes on
		_, path, text, err := s.look(f.Name)
		if err != nil {
			return c, err
		}
		if bytes.Equal(text, f.Text) {
			c.Kept = append(c.Kept, path)
			continue
		}
		if err := s.write(ctx, f); err != nil {
			return c, err
		}
		c.Written = append(c.Written, filepath.Join(s.Folder, f.Name))
	}
	if err := s.takeAway(ctx, &c, !u.Timer, silent == nil); err != nil {
		return c, fmt.Errorf("%w; the unit %s is there, and was not started", err, c.Unit)
	}
	if s.System && len(c.Written) > 0 {
		links, err := s.links(files[0].Name)
		if err != nil {
			return c, err
		}
		for _, link := range links {
			if name := filepath.Base(link); name != c.Unit {
				c.Shared = append(c.Shared, name)
			}
		}
	}
	if silent != nil {
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

// Uninstall stops what runs and removes the units that are Ours, of both forms; those of a package it disables. It fails before it does anything where a
// file of one of the names is somebody else's.
func (s Service) Uninstall(ctx context.Context) (Changed, error) {
	if err := s.foreignUnit(); err != nil {
		return Changed{}, fmt.Errorf("%w; nothing was removed", err)
	}
	var c Changed
	silent := Silent(ctx, s.Manager)
	if silent != nil {
		c.Silent = silent.Error()
	}
	var errs []error
	for _, form := range forms {
		errs = append(errs, s.takeAway(ctx, &c, form.timer, silent == nil))
	}
	if silent == nil && len(c.Removed) > 0 {
		_, err := s.Manager.Do(ctx, "daemon-reload")
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

// foreignUnit says which unit is in the way because somebody else wrote it.
func (s Service) foreignUnit() error {
	for _, form := range forms {
		for _, name := range s.names(form.timer) {
			from, path, _, err := s.look(name)
			if err != nil {
				return err
			}
			if from == Others {
				return fmt.Errorf("%s was not written by winnow service install: look at it, and move it away if it is not needed", path)
			}
		}
	}
	return nil
}

// takeAway stops a form and removes those of its units that are Ours. A template that other users have enabled stays. A package's unit is disabled.
func (s Service) takeAway(ctx context.Context, c *Changed, timer, answers bool) error {
	names := s.names(timer)
	var ours []string
	packaged := false
	for _, name := range names {
		from, path, _, err := s.look(name)
		if err != nil {
			return err
		}
		if from == Ours {
			ours = append(ours, path)
		}
		packaged = packaged || from == FromPackage && name == names[0]
	}
	unit := s.enabled(names[0])
	if len(ours) == 0 {
		if !packaged {
			return nil
		}
		if answers {
			return s.disable(ctx, c, unit)
		}
	}
	if answers {
		if _, err := s.Manager.Do(ctx, "disable", "--now", "--", unit); err != nil {
			return fmt.Errorf("%w; its units were not removed: %s", err, strings.Join(ours, ", "))
		}
	}
	links, err := s.links(names[0])
	if err != nil {
		return err
	}
	var remain int
	for _, link := range links {
		if filepath.Base(link) != unit {
			remain++
			continue
		}
		if to, err := os.Readlink(link); err != nil || filepath.Base(to) != names[0] {
			continue // not a link that enable made for this unit
		}
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(ours) == 0 {
			c.Disabled = append(c.Disabled, unit)
		}
	}
	if remain > 0 {
		c.Kept = append(c.Kept, ours...)
		return nil
	}
	for _, path := range ours {
		if err := os.Remove(path); err != nil {
			return err
		}
		c.Removed = append(c.Removed, path)
	}
	return nil
}

// disable has the manager stop a package's unit and start it no more, where it is enabled or active.
func (s Service) disable(ctx context.Context, c *Changed, unit string) error {
	props, err := show(ctx, s.Manager, unit, "UnitFileState", "ActiveState")
	if err != nil {
		return fmt.Errorf("%w; whether %s of a package runs is not known", err, unit)
	}
	if props["UnitFileState"] != "enabled" && props["ActiveState"] != "active" && props["ActiveState"] != "activating" {
		return nil
	}
	if _, err := s.Manager.Do(ctx, "disable", "--now", "--", unit); err != nil {
		return fmt.Errorf("%w; %s of a package goes on", err, unit)
	}
	c.Disabled = append(c.Disabled, unit)
	return nil
}

// Status is how one form stands.
type Status struct {
	// Form is daemon or timer.
	Form string `json:"form"`
	// Unit is the name under which it is enabled, Path the file, From where that comes from: ours, package, others.
	Unit string `json:"unit"`
	Path string `json:"path"`
	From string `json:"from"`
	// Program is what the unit runs, "" where it cannot be read. Problem says what is wrong with it, "" where nothing is.
	Program string `json:"program,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Enabled and Active are the manager's words (enabled, disabled, static; active, inactive, failed, ...); "" where no manager answers.
	Enabled string `json:"enabled,omitempty"`
	Active  string `json:"active,omitempty"`
	// PID is the process of the daemon, 0 where none runs, and Runs its program.
	PID  int    `json:"pid,omitempty"`
	Runs string `json:"runs,omitempty"`
}

// Status gives the forms that are installed, and why no manager answers: "" where one does.
func (s Service) Status(ctx context.Context) (all []Status, silent string, err error) {
	if e := Silent(ctx, s.Manager); e != nil {
		silent = e.Error()
	}
	for _, form := range forms {
		names := s.names(form.timer)
		from, path, _, err := s.look(names[0])
		if err != nil {
			return nil, silent, err
		}
		if from == Absent {
			continue
		}
		_, _, text, err := s.look(names[len(names)-1]) // the service has the program, also of a timer
		if err != nil {
			return nil, silent, err
		}
		st := Status{Form: form.name, Unit: s.enabled(names[0]), Path: path, From: from, Program: program(string(text))}
		st.Problem = s.stale(st.Program)
		if silent == "" {
			if err := s.ask(ctx, &st); err != nil {
				return nil, silent, err
			}
		}
		all = append(all, st)
	}
	return all, silent, nil
}

// Systemctl is a command line for a person, to the manager of this place.
func (p Place) Systemctl(args string) string {
	if p.System {
		return "sudo systemctl " + args
	}
	return "systemctl --user " + args
}

// ask has the manager say how a unit stands.
func (s Service) ask(ctx context.Context, st *Status) error {
	props, err := show(ctx, s.Manager, st.Unit, "UnitFileState", "ActiveState", "MainPID", "NeedDaemonReload")
	if err != nil {
		return err
	}
	st.Enabled, st.Active = props["UnitFileState"], props["ActiveState"]
	if props["NeedDaemonReload"] == "yes" && st.Problem == "" {
		st.Problem = "the unit has changed since the manager read it: " + s.Systemctl("daemon-reload")
	}
	if st.PID, _ = strconv.Atoi(props["MainPID"]); st.PID == 0 {
		return nil
	}
	st.Runs, err = os.Readlink(fmt.Sprintf("/proc/%d/exe", st.PID))
	if err == nil && st.Problem == "" && st.Runs != st.Program {
		st.Problem = fmt.Sprintf("process %d runs %s: restart it for what is there now (%s)", st.PID, st.Runs, s.Systemctl("restart "+st.Unit))
	}
	return nil
}

// stale says why a unit cannot run its program, "" where it can.
func (s Service) stale(program string) string {
	if program == "" {
		return "its program cannot be read"
	}
	st, err := os.Stat(program)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		again := "winnow service install"
		if s.System {
			again = "sudo " + again + " --system --as-user " + s.User
		}
		return "there is no " + program + " any more: install it again with " + again
	case err != nil:
		return err.Error()
	case !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0:
		return program + " is not a program"
	}
	return ""
}
