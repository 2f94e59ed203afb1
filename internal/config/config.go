// Package config reads config.yaml: the defaults, the operator's file over them and the environment over both.
package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/records"
	"github.com/winnow-reaper/winnow/collectors/workplaces"
	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/sys/httppost"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
	"github.com/winnow-reaper/winnow/internal/text"
)

// UsageError is wrong use or wrong configuration: nothing was done.
type UsageError struct{ error }

func (m UsageError) Unwrap() error { return m.error }

// Usagef makes a UsageError; its message names the key or flag and the nearest right one.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Config is config.yaml as the program uses it. Durations under rules are seconds, as the policies see them.
type Config struct {
	Version int    `json:"version" required:"a file of Winnow begins with version: 1"`
	State   string `json:"state" path:"given"`
	// Record is of how many of the latest sweeps the ledger keeps what they saw, redacted.
	Record  int     `json:"record"`
	Collect Collect `json:"collect"`
	// Agents says where files of agents lie besides those of the program, and has what all of them say.
	Agents struct {
		Paths []string `json:"paths" path:"given"`
		Known []Agent  `json:"-"`
	} `json:"agents"`
	Policy Policy `json:"policy"`
	// DecisionLog says where decisions are written down for others.
	DecisionLog DecisionLog `json:"decision_log"`
	Rules       Rules       `json:"rules"`
	Alarms      Alarms      `json:"alarms"`
	Act         Act         `json:"act"`
	// Notify says what winnow run tells people by itself, and where.
	Notify Notify `json:"notify"`
	// Run says how the daemon runs.
	Run Run `json:"run"`
	// Console says where winnow console listens.
	Console Console `json:"console"`

	// File is where the operator's part came from, empty when the defaults alone hold. Digest is the SHA-256 of its bytes.
	File   string   `json:"-"`
	Digest [32]byte `json:"-"`

	// What can be held against the loaded rules only.
	levels     []subject.RuleLevel
	levelLines map[string]int
	custom     []customValue
	// shipped are the makers that the program knows: people use the names of their folders too.
	shipped struct {
		Rules struct{ Makers []subject.Maker }
	}
	// setLevels are those that SetLevels was given.
	setLevels []subject.RuleLevel
	// What the rest is read from again when layers of policies stand below it, and what they say of parameters of one's own rules.
	read      given
	layersOwn []customValue
	layered   int
}

// Collect says what is read.
type Collect struct {
	Tmux struct {
		Sockets []string `json:"sockets" path:"auto"`
	} `json:"tmux"`
	Herdr struct {
		Sockets []string `json:"sockets" path:"auto"`
	} `json:"herdr"`
	VSCode struct {
		Sockets []string `json:"sockets"`
	} `json:"vscode"`
	Shepherd struct {
		Stores []string `json:"stores" path:"auto"`
	} `json:"shepherd"`
	AgentOrchestrator struct {
		Stores []string `json:"stores" path:"auto"`
	} `json:"agent_orchestrator"`
	Claude struct {
		Sessions []string `json:"sessions" path:"auto"`
		Jobs     []string `json:"jobs" path:"auto"`
	} `json:"claude"`
	Codex struct {
		Threads []string `json:"threads" path:"auto"`
	} `json:"codex"`
	Copilot struct {
		Sessions []string `json:"sessions" path:"auto"`
	} `json:"copilot"`
	OpenCode struct {
		Stores []string `json:"stores" path:"auto"`
	} `json:"opencode"`
	Qwen struct {
		Projects []string `json:"projects" path:"auto"`
	} `json:"qwen"`
	Gemini struct {
		Projects []string `json:"projects" path:"auto"`
	} `json:"gemini"`
	Codev struct {
		Homes []string `json:"homes" path:"auto"`
		Tower string   `json:"tower"`
	} `json:"codev"`
	Processes struct {
		Root    string           `json:"root" path:"given"`
		Markers []subject.Marker `json:"markers"`
	} `json:"processes"`
	Dirs struct {
		Roots        []string `json:"roots" path:"given"`
		AgentFolders []string `json:"agent_folders" path:"given"`
		Discover     bool     `json:"discover"`
		// Fetch has sweep bring the remotes' default branches up to date before it looks.
		Fetch bool `json:"fetch"`
		// Sizes is how long one look measures what the folders that may go take up; 0 measures none.
		Sizes time.Duration `json:"sizes"`
		// DiscoverFrom are the places of work that repositories are looked for around, besides records; DiscoverUnder the folders that are searched
		// for them, and Projects what agents themselves write down.
		DiscoverFrom  []string  `json:"discover_from"`
		DiscoverUnder []string  `json:"discover_under" path:"given"`
		Projects      []Project `json:"projects"`
	} `json:"dirs"`
	Spawns   []Record `json:"spawns"`
	Registry []Record `json:"registry"`
	// Forge is off, gh or glab: who is asked for the pull requests of branches.
	Forge   string        `json:"forge"`
	Timeout time.Duration `json:"timeout"`
}

