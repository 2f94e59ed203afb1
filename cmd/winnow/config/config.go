// Package config reads config.yaml: the defaults, the operator's file over them and the environment over both.
package config

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"winnow"
	"winnow/actuators"
	"winnow/cmd/winnow/strict"
	"winnow/cmd/winnow/text"
	"winnow/collectors/records"
	"winnow/engine/alarm"
	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// Mistake is wrong use or wrong configuration: nothing was done.
type Mistake struct{ error }

func (m Mistake) Unwrap() error { return m.error }

// Mistakef makes a Mistake; its message names the key or flag and the nearest right one.
func Mistakef(format string, args ...any) error { return Mistake{fmt.Errorf(format, args...)} }

// Config is config.yaml as the program uses it. Durations under rules are seconds, as the policies see them.
type Config struct {
	Version int     `json:"version"`
	State   string  `json:"state"`
	Collect Collect `json:"collect"`
	Policy  Policy  `json:"policy"`
	Rules   Rules   `json:"rules"`
	Alarms  Alarms  `json:"alarms"`
	Act     Act     `json:"act"`

	// File is where the operator's part came from, empty when the defaults alone hold. Digest is the SHA-256 of its bytes.
	File   string   `json:"-"`
	Digest [32]byte `json:"-"`
}

// Collect says what is read.
type Collect struct {
	Tmux struct {
		Sockets []string `json:"sockets"`
	} `json:"tmux"`
	Herdr struct {
		Sockets []string `json:"sockets"`
	} `json:"herdr"`
	Shepherd struct {
		Stores []string `json:"stores"`
	} `json:"shepherd"`
	Claude struct {
		Sessions []string `json:"sessions"`
	} `json:"claude"`
	Codev struct {
		Homes []string `json:"homes"`
		Tower string   `json:"tower"`
	} `json:"codev"`
	Processes struct {
		Root    string   `json:"root"`
		Markers []string `json:"markers"`
	} `json:"processes"`
	Dirs struct {
		Roots        []string `json:"roots"`
		AgentFolders []string `json:"agent_folders"`
		Discover     bool     `json:"discover"`
	} `json:"dirs"`
	Spawns   []Record      `json:"spawns"`
	Registry []Record      `json:"registry"`
	Timeout  time.Duration `json:"timeout"`
}

// Record is a spawn ledger or a registry to read.
type Record struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Path   string `json:"path"`
	// Fields lead from our names of a record's fields to those of the file, where that is a document.
	Fields map[string]string `json:"fields"`
}

// Policy says which policies decide, and within what bounds.
type Policy struct {
	Paths    []string      `json:"paths"`
	Embedded bool          `json:"embedded"`
	Timeout  time.Duration `json:"timeout"`
	Memory   uint64        `json:"memory"`
}

// Rules is the rules section: what policies see as input.config, and the one parameter that the ledger's clock needs.
type Rules struct {
	subject.Config
	ClockJump float64 `json:"clock_jump"`
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
	Kinds     []string      `json:"kinds"`
	Caps      Caps          `json:"caps"`
	TrashTTL  time.Duration `json:"trash_ttl"`
	TermGrace time.Duration `json:"term_grace"`
}

// Caps bounds what one sweep may do. Share is a Ratio: no duration is taken for it.
type Caps struct {
	PerSweep  int   `json:"per_sweep"`
	Share     Ratio `json:"share"`
	ShareFrom int   `json:"share_from"`
	PerOwner  int   `json:"per_owner"`
}

// Ratio is a number for which no duration is taken.
type Ratio float64

// Floor are the caps as the actuators take them.
func (c Caps) Floor() actuators.Caps {
	return actuators.Caps{PerSweep: c.PerSweep, Share: float64(c.Share), ShareFrom: c.ShareFrom, PerOwner: c.PerOwner}
}

// Load reads the defaults, the operator's file over them and the environment over both. Every error is a Mistake that
// names the key.
func Load(file string, env []string) (*Config, error) {
	path, data, err := find(file)
	if err != nil {
		return nil, err
	}
	return load(path, data, env)
}

// Defaults is the configuration that holds where the operator has none.
func Defaults() (*Config, error) { return load("", nil, nil) }

