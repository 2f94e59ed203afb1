package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

// app is one run of the program by a person or a program: what it does, where it writes, and its flags.
type app struct {
	ops.Ops
	out, errOut io.Writer // a termsafe.Writer each: nothing gets past it raw
	flags       globalFlags
	paint       render.Paint
	// command names what runs in the documents that it prints, such as policy-check.
	command string
}

// watched has this run's person told what its operations do: it is called for each copy that writes elsewhere.
func (a *app) watched() *app {
	a.Tell = func(line string) { fmt.Fprintln(a.errOut, line) }
	a.Watch = func() (func([]collectors.Running), func()) {
		p := a.progress()
		return p.show, p.clear
	}
	return a
}

type globalFlags struct {
	config     string
	policy     []string
	noEmbedded bool
	format     string
	also       []string
	logLevel   string
	logFormat  string
	state      string
	color      string
	noColor    bool
}

func newRoot(out, errOut *termsafe.Writer, h *stop.Inflight) *cobra.Command {
	a := (&app{Ops: ops.New(state.Folder{Hands: h, Acting: acting}), out: out, errOut: errOut}).watched()
	root := &cobra.Command{
		Use:           "winnow",
		Short:         "Clear away what coding agents leave behind, and never anything else",
		Version:       version.Read().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.setUp(cmd)
		},
	}
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = false

	f := root.PersistentFlags()
	f.StringVar(&a.flags.config, "config", "", "configuration `file`")
	f.StringArrayVar(&a.flags.policy, "policy", nil, "`path` of your own policies, a folder or a bundle, besides the embedded ones; may be repeated")
	f.BoolVar(&a.flags.noEmbedded, "no-embedded-policy", false, "leave the embedded policies out")
	f.StringVar(&a.flags.format, "format", "text", "`form` of the output: "+strings.Join(report.Formats, ", "))
	f.StringVar(&a.flags.logLevel, "log-level", "warn", "`level` of the log on stderr: trace, debug, info, warn, error, off")
	f.StringVar(&a.flags.logFormat, "log-format", "text", "`form` of the log: text, json")
	f.StringVar(&a.flags.state, "state", "", "`folder` for the ledger, the trash and the lock")
	f.StringVar(&a.flags.color, "color", text.Auto, "`when` to colour: "+strings.Join(text.Colors, ", "))
	f.BoolVar(&a.flags.noColor, "no-color", false, "the same as --color never")

	root.AddCommand(
		newSweep(a), newDf(a), newReview(a), newTop(a), newAgents(a), newConsole(a), newSnapshot(a), newSubjects(a), newDecide(a), newExplain(a),
		newRetain(a), newRelease(a), newHolds(a), newCleanup(a), newWhyAlive(a),
		newHistory(a), newStats(a), newTrash(a), newRestore(a),
		newTrust(a), newDoctor(a), newRun(a), newStatus(a), newService(a), newPause(a), newResume(a), newBrakes(a), newNotify(a), newDemo(a), newInit(a), newPolicy(a), newEditor(a),
		newVersion(a), newMan(a),
		&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean"}, // a page of help without a command
	)
	root.SetOut(shellScript{out}) // which completion remembers
	root.InitDefaultCompletionCmd()
	root.SetOut(out)
	root.InitDefaultHelpCmd()
	checkArgs(root)
	dress(root)
	a.complete(root)
	return root
}

// setUp turns flags, environment and files into the app's configuration, before any command runs.
func (a *app) setUp(cmd *cobra.Command) error {
	help := isHelp(cmd)
	if err := a.checkForm(cmd); err != nil && help { // before the environment: a shell's start calls completion under any variables
		return err
	}
	if err := envFlags(cmd.Flags()); err != nil {
		return err
	}
	level := hclog.LevelFromString(a.flags.logLevel)
	if level == hclog.NoLevel {
		return config.Usagef("--log-level: unknown level %q; one of trace, debug, info, warn, error, off", a.flags.logLevel)
	}
	if a.flags.logFormat != "text" && a.flags.logFormat != "json" {
		return config.Usagef("--log-format: unknown form %q; text or json", a.flags.logFormat)
	}
	if err := a.checkForm(cmd); err != nil && !help {
		return err
	}
	a.command = strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), " ", "-")
	if a.flags.noColor {
		a.flags.color = text.Never
	}
	if !slices.Contains(text.Colors, a.flags.color) {
		return config.Usagef("--color: unknown word %q; one of %s", a.flags.color, strings.Join(text.Colors, ", "))
	}
	opts := &hclog.LoggerOptions{Name: "winnow", Level: level, Output: a.errOut, JSONFormat: a.flags.logFormat == "json"}
	if opts.JSONFormat {
		opts.Output = termsafe.JSONWriter(a.errOut)
	}
	a.Log = hclog.New(opts)
	a.paint = render.Paint{Paint: text.New(a.out, a.flags.color)}
	if w, ok := a.out.(*termsafe.Writer); ok {
		w.Styled(a.paint.On)
	}
	if help {
		return nil
	}
	for _, w := range config.UnknownEnv(os.Environ(), flagEnvNames(cmd.Root())) {
		a.Log.Warn("unknown variable in the environment", "name", w)
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	a.Cfg, a.Fingerprint = cfg, state.ConfigFingerprint(cfg)
	if a.flags.config == "" && cfg.Stray() { // who names a configuration knows which one is read
		a.Note("./%s is not read: a folder may belong to anybody. If it is yours, say --config ./%s, or move it to %s", config.Name, config.Name, config.UserPlace())
	}
	return nil
}

// loadConfig reads the configuration, with what the flags say over it.
func (a *app) loadConfig() (*config.Config, error) {
	cfg, err := config.Load(a.flags.config, os.Environ())
	if err == nil {
		err = a.override(cfg)
	}
	return cfg, err
}

// override lets flags stand over the configuration.
func (a *app) override(cfg *config.Config) error {
	if a.flags.state != "" {
		p, err := config.Path(a.flags.state)
		if err != nil {
			return config.Usagef("--state: %v", err)
		}
		cfg.State = p
	}
	for _, p := range a.flags.policy {
		abs, err := config.Path(p)
		if err != nil {
			return config.Usagef("--policy: %v", err)
		}
		cfg.Policy.Paths = append(cfg.Policy.Paths, abs)
	}
	if a.flags.noEmbedded {
		cfg.Policy.Embedded = false
	}
	return nil
}

// isHelp is true for commands that must work with a broken configuration too.
func isHelp(cmd *cobra.Command) bool {
	for c := cmd; c != nil; c = c.Parent() {
		if c.Name() == "completion" || c.Name() == "help" || c.Name() == "man" || strings.HasPrefix(c.Name(), "__complete") {
			return true
		}
	}
	return false
}

// acting is the lock under which this user's sweeps act. It is zero but in tests, which do not wait for one another.
var acting lock.Acting