// Project is an agent's own record of the projects that it was used in.
type Project struct {
	Tool   string `json:"tool"`
	Path   string `json:"path" path:"given"`
	Format string `json:"format"`
	At     string `json:"at"`
}

// Record is a spawn ledger or a registry to read.
type Record struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Path   string `json:"path" path:"given"`
	// Fields lead from our names of a record's fields to those of the file, where that is a document.
	Fields map[string]string `json:"fields"`
}

// Policy says which policies decide, and within what bounds.
type Policy struct {
	Paths []string `json:"paths" path:"given"`
	// Bundles are got from a file or a server, and Polling says how often servers are asked.
	Bundles  []Bundle      `json:"bundles"`
	Polling  Polling       `json:"polling"`
	Embedded bool          `json:"embedded"`
	Timeout  time.Duration `json:"timeout"`
	Memory   uint64        `json:"memory"`
}

// DecisionLog says where decisions are written down for others, in OPA's format; it is off without a file and a service.
type DecisionLog struct {
	File struct {
		Path     string `json:"path" path:"optional"`
		MaxSize  Size   `json:"max_size"`
		MaxFiles int    `json:"max_files"`
	} `json:"file"`
	Service struct {
		URL       string `json:"url"`
		TokenFile string `json:"token_file" path:"optional"`
		// UploadSizeLimit bounds a request, compressed; Timeout how long the sending at the end of a sweep may take.
		UploadSizeLimit Size          `json:"upload_size_limit"`
		Timeout         time.Duration `json:"timeout"`
	} `json:"service"`
	// Input is redacted, full or none. Mask is a folder with rules of the package system.log, "" for none.
	Input  string  `json:"input"`
	Mask   string  `json:"mask" path:"optional"`
	Labels []Label `json:"labels"`
	// Buffer bounds what waits on disk for a sink.
	Buffer Size `json:"buffer"`
}

// Label is what every logged decision carries.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// The words of decision_log.input.
const (
	InputRedacted = "redacted"
	InputFull     = "full"
	InputNone     = "none"
)

// Enabled reports whether decisions are logged anywhere.
func (d DecisionLog) Enabled() bool { return d.File.Path != "" || d.Service.URL != "" }

// Rules is the rules section: what policies see as input.config, and the one parameter that the ledger's clock needs.
type Rules struct {
	subject.Config
	ClockJump float64 `json:"clock_jump" keeps:"unknown"`
}

// Alarms says when a report raises one.
type Alarms struct {
	Min              int           `json:"min"`
	Collapse         Ratio         `json:"collapse"`
	Remember         time.Duration `json:"remember"`
	SourceFailingFor time.Duration `json:"source_failing_for"`
	RefusedTimes     int           `json:"refused_times"`
}

// Act says what --apply may do.
type Act struct {
	// Enabled has winnow run act, and not only observe. Every other command acts by its own flag.
	Enabled  bool          `json:"enabled"`
	Kinds    []string      `json:"kinds"`
	Caps     Caps          `json:"caps"`
	TrashTTL time.Duration `json:"trash_ttl"`
	// RestoreHold is how long what was brought back is held. 0 holds nothing.
	RestoreHold time.Duration `json:"restore_hold"`
	// TrashMax bounds what lies in the trash: over it the oldest goes first, but nothing that is younger than TrashMaxKeeps. 0 is no
	// bound. Where less than the share TrashPressure of a trash's file system is free, the oldest there goes first, but nothing that is younger than
	// TrashPressureKeeps.
	TrashMax           Size          `json:"trash_max"`
	TrashMaxKeeps      time.Duration `json:"trash_max_keeps"`
	TrashPressure      Ratio         `json:"trash_pressure"`
	TrashPressureKeeps time.Duration `json:"trash_pressure_keeps"`
	TermGrace          time.Duration `json:"term_grace"`
}

