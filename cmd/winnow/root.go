package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"winnow/engine"
	"winnow/engine/ledger"
	"winnow/internal/plain"
)

// app is one run of the program: where it writes, its flags, its configuration and its logger.
type app struct {
	out, errOut io.Writer // a plain.Writer each: nothing gets past it raw
	flags       globalFlags
	cfg         *Config
	log         hclog.Logger
	paint       paint
	hands       *hands
	acting      ledger.Acting
	policy      *engine.Policy // the loaded one, nil before there is one
}

type globalFlags struct {
	config     string
	policy     []string
	noEmbedded bool
	format     string
	logLevel   string
	logFormat  string
	state      string
	noColor    bool
}

// The output formats of --format.
var formats = []string{"text", "json", "ndjson", "markdown"}

func newRoot(out, errOut *plain.Writer, h *hands) *cobra.Command {
	a := &app{out: out, errOut: errOut, hands: h, acting: acting}
	root := &cobra.Command{
		Use:   "winnow",
		Short: "Clear away what coding agents leave behind, and never anything else",
		Long: `Winnow looks at what coding agents have left behind on this machine: tmux sessions, herdr tabs, Codev terminals, processes and
git worktrees.
For each it decides whether to spare or to reap it, by rules that you can read, test and change, and says why.
It changes nothing until you say --apply, and what it takes away can be brought back.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.setUp(cmd)
		},
	}
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.CompletionOptions.HiddenDefaultCmd = false

	f := root.PersistentFlags()
	f.StringVar(&a.flags.config, "config", "", "configuration `file`")
	f.StringArrayVar(&a.flags.policy, "policy", nil, "`folder` of your own policies, besides the embedded ones; may be repeated")
	f.BoolVar(&a.flags.noEmbedded, "no-embedded-policy", false, "leave the embedded policies out")
	f.StringVar(&a.flags.format, "format", "text", "`form` of the output: "+strings.Join(formats, ", "))
	f.StringVar(&a.flags.logLevel, "log-level", "warn", "`level` of the log on stderr: trace, debug, info, warn, error, off")
	f.StringVar(&a.flags.logFormat, "log-format", "text", "`form` of the log: text, json")
	f.StringVar(&a.flags.state, "state", "", "`folder` for the ledger, the trash and the lock")
	f.BoolVar(&a.flags.noColor, "no-color", false, "no colours on a terminal either")

	root.AddCommand(
		newSweep(a), newSnapshot(a), newSubjects(a), newDecide(a), newExplain(a),
		newRetain(a), newRelease(a), newHolds(a), newCleanup(a),
		newHistory(a), newTrash(a), newRestore(a),
		newTrust(a), newDoctor(a), newDemo(a), newInit(a),
	)
	root.InitDefaultCompletionCmd()
	return root
}

// setUp turns flags, environment and files into the app's configuration, before any command runs.
func (a *app) setUp(cmd *cobra.Command) error {
	if err := envFlags(cmd.Flags()); err != nil {
		return err
	}
	level := hclog.LevelFromString(a.flags.logLevel)
	if level == hclog.NoLevel {
		return usagef("--log-level: unknown level %q; one of trace, debug, info, warn, error, off", a.flags.logLevel)
	}
	if a.flags.logFormat != "text" && a.flags.logFormat != "json" {
		return usagef("--log-format: unknown form %q; text or json", a.flags.logFormat)
	}
	if !slices.Contains(formats, a.flags.format) {
		return usagef("--format: unknown form %q; one of %s", a.flags.format, strings.Join(formats, ", "))
	}
	opts := &hclog.LoggerOptions{Name: "winnow", Level: level, Output: a.errOut, JSONFormat: a.flags.logFormat == "json"}
	if opts.JSONFormat {
		opts.Output = plain.JSONWriter(a.errOut)
	}
	a.log = hclog.New(opts)
	a.paint = newPaint(a.out, a.flags.noColor)
	if w, ok := a.out.(*plain.Writer); ok {
		w.Styled(a.paint.on)
	}
	if isHelp(cmd) {
		return nil
	}
	for _, w := range unknownEnv(os.Environ(), flagEnvNames(cmd.Root())) {
		a.log.Warn("unknown variable in the environment", "name", w)
	}
	cfg, err := loadConfig(a.flags.config, os.Environ())
	if err != nil {
		return err
	}
	if err := a.override(cfg); err != nil {
		return err
	}
	a.cfg = cfg
	a.mentionStray()
	return nil
}

// override lets flags stand over the configuration.
func (a *app) override(cfg *Config) error {
	if a.flags.state != "" {
		p, err := expandPath(a.flags.state)
		if err != nil {
			return usagef("--state: %v", err)
		}
		cfg.State = p
	}
	for _, p := range a.flags.policy {
		abs, err := expandPath(p)
		if err != nil {
			return usagef("--policy: %v", err)
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
		if c.Name() == "completion" || c.Name() == "help" || strings.HasPrefix(c.Name(), "__complete") {
			return true
		}
	}
	return false
}

// envFlags sets each flag that was not given from its WINNOW_ variable.
func envFlags(fs *pflag.FlagSet) error {
	var err error
	fs.VisitAll(func(f *pflag.Flag) {
		val, ok := os.LookupEnv(envName(f.Name))
		if f.Changed || !ok || val == "" || f.Name == "help" || f.Name == "version" || err != nil {
			return
		}
		if e := fs.Set(f.Name, val); e != nil {
			err = usagef("%s: %v", envName(f.Name), e)
		}
	})
	return err
}

func flagEnvNames(root *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, envName(f.Name)) }
	root.PersistentFlags().VisitAll(add)
	for _, c := range root.Commands() {
		c.LocalFlags().VisitAll(add)
	}
	return names
}

// flagError adds the nearest flag to an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return usagef("unknown flag --%s; the nearest is --%s (see winnow %s --help)", name, nearest(name, names), cmd.Name())
	}
	return usagef("%s (see winnow %s --help)", msg, cmd.Name())
}

// exactArgs and its like turn cobra's argument errors into wrong use.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := check(cmd, given); err != nil {
			return usagef("%v (see winnow %s --help)", err, cmd.Name())
		}
		return nil
	}
}

// version is the module's version where the build knows one, and the revision it was built from.
func version() string {
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, rev, dirty := bi.Main.Version, "", ""
	for _, s := range bi.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			rev = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+"
		}
	}
	if v == "" {
		v = "(devel)"
	}
	for _, d := range bi.Deps {
		if d.Path == "github.com/open-policy-agent/opa" {
			return strings.TrimSpace(fmt.Sprintf("%s %s%s (opa %s, %s)", v, rev, dirty, d.Version, bi.GoVersion))
		}
	}
	return v
}

// beneath is what w writes to in the end.
func beneath(w io.Writer) io.Writer {
	if p, ok := w.(*plain.Writer); ok {
		return p.To()
	}
	return w
}

// isTerminal reports whether w is a terminal, and its width in columns, 80 where there is none.
func isTerminal(w io.Writer) (bool, int) {
	f, ok := beneath(w).(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return false, 80
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil || width <= 0 {
		return true, 80
	}
	return true, width
}

// note writes a line for a person on stderr.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.errOut, "winnow: "+clean(fmt.Sprintf(format, args...)))
}
