package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/service"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/text"
)

// serviceFlags are those of the commands below winnow service.
type serviceFlags struct {
	system, timer, apply bool
	asUser               string
}

func newService(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have systemd run winnow all the time, for you or for users of this machine",
		Long: `Service writes the systemd units that run winnow, removes them, and says how they stand. Without --system they belong to your own manager (systemctl --user),
which runs while you are logged in; loginctl enable-linger has it run always. With --system they belong to the machine's, with an instance for each user.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newServiceInstall(a), newServiceUninstall(a), newServiceStatus(a))
	return cmd
}

func newServiceInstall(a *app) *cobra.Command {
	var f serviceFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Write the units, and start them where a manager answers",
		Long: `Install writes winnow.service, or with --timer winnow-sweep.timer and winnow-sweep.service, enables and starts it. It runs this program, with the --config,
--state and --policy that are given here. It observes, unless --apply or act.enabled lets it act.

A file of these names that it did not write is never replaced. Where no manager answers, the units are written, and it says what is left to do; it exits with 3 then.`,
		Example: `  winnow service install
  winnow service install --timer --apply
  sudo winnow service install --system --as-user ann`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serviceInstall(cmd.Context(), f) },
	}
	f.scope(cmd)
	cmd.Flags().BoolVar(&f.timer, "timer", false, "sweep once every run.every by a timer, without a daemon between")
	cmd.Flags().BoolVar(&f.apply, "apply", false, "let it carry the decisions out, as act.enabled does")
	return cmd
}

func newServiceUninstall(a *app) *cobra.Command {
	var f serviceFlags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop what runs, and remove the units that install wrote",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.serviceUninstall(cmd.Context(), f) },
	}
	f.scope(cmd)
	return cmd
}

func newServiceStatus(a *app) *cobra.Command {
	var f serviceFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "What is installed, enabled and active, and for what program",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.serviceStatus(cmd.Context(), f) },
	}
	f.scope(cmd)
	return cmd
}

func (f *serviceFlags) scope(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.system, "system", false, "the machine's manager, in the place of your own")
	cmd.Flags().StringVar(&f.asUser, "as-user", "", "with --system: the `user` that it runs as; without it who runs sudo, or else you")
}

// service gives where the units lie, and the user that they run as.
func (f serviceFlags) service(writes bool) (service.Service, *user.User, error) {
	s := service.Service{Manager: service.Systemctl{System: f.system}}
	me, err := user.Current()
	switch {
	case err != nil:
		return s, nil, fmt.Errorf("find out who runs this: %w; nothing was done", err)
	case !f.system && f.asUser != "":
		return s, nil, config.Mistakef("--as-user %s: your own manager runs what is yours; add --system for the machine's", f.asUser)
	case !f.system:
		base, err := os.UserConfigDir()
		if err != nil {
			return s, nil, fmt.Errorf("find the folder of your units: %w; nothing was done", err)
		}
		s.Place = service.Place{Folder: filepath.Join(base, "systemd", "user"), Package: "/usr/lib/systemd/user"}
		if writes {
			err = ownFolder(s.Folder)
		}
		return s, me, err
	case writes && os.Geteuid() != 0:
		return s, nil, fmt.Errorf("--system changes /etc/systemd/system, which only root may: run it with sudo; nothing was done")
	}
	name := f.asUser
	if name == "" && os.Geteuid() == 0 {
		name = os.Getenv("SUDO_USER")
	}
	as, err := user.Lookup(cmp.Or(name, me.Username))
	if err != nil {
		return s, nil, config.Mistakef("--as-user: %v; nothing was done", err)
	}
	s.Place = service.Place{System: true, User: as.Username, Folder: "/etc/systemd/system", Package: "/usr/lib/systemd/system"}
	return s, as, nil
}

// ownFolder says why nothing is to be written below a folder, which need not be there: it belongs to another user, as with sudo -E, which leaves HOME as it was. What root made there the
// user could not change any more.
func ownFolder(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		st, err := os.Stat(at)
		switch {
		case err != nil && at != filepath.Dir(at):
			continue // not there yet
		case err != nil:
			return fmt.Errorf("look for the folder of your units: %w; nothing was done", err)
		}
		if owner, ok := st.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
			return fmt.Errorf("%s is not the folder of this user's units: %s belongs to uid %d, and this runs as uid %d. Run it without sudo for your own manager, or with --system for the machine's; nothing was done",
				dir, at, owner.Uid, os.Geteuid())
		}
		return nil
	}
}

func (a *app) serviceInstall(ctx context.Context, f serviceFlags) error {
	s, as, err := f.service(true)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program: %w; nothing was written", err)
	}
	who := as.Username
	if f.system { // all users' instances run one program
		who = "root"
	}
	if err := service.Replaceable(program); err != nil {
		return fmt.Errorf("a unit must not run this program: %w; nothing was written. Move it to a folder that only %s can write, such as /usr/local/bin", err, who)
	}
	flags, err := a.passedOn()
	if err != nil {
		return err
	}
	c, err := s.Install(ctx, service.Unit{Program: program, Flags: flags, Timer: f.timer, Apply: f.apply, Every: a.Cfg.Run.Every})
	if err != nil {
		return err
	}
	a.unseen()
	err = a.show(c, "", func(w io.Writer) {
		changed(w, c)
		if len(c.Shared) > 0 {
			fmt.Fprintf(w, "shared with %s: systemctl restart has them run so too\n", text.Clean(strings.Join(c.Shared, ", ")))
		}
		if c.Started {
			fmt.Fprintf(w, "started: %s runs %s\n", c.Unit, text.Clean(program))
		}
	})
	if err != nil || c.Silent == "" {
		return err
	}
	ctl := "systemctl "
	if !f.system {
		ctl += "--user "
	}
	a.Note(`no systemd manager answers here (%s): the unit is written, and nothing was started. Where one runs: %sdaemon-reload && %senable --now %s. Without systemd let whatever supervises programs here run "winnow run", or cron "winnow run --once"`,
		c.Silent, ctl, ctl, c.Unit)
	return exit.Error{Code: exit.Part}
}

// passedOn are the flags of this command that the service is to have too.
func (a *app) passedOn() (flags []string, err error) {
	add := func(name, path string) {
		if path == "" || err != nil {
			return
		}
		var whole string
		if whole, err = config.Path(path); err != nil {
			err = config.Mistakef("--%s: %v; nothing was written", name, err)
		}
		flags = append(flags, "--"+name, whole)
	}
	add("config", a.flags.config)
	add("state", a.flags.state)
	for _, p := range a.flags.policy {
		add("policy", p)
	}
	if a.flags.noEmbedded {
		flags = append(flags, "--no-embedded-policy")
	}
	return flags, err
}

// unseen names the variables of this shell that say how winnow works and that a manager does not have.
func (a *app) unseen() {
	asFlags := []string{"WINNOW_CONFIG", "WINNOW_STATE", "WINNOW_POLICY", "WINNOW_NO_EMBEDDED_POLICY"}
	var names []string
	for _, pair := range os.Environ() {
		name, val, _ := strings.Cut(pair, "=")
		if val != "" && (slices.Contains(state.Steering, name) || strings.HasPrefix(name, "WINNOW_") && !slices.Contains(asFlags, name)) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		a.Note("a service does not have the variables of this shell. If they are to hold for it too, write them into its configuration or by systemctl edit: %s", strings.Join(names, ", "))
	}
}

func (a *app) serviceUninstall(ctx context.Context, f serviceFlags) error {
	s, _, err := f.service(true)
	if err != nil {
		return err
	}
	c, err := s.Uninstall(ctx)
	if err != nil {
		return err
	}
	err = a.show(c, "", func(w io.Writer) {
		changed(w, c)
		if len(c.Removed)+len(c.Kept)+len(c.Disabled) == 0 {
			fmt.Fprintln(w, "winnow service install wrote no unit here: nothing was removed")
		}
	})
	if err == nil && c.Silent != "" && len(c.Removed)+len(c.Disabled) > 0 {
		a.Note("no systemd manager answers here (%s): the units start no more, and what runs was not stopped: winnow status names the process of a daemon, and kill ends it", c.Silent)
	}
	return err
}

// changed prints which units were written, kept and removed.
func changed(w io.Writer, c service.Changed) {
	for _, of := range []struct {
		word  string
		paths []string
	}{{"removed", c.Removed}, {"written", c.Written}, {"kept as it is", c.Kept}} {
		for _, p := range of.paths {
			fmt.Fprintf(w, "%s: %s\n", of.word, text.Clean(p))
		}
	}
	for _, unit := range c.Disabled {
		fmt.Fprintf(w, "disabled: %s, which a package brought\n", text.Clean(unit))
	}
}

// ServiceStatus is what winnow service status prints as JSON.
type ServiceStatus struct {
	// Installed are the forms that are there; Silent says why no manager answers, "" where one does.
	Installed []service.Status `json:"installed"`
	Silent    string           `json:"silent,omitempty"`
}

func (a *app) serviceStatus(ctx context.Context, f serviceFlags) error {
	s, _, err := f.service(false)
	if err != nil {
		return err
	}
	all, silent, err := s.Status(ctx)
	if err != nil {
		return err
	}
	doc := ServiceStatus{Installed: append([]service.Status{}, all...), Silent: silent}
	return a.show(doc, "  ", func(w io.Writer) {
		for _, st := range all {
			fmt.Fprintf(w, "%s\n", text.Clean(st.Unit))
			if silent == "" {
				fmt.Fprintf(w, "  now      %s, %s\n", cmp.Or(st.Enabled, "not enabled"), cmp.Or(st.Active, "not active"))
			}
			fmt.Fprintf(w, "  unit     %s (%s)\n", text.Clean(st.Path), whose[st.From])
			fmt.Fprintf(w, "  program  %s\n", text.Clean(cmp.Or(st.Program, "unknown")))
			if st.PID != 0 {
				fmt.Fprintf(w, "  process  %d\n", st.PID)
			}
			if st.Problem != "" {
				fmt.Fprintf(w, "  problem  %s\n", text.Clean(st.Problem))
			}
		}
		if len(all) == 0 {
			fmt.Fprintln(w, "not installed: winnow service install")
		}
		if silent != "" {
			fmt.Fprintf(w, "no systemd manager answers here: %s\n", text.Clean(silent))
		}
	})
}

// whose says in words where a unit comes from.
var whose = map[string]string{
	service.Ours: "written by winnow service install", service.FromPackage: "from a package", service.Others: "not written by winnow service install",
}