// LeastEvery and MostEvery bound the time between two sweeps.
const LeastEvery, MostEvery = time.Second, 24 * time.Hour

// Run says when winnow run sweeps, and from when on it only observes.
type Run struct {
	// Every is the time between two sweeps that nothing calls for, give or take the share Jitter of it.
	Every  time.Duration `json:"every"`
	Jitter Ratio         `json:"jitter"`
	// Settle is for how long no event may have come before a sweep for events, Burst how long it waits for that at most.
	Settle time.Duration `json:"settle"`
	Burst  time.Duration `json:"burst"`
	// Rest is the least time between two sweeps of the schedule, and Share which part of all time they may take.
	Rest  time.Duration `json:"rest"`
	Share Ratio         `json:"share"`
	// FullEvery says that one sweep in so many is whole, also where no stamp changed; up to 1 all are.
	FullEvery int      `json:"full_every"`
	Brakes    Brakes   `json:"brakes"`
	Pressure  Pressure `json:"pressure"`
	// TmuxHooks has tmux servers tell of what happens on them, by entries in their hooks.
	TmuxHooks bool    `json:"tmux_hooks"`
	Metrics   Metrics `json:"metrics"`
	API       API     `json:"api"`
}

// API says whether the daemon answers this user's programs, and where.
type API struct {
	Enabled bool `json:"enabled"`
	// Socket is the path of the unix socket; "" for api.sock in the state folder.
	Socket string `json:"socket" path:"optional"`
}

// APISocket is where the daemon of this configuration answers.
func (c *Config) APISocket() string {
	return cmp.Or(c.Run.API.Socket, filepath.Join(c.State, "api.sock"))
}

// Pressure says from when on the machine is short of something, and how many times as often the daemon sweeps then. A limit of zero is never reached.
type Pressure struct {
	// Memory and IO are shares of the last minute in which some tasks waited for memory, or for disks; DiskFree and InodesFree the share of a file system that is free.
	Memory     Ratio `json:"memory"`
	IO         Ratio `json:"io"`
	DiskFree   Ratio `json:"disk_free"`
	InodesFree Ratio `json:"inodes_free"`
	Hurry      Ratio `json:"hurry"`
}

// Brakes says from when on the daemon only observes. A zero turns a brake off.
type Brakes struct {
	CapTimes       int           `json:"cap_times"`
	CameBackWithin time.Duration `json:"came_back_within"`
}

// Caps bounds what one sweep may do. Share is a Ratio: no duration is taken for it.
type Caps struct {
	PerSweep  int   `json:"per_sweep"`
	Share     Ratio `json:"share"`
	ShareFrom int   `json:"share_from"`
	PerOwner  int   `json:"per_owner"`
	// JumpWithin and ShrunkWithin are how far back looks are compared: for what was in use, and for how much a record gave.
	JumpWithin   time.Duration `json:"jump_within"`
	ShrunkWithin time.Duration `json:"shrunk_within"`
}

// Ratio is a number for which no duration is taken.
type Ratio float64

// Floor are the caps as the actuators take them.
func (c Caps) Floor() actuators.Caps {
	return actuators.Caps{PerSweep: c.PerSweep, Share: float64(c.Share), ShareFrom: c.ShareFrom, PerOwner: c.PerOwner}
}

// Load reads the defaults, the operator's file over them and the environment over both. Every error is a UsageError that
// names the key.
func Load(file string, env []string) (*Config, error) {
	path, data, err := find(file)
	if err != nil {
		return nil, err
	}
	return load(path, data, env)
}

// Parse is Load of a file that was read somewhere else, such as in a revision of a repository: name is what messages call it.
func Parse(name string, data []byte, env []string) (*Config, error) {
	if len(data) > MaxFile {
		return nil, Usagef("read %s: %d bytes, and %d are the most; nothing was done", name, len(data), MaxFile)
	}
	return load(name, data, env)
}

// Defaults is the configuration that holds where the operator has none.
func Defaults() (*Config, error) { return load("", nil, nil) }

