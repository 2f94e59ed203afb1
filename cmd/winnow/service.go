package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/service"
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
		Short: "Have systemd run winnow all the time, for you or for others",
		Long: `Service writes the systemd units that run winnow, removes them, and says how they stand. Without --system
they are your own manager's (systemctl --user), which runs while you are logged in. loginctl enable-linger has it run
always. With --system they belong to the machine's, with an instance for each user.`,
	}
	cmd.AddCommand(newServiceInstall(a))
	for _, c := range []struct {
		use, short string
		run        func(context.Context, serviceFlags) error
	}{
		{"uninstall", "Stop what runs, and remove the units that install wrote", a.serviceUninstall},
		{"status", "What is installed, enabled and active, and where its log is", a.serviceStatus},
	} {
		var f serviceFlags
		below := &cobra.Command{Use: c.use, Short: c.short, RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), f) }}
		f.scope(below)
		cmd.AddCommand(below)
	}
	return cmd
}

func newServiceInstall(a *app) *cobra.Command {
	var f serviceFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Write the units, and start them where a manager answers",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.serviceInstall(cmd.Context(), f) },
	}
	f.scope(cmd)
	cmd.Flags().BoolVar(&f.timer, "timer", false, "sweep once every run.every by a timer, without a daemon between")
	cmd.Flags().BoolVar(&f.apply, "apply", false, "let it carry the decisions out, as act.enabled does")
	return cmd
}

func (f *serviceFlags) scope(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.system, "system", false, "the machine's manager, in the place of your own")
	cmd.Flags().StringVar(&f.asUser, "as-user", "", "with --system: the `user` that it runs as; without it who runs sudo, or else you")
}

func (a *app) serviceInstall(ctx context.Context, f serviceFlags) error {
	s, as, err := service.Find(f.system, f.asUser, true)
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
	if names := service.UnseenVariables(os.Environ()); len(names) > 0 {
		a.Note("a service does not have the variables of this shell. If they are to hold for it too, write them into its configuration or by systemctl edit: %s", strings.Join(names, ", "))
	}
	err = a.show(c, nil, "", func(w io.Writer) {
		render.ServiceChange(w, c)
		if c.Started {
			fmt.Fprintf(w, "started: %s runs %s\n", c.Unit, text.Clean(program))
		}
	})
	if err != nil || c.Silent == "" {
		return err
	}
	a.Note(`no systemd manager answers here (%s): the unit is written, and nothing was started. Where one runs: %s && %s. Without systemd let whatever supervises programs here run "winnow run", or cron "winnow run --once"`,
		c.Silent, s.Place.Systemctl("daemon-reload"), s.Place.Systemctl("enable --now "+c.Unit))
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
			err = config.Usagef("--%s: %v; nothing was written", name, err)
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

func (a *app) serviceUninstall(ctx context.Context, f serviceFlags) error {
	s, _, err := service.Find(f.system, f.asUser, true)
	if err != nil {
		return err
	}
	c, err := s.Uninstall(ctx)
	err = a.show(c, err, "", func(w io.Writer) {
		render.ServiceChange(w, c)
		if len(c.Removed)+len(c.Kept)+len(c.Disabled) == 0 {
			fmt.Fprintln(w, "winnow service install wrote no unit here: nothing was removed")
		}
	})
	if err == nil && c.Silent != "" && len(c.Removed)+len(c.Disabled) > 0 {
		a.Note("no systemd manager answers here (%s): the units start no more, and what runs was not stopped: winnow status names the process of a daemon, and kill ends it", c.Silent)
	}
	return err
}

// ServiceStatus is what winnow service status prints as JSON.
type ServiceStatus struct {
	// Installed are the forms that are there; Silent says why no manager answers, "" where one does.
	Installed []service.Status `json:"installed"`
	Silent    string           `json:"silent,omitempty"`
}

func (a *app) serviceStatus(ctx context.Context, f serviceFlags) error {
	s, _, err := service.Find(f.system, f.asUser, false)
	if err != nil {
		return err
	}
	all, silent, err := s.Status(ctx)
	doc := ServiceStatus{Installed: append([]service.Status{}, all...), Silent: silent}
	return a.show(doc, err, "  ", func(w io.Writer) { render.ServiceStatus(w, all, silent) })
}