func load(path string, data []byte, env []string) (*Config, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(winnow.DefaultConfig)); err != nil {
		return nil, fmt.Errorf("read the defaults: %w", err)
	}
	known := v.AllKeys()
	if path != "" {
		if err := strict.Check(path, data, shape()); err != nil {
			return nil, Mistakef("%w; nothing was done", err)
		}
		if err := v.MergeConfig(bytes.NewReader(data)); err != nil {
			return nil, Mistakef("read %s: %v", path, err)
		}
	}
	set := bindEnv(v, known, env)

	var c Config
	var md mapstructure.Metadata
	err := v.Unmarshal(&c, func(dc *mapstructure.DecoderConfig) {
		dc.Metadata = &md
		dc.TagName = "json"
		dc.Squash = true
		dc.DecodeHook = mapstructure.ComposeDecodeHookFunc(durations, mapstructure.StringToSliceHookFunc(","))
	})
	where := path
	if where == "" {
		where = "the environment"
	}
	if err != nil {
		return nil, Mistakef("%s: %s", where, tidyDecode(err))
	}
	if len(md.Unused) > 0 {
		slices.Sort(md.Unused)
		return nil, unknownKey(where, md.Unused[0], known)
	}
	c.File, c.Digest = path, sha256.Sum256(data)
	if err := c.expand(set); err != nil {
		return nil, err
	}
	if err := c.check(where); err != nil {
		return nil, err
	}
	return &c, nil
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
		if val := set[EnvName(k)]; val != "" { // an empty text is no value
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
func UnknownEnv(env, flags []string) []string {
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, EnvPrefix) }) {
		return nil // most often; reading the defaults for it takes longer than all else at the start
	}
	v := viper.New()
	v.SetConfigType("yaml")
	if v.ReadConfig(bytes.NewReader(winnow.DefaultConfig)) != nil {
		return nil
	}
	names := slices.Clone(flags)
	for _, k := range v.AllKeys() {
		names = append(names, EnvName(k))
	}
	var out []string
	for _, e := range env {
		k, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(k, EnvPrefix) && !slices.Contains(names, k) {
			out = append(out, k+" (the nearest is "+text.Nearest(k, names)+")")
		}
	}
	slices.Sort(out)
	return out
}

func tidyDecode(err error) string {
	s := strings.TrimPrefix(err.Error(), "decoding failed due to the following error(s):")
	return strings.Join(strings.Fields(s), " ")
}

func unknownKey(where, key string, known []string) error {
	key = strings.ToLower(key)
	return Mistakef("%s: unknown key %q; the nearest is %q", where, key, text.Nearest(key, known))
}

// check refuses values that no default has and no rule could mean.
func (c *Config) check(where string) error {
	bad := func(format string, args ...any) error { return Mistakef("%s: %s", where, fmt.Sprintf(format, args...)) }
	if c.Version != 1 {
		return bad("version is %d; this program reads version 1", c.Version)
	}
	for _, s := range c.Collect.Herdr.Sockets {
		if strings.HasSuffix(s, "-client.sock") {
			return bad("collect.herdr.sockets: %q is the socket of herdr's own window, which speaks another protocol; name herdr.sock beside it", s)
		}
	}
	for kind, all := range map[string][]Record{records.Spawns: c.Collect.Spawns, records.Registry: c.Collect.Registry} {
		for _, r := range all {
			if err := r.checkFields(kind, bad); err != nil {
				return err
			}
		}
	}
	if err := c.checkOver(bad); err != nil {
		return err
	}
	for _, k := range c.Act.Kinds {
		if !slices.Contains(snapshot.KindNames(), k) {
			return bad("act.kinds: unknown kind %q; the nearest is %q", k, text.Nearest(k, snapshot.KindNames()))
		}
	}
	if err := c.checkPatterns(bad); err != nil {
		return err
	}
	if err := c.checkPrograms(bad); err != nil {
		return err
	}
	for _, re := range c.Rules.DisposableDirs {
		if _, err := regexp.Compile(re); err != nil {
			return bad("rules.disposable_dirs: %v", err)
		}
	}
	if s := c.Act.Caps.Share; !(s >= 0 && s <= 1) {
		return bad("act.caps.share is %v; it is a share between 0 and 1", float64(s))
	}
	if s := c.Alarms.Collapse; !(s > 0 && s <= 1) {
		return bad("alarms.collapse is %v; it is a share between 0 and 1", float64(s))
	}
	for key, n := range map[string]int{
		"act.caps.per_sweep": c.Act.Caps.PerSweep, "act.caps.per_owner": c.Act.Caps.PerOwner, "act.caps.share_from": c.Act.Caps.ShareFrom,
		"alarms.min": c.Alarms.Min, "alarms.refused_times": c.Alarms.RefusedTimes, "rules.busy.written": int(c.Rules.Busy.Written),
	} {
		if n < 0 {
			return bad("%s is negative", key)
		}
	}
	if age := c.Rules.Runaway.MinAge; !(age >= 60 && age <= 86400) {
		return bad("rules.runaway.min_age is %s; it is a time from 1m to 24h", Seconds(age))
	}
	if cpu := c.Rules.Runaway.MinCPU; !(cpu >= 0.05 && cpu <= 1) {
		return bad("rules.runaway.min_cpu is %v; it is a number of processors from 0.05 to 1", cpu)
	}
	if cpu := c.Rules.Busy.CPU; !(cpu >= 0 && cpu <= 1) {
		return bad("rules.busy.cpu is %v; it is a number of processors from 0 to 1", cpu)
	}
	for _, d := range c.Rules.AgentDaemons {
		if d.Name == "" || len(d.Programs) == 0 || len(d.Args) == 0 {
			return bad("rules.agent_daemons: %q with %d programs and %d args; it wants a name, a program and what its command line begins with",
				d.Name, len(d.Programs), len(d.Args))
		}
	}
	for _, f := range c.Rules.RecordedFolders {
		if f.Name == "" || f.Format == "" || strings.Contains(f.Name, "/") {
			return bad("rules.recorded_folders: %q with format %q; it wants the name of one folder and the format of its records", f.Name, f.Format)
		}
	}
	if err := checkScaffold(c.Rules.Scaffold, bad); err != nil {
		return err
	}
	if c.Collect.Timeout <= 0 {
		return bad("collect.timeout must be more than 0")
	}
	if c.Policy.Timeout <= 0 || c.Policy.Memory == 0 {
		return bad("policy.timeout and policy.memory must be more than 0")
	}
	return nil
}