// given is what a configuration is read from.
type given struct {
	path string
	data []byte
	env  []string
}

// load reads the defaults, what layers of policies say of parameters over them, then the file, and then the environment.
func load(path string, data []byte, env []string, below ...*Layer) (*Config, error) {
	if path != "" { // before all else: most of what is refused is refused here
		if _, err := strict.Read(path, data, shape(), nil); err != nil {
			return nil, Usagef("%w; nothing was done", err)
		}
	}
	base, err := shipped()
	if err != nil {
		return nil, err
	}
	c := Config{read: given{path, data, env}}
	at := sites{file: path, data: data}
	v, err := c.merge(base, &at, below)
	if err != nil {
		return nil, err
	}
	if paths := v.GetStringSlice("agents.paths"); len(paths) > 0 {
		for _, p := range paths {
			folder, err := expandFrom(at.folder("agents.paths"), p)
			if err == nil {
				err = base.addFolder(folder)
			}
			if err != nil {
				return nil, Usagef("%s: agents.paths: %w; nothing was done", at.placeOf("agents.paths"), err)
			}
		}
		c = Config{read: c.read} // what was merged stands below nothing else, so it is merged once more
		if v, err = c.merge(base, &at, below); err != nil {
			return nil, err
		}
	}
	c.Agents.Known, at.agents = base.agents, base.files

	err = v.Unmarshal(&c, func(dc *mapstructure.DecoderConfig) {
		dc.ErrorUnused = true
		dc.TagName = "json"
		dc.Squash = true
		dc.DecodeHook = mapstructure.ComposeDecodeHookFunc(durations, amounts, markers, mapstructure.StringToSliceHookFunc(","))
	})
	all := slices.Clip(data)
	for _, f := range base.files {
		all = append(all, f.data...)
	}
	c.File, c.Digest = path, sha256.Sum256(all)
	if err != nil { // the file was held against its shape, so a variable is wrong
		said := strings.Fields(strings.TrimPrefix(err.Error(), "decoding failed due to the following error(s):"))
		return nil, Usagef("%s: %s; nothing was done", at.variable(err.Error()), strings.Join(said, " "))
	}
	c.Rules.Levels = notOn(c.levels)
	for _, a := range c.Agents.Known {
		if a.File == "" {
			c.Rules.Vendors = append(c.Rules.Vendors, subject.SessionAgent{Name: a.Name, Programs: a.Rules.Agents, Packages: a.Rules.AgentPackages})
		}
	}
	if err := c.describeMarkers(at); err != nil {
		return nil, err
	}
	if err := c.expand(at); err != nil {
		return nil, err
	}
	if err := cmp.Or(base.root.Decode(&c.shipped), c.check(at)); err != nil {
		return nil, err
	}
	return &c, nil
}

// merge lays layers of policies, the file and the environment over the defaults.
func (c *Config) merge(base *defaults, at *sites, below []*Layer) (*viper.Viper, error) {
	v, err := base.viper()
	if err != nil {
		return nil, err
	}
	known := v.AllKeys()
	for _, l := range below {
		if err := v.MergeConfigMap(map[string]any{"rules": l.parameters}); err != nil {
			return nil, Usagef("read %s: %v", l.File, err)
		}
	}
	env := c.read.env
	if at.file != "" {
		rest, err := c.takeRules(at.file, at.data)
		if err != nil {
			return nil, Usagef("%w; nothing was done", err)
		}
		if err := v.MergeConfig(bytes.NewReader(rest)); err != nil {
			return nil, Usagef("read %s: %v", at.file, err)
		}
	}
	if name := EnvName(levelsKey); slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") && e != name+"=" }) {
		return nil, Usagef("%s: the levels of rules are not read from the environment: write %s in config.yaml; nothing was done", name, levelsKey)
	}
	at.set = bindEnv(v, known, env)
	c.customFromEnv(env)
	return v, nil
}

// bindEnv lets WINNOW_COLLECT_TIMEOUT stand over collect.timeout, and so on for every key. It gives the keys that were set so.
func bindEnv(v *viper.Viper, known, env []string) map[string]bool {
	set := map[string]string{}
	for _, e := range env {
		if k, val, ok := strings.Cut(e, "="); ok && strings.HasPrefix(k, EnvPrefix) {
			set[k] = val
		}
	}
	keys := map[string]bool{}
	for _, k := range known {
		if val := set[EnvName(k)]; val != "" { // an empty text is not a value
			v.Set(k, val)
			keys[k] = true
		}
	}
	return keys
}

// EnvPrefix begins the name of every variable of the environment that stands over a key or a flag.
const EnvPrefix = "WINNOW_"

// Auto stands in a list of sockets or files for those that their program itself would use.
const Auto = "auto"

// EnvName is the variable for a key or a flag.
func EnvName(key string) string {
	return EnvPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// UnknownEnv lists WINNOW_ variables that are neither a flag's nor a key's, each with the nearest that is.
func UnknownEnv(env, flags []string) (out []string) {
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, EnvPrefix) }) {
		return nil // most often; reading the defaults for it takes longer than all else at the start
	}
	base, err := shipped()
	if err != nil {
		return nil
	}
	v, _ := base.viper()
	names := append(slices.Clip(flags), EnvName(levelsKey)) // which is refused, with what to write instead
	names = append(names, text.Map(v.AllKeys(), EnvName)...)
	for _, e := range env {
		k, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(k, EnvPrefix) && !strings.HasPrefix(k, customEnv) && !slices.Contains(names, k) {
			if near := spelling.Near(k, names); near != "" {
				k += " (the nearest is " + near + ")"
			}
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// check refuses values that no default has and no rule could mean. It gives the first that is wrong.
func (c *Config) check(at sites) (wrong error) {
	must := func(right bool, format string, args ...any) {
		if !right && wrong == nil {
			text := fmt.Sprintf(format, args...)
			wrong = Usagef("%s: %s; nothing was done", at.placeOf(text), text)
		}
	}
	must(c.Version == 1, "version is %d; this program reads version 1", c.Version)
	for _, s := range c.Collect.Herdr.Sockets {
		must(!strings.HasSuffix(s, "-client.sock"),
			"collect.herdr.sockets: %q is the socket of herdr's own window, which speaks another protocol; name herdr.sock beside it", s)
	}
	for kind, all := range map[string][]Record{records.Spawns: c.Collect.Spawns, records.Registry: c.Collect.Registry} {
		for _, r := range all {
			r.checkFields(kind, must)
		}
	}
	c.checkOver(must)
	c.DecisionLog.check(must)
	kinds := snapshot.KindNames()
	for _, k := range c.Act.Kinds {
		must(slices.Contains(kinds, k), "act.kinds: unknown kind %q%s", k, spelling.Hint(k, kinds))
	}
	c.checkPatterns(must)
	c.checkPrograms(must)
	c.checkScaffold(must)
	c.checkDiscovery(must)
	for key, n := range map[string]int{
		"act.caps.per_sweep": c.Act.Caps.PerSweep, "act.caps.per_owner": c.Act.Caps.PerOwner, "act.caps.share_from": c.Act.Caps.ShareFrom,
		"alarms.min": c.Alarms.Min, "alarms.refused_times": c.Alarms.RefusedTimes, "rules.busy.written": int(c.Rules.Busy.Written),
	} {
		must(n >= 0, "%s is negative", key)
	}
	share, collapse, age := c.Act.Caps.Share, c.Alarms.Collapse, c.Rules.Runaway.MinAge
	must(share >= 0 && share <= 1, "act.caps.share is %v; it is a share between 0 and 1", float64(share))
	must(c.Act.TrashPressure >= 0 && c.Act.TrashPressure < 1, "act.trash_pressure is %v; it is a share of a file system, from 0 (off) to less than 1", float64(c.Act.TrashPressure))
	must(collapse > 0 && collapse <= 1, "alarms.collapse is %v; it is a share between 0 and 1", float64(collapse))
	must(age >= 60 && age <= 86400, "rules.runaway.min_age is %s; it is a time from 1m to 24h", Seconds(age))
	must(c.Record >= 0 && c.Record <= maxRecord, "record is %d; it is a number of sweeps from 0 to %d", c.Record, maxRecord)
	cpu, busy := c.Rules.Runaway.MinCPU, c.Rules.Busy.CPU
	must(cpu >= 0.05 && cpu <= 1, "rules.runaway.min_cpu is %v; it is a number of processors from 0.05 to 1", cpu)
	must(busy >= 0 && busy <= 1, "rules.busy.cpu is %v; it is a number of processors from 0 to 1", busy)
	for _, f := range c.Rules.RecordedFolders {
		must(f.Name != "" && f.Format != "" && !strings.Contains(f.Name, "/"),
			"rules.recorded_folders: %q with format %q; it wants the name of one folder and the format of its records", f.Name, f.Format)
	}
	must(c.Collect.Timeout > 0, "collect.timeout must be more than 0")
	must(slices.Contains([]string{"off", "gh", "glab"}, c.Collect.Forge), "collect.forge is %q; it is off, gh or glab", c.Collect.Forge)
	c.Run.check(must)
	c.Notify.check(must)
	c.Console.check(must)
	c.Policy.checkBundles(must)
	must(c.Policy.Timeout > 0 && c.Policy.Memory > 0, "policy.timeout and policy.memory must be more than 0")
	return wrong
}

// check refuses times at which the daemon would sweep without a pause, or never.
func (r *Run) check(must func(ok bool, format string, args ...any)) {
	must(r.Every >= LeastEvery && r.Every <= MostEvery, "run.every is %s; it is a time from 1s to 24h", r.Every)
	must(r.Jitter >= 0 && r.Jitter <= 1, "run.jitter is %v; it is a share between 0 and 1", float64(r.Jitter))
	must(r.Share > 0 && r.Share <= 1, "run.share is %v; it is a share of all time, more than 0 and up to 1", float64(r.Share))
	must(r.Settle > 0 && r.Burst >= r.Settle, "run.settle is %s and run.burst %s; settle is more than 0s, and burst as long at least", r.Settle, r.Burst)
	must(r.FullEvery >= 0, "run.full_every is %d; it is a number of sweeps", r.FullEvery)
	must(r.Rest > 0, "run.rest is %s; it is more than 0s", r.Rest)
	for _, share := range []struct {
		name string
		of   Ratio
	}{{"memory", r.Pressure.Memory}, {"io", r.Pressure.IO}, {"disk_free", r.Pressure.DiskFree}, {"inodes_free", r.Pressure.InodesFree}} {
		must(share.of >= 0 && share.of <= 1, "run.pressure.%s is %v; it is a share between 0 and 1", share.name, float64(share.of))
	}
	must(r.Pressure.Hurry >= 1 && r.Pressure.Hurry <= 100, "run.pressure.hurry is %v; it is a number from 1 to 100", float64(r.Pressure.Hurry))
	must(r.Brakes.CapTimes >= 0 && r.Brakes.CameBackWithin >= 0, "run.brakes: cap_times is %d and came_back_within %s; neither is negative", r.Brakes.CapTimes, r.Brakes.CameBackWithin)
	r.Metrics.check(must)
}

// maxRecord is the most sweeps that are recorded: a day of one a minute.
const maxRecord = 1500

// need notes what is wrong unless it is right.
type need func(right bool, format string, args ...any)

// check refuses what could be logged nowhere, or would tell others more than was meant.
func (d DecisionLog) check(must need) {
	inputs := []string{InputRedacted, InputFull, InputNone}
	must(slices.Contains(inputs, d.Input), "decision_log.input: unknown word %q%s", d.Input, spelling.Hint(d.Input, inputs))
	must(d.File.MaxSize > 0 && d.File.MaxFiles > 0, "decision_log.file: max_size and max_files must be more than 0")
	must(d.File.MaxFiles <= 1000, "decision_log.file.max_files is %d; it is a number from 1 to 1000", d.File.MaxFiles)
	must(d.Service.UploadSizeLimit > 0 && d.Service.Timeout > 0, "decision_log.service: upload_size_limit and timeout must be more than 0")
	must(d.Service.Timeout <= time.Minute, "decision_log.service.timeout is %s; a sweep waits for it, so it is at most 1m", d.Service.Timeout)
	must(d.Buffer > 0, "decision_log.buffer must be more than 0")
	for _, l := range d.Labels {
		must(l.Name != "" && l.Name != "id" && l.Name != "version", "decision_log.labels: %q is no name of a label: id and version are given already", l.Name)
	}
	if d.Service.URL == "" {
		must(d.Service.TokenFile == "", "decision_log.service.token_file: there is no url to send it to")
		return
	}
	err, unix := httppost.Check(d.Service.URL, true), strings.HasPrefix(d.Service.URL, httppost.Unix)
	must(!unix && err == nil || errors.Is(err, httppost.ErrHome), "decision_log.service.url: it wants an address such as https://logs.example.org: %v", err)
	must(d.Service.TokenFile == "" || err == nil, "decision_log.service.url %q: a token is sent over https only, or to this machine", d.Service.URL)
}

// checkScaffold refuses what would mean nothing, or more than a file or link of a tool's.
func (c *Config) checkScaffold(must need) {
	for _, s := range c.Rules.Scaffold {
		must(s.Tool != "" && len(s.Paths)+len(s.Links) > 0 && !(s.Reports && len(s.Links) > 0),
			"rules.scaffold: %q with %d paths and %d links; it wants the tool's name and what that writes, and reports are files", s.Tool, len(s.Paths), len(s.Links))
		for _, p := range slices.Concat(s.Paths, s.Links) {
			must(filepath.IsLocal(p) && filepath.Clean(p) == p && p != "." && p != ".git" && !strings.HasPrefix(p, ".git/"),
				"rules.scaffold: %q of %s is no path of a file in a worktree, such as .tool/settings.json", p, s.Tool)
		}
		for _, name := range s.In {
			must(name != "" && !strings.Contains(name, "/"), "rules.scaffold: in of %s wants names of folders, such as .worktrees; %q is not one", s.Tool, name)
		}
	}
}

// The words of collect.dirs.discover_from.
const (
	FromLedger = "ledger"
	FromAgents = "agents"
	FromUnder  = "under"
)

var discoveries = []string{collectors.FromProcesses, collectors.FromPanes, FromLedger, FromAgents, FromUnder}

// checkDiscovery refuses words and forms that find nothing.
func (c *Config) checkDiscovery(must need) {
	for _, from := range c.Collect.Dirs.DiscoverFrom {
		must(slices.Contains(discoveries, from), "collect.dirs.discover_from: unknown word %q%s", from, spelling.Hint(from, discoveries))
	}
	for _, p := range c.Collect.Dirs.Projects {
		must(slices.Contains(workplaces.Formats, p.Format), "collect.dirs.projects: %s has the unknown format %q%s", p.Tool, p.Format, spelling.Hint(p.Format, workplaces.Formats))
		table, column, _ := strings.Cut(p.At, ".")
		must(p.Format != workplaces.SQLite || table != "" && column != "", "collect.dirs.projects: at of %s is %q; a database wants its table and the column: project.worktree", p.Tool, p.At)
		must(p.Tool != "" && p.Path != "" && p.At != "", "collect.dirs.projects: %q wants tool, path, format and at", p.Tool)
	}
}

func (r Record) checkFields(kind string, must need) {
	names := text.Map(records.FieldNames(kind, r.Format), func(name string) string { return "fields." + name })
	must(names != nil || len(r.Fields) == 0, "collect: %s has fields and the format %q; fields are for the formats %s, %s and %s",
		r.Name, r.Format, records.JSON, records.JSONL, records.Kapi)
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		name = "fields." + name
		must(slices.Contains(names, name), "collect.%s: %s: unknown key %q%s", kind, r.Name, name, spelling.Hint(name, names))
	}
}

// checkOver refuses what could take an owner for one that has ended whose record does not say so.
func (c *Config) checkOver(must need) {
	seen, formats := map[string]bool{}, []string{records.Kapi, records.Shepherd, records.Codev, records.ClaudeJobs}
	for _, o := range c.Rules.OverStatuses {
		must(slices.Contains(formats, o.Format), "rules.over_statuses: %q is not one of the formats %s; of all others rules.terminal_statuses says it",
			o.Format, strings.Join(formats, ", "))
		must(!seen[o.Format], "rules.over_statuses: the format %s is there twice", o.Format)
		must(!slices.Contains(o.Statuses, ""), "rules.over_statuses: a status of %s is empty; a missing status never means that an owner has ended", o.Format)
		seen[o.Format] = true
	}
}

// Limits are what alarms go by.
func (c Alarms) Limits() alarm.Limits {
	return alarm.Limits{
		Min: c.Min, Collapse: float64(c.Collapse), Remember: c.Remember, SourceFailingFor: c.SourceFailingFor, RefusedTimes: c.RefusedTimes,
	}
}