// checkScaffold refuses what would mean nothing, or more than a file or link of a tool's.
func checkScaffold(list []subject.Scaffold, bad func(string, ...any) error) error {
	for _, s := range list {
		if s.Tool == "" || len(s.Paths)+len(s.Links) == 0 || s.Reports && len(s.Links) > 0 {
			return bad("rules.scaffold: %q with %d paths and %d links; it wants the tool's name and what that writes, and reports are files", s.Tool, len(s.Paths), len(s.Links))
		}
		for _, p := range slices.Concat(s.Paths, s.Links) {
			if !filepath.IsLocal(p) || filepath.Clean(p) != p || p == "." || p == ".git" || strings.HasPrefix(p, ".git/") {
				return bad("rules.scaffold: %q of %s is no path of a file in a worktree, such as .tool/settings.json", p, s.Tool)
			}
		}
		for _, name := range s.In {
			if name == "" || strings.Contains(name, "/") {
				return bad("rules.scaffold: in of %s wants names of folders, such as .worktrees; %q is not one", s.Tool, name)
			}
		}
	}
	return nil
}

func (r Record) checkFields(kind string, bad func(string, ...any) error) error {
	names := records.FieldNames(kind, r.Format)
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		if names == nil {
			return bad("collect: %s has fields and the format %q; fields are for the formats %s, %s and %s", r.Name, r.Format, records.JSON, records.JSONL, records.Kapi)
		}
		if !slices.Contains(names, name) {
			return bad("collect.%s: %s: unknown key \"fields.%s\"; the nearest is \"fields.%s\"", kind, r.Name, name, text.Nearest(name, names))
		}
	}
	return nil
}

// checkOver refuses what could take an owner for one that has ended whose record does not say so.
func (c *Config) checkOver(bad func(string, ...any) error) error {
	seen := map[string]bool{}
	for _, o := range c.Rules.OverStatuses {
		switch {
		case o.Format != records.Kapi && o.Format != records.Shepherd && o.Format != records.Codev:
			return bad("rules.over_statuses: %q is not one of the formats %s, %s and %s; of all others rules.terminal_statuses says it",
				o.Format, records.Kapi, records.Shepherd, records.Codev)
		case seen[o.Format]:
			return bad("rules.over_statuses: the format %s is there twice", o.Format)
		case slices.Contains(o.Statuses, ""):
			return bad("rules.over_statuses: a status of %s is empty; a missing status never means that an owner has ended", o.Format)
		}
		seen[o.Format] = true
	}
	return nil
}

// Limits are what alarms go by.
func (c Alarms) Limits() alarm.Limits {
	return alarm.Limits{
		Min: c.Min, Collapse: float64(c.Collapse), Remember: c.Remember, SourceFailingFor: c.SourceFailingFor, RefusedTimes: c.RefusedTimes,
	}
}
