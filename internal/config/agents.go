package config

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// Agent is what is known of an agent or an orchestrator, agents/NAME.yaml. Its lists are added to those of the same keys in the defaults.
type Agent struct {
	Name  string `json:"agent" required:"begin with the name of the agent: agent: claude"`
	Title string `json:"title" required:"write what people call it: title: Claude Code"`
	// Seen is what it was written from: a version, the date (2026-11-24), and where that came from. Sources are where else it is said.
	Seen struct {
		Version string `json:"version"`
		Date    string `json:"date"`
		From    string `json:"from"`
	} `json:"seen"`
	Sources []string `json:"sources"`
	Collect struct {
		Processes struct {
			Markers []subject.Marker `json:"markers"`
		} `json:"processes"`
		Dirs struct {
			AgentFolders []string  `json:"agent_folders"`
			Projects     []Project `json:"projects"`
		} `json:"dirs"`
	} `json:"collect"`
	Rules struct {
		Agents          []string                 `json:"agents"`
		AgentScripts    []string                 `json:"agent_scripts"`
		AgentPackages   []string                 `json:"agent_packages"`
		AgentDaemons    []subject.AgentDaemon    `json:"agent_daemons"`
		PersonalDaemons []subject.PersonalDaemon `json:"personal_daemons"`
		SessionAgents   []subject.SessionAgent   `json:"session_agents"`
		IDMarkers       []string                 `json:"id_markers"`
		PIDMarkers      []string                 `json:"pid_markers"`
		MarkerRecords   []subject.MarkerRecord   `json:"marker_records"`
		HelperLabels    subject.Names            `json:"helper_labels"`
		EditorNames     subject.Names            `json:"editor_names"`
		ToolSessions    subject.Names            `json:"tool_sessions"`
		DisposableDirs  []string                 `json:"disposable_dirs"`
		WorktreeFolders []string                 `json:"worktree_folders"`
		RecordedFolders []subject.RecordedFolder `json:"recorded_folders"`
		Scaffold        []subject.Scaffold       `json:"scaffold"`
		LockReasons     []subject.LockReason     `json:"lock_reasons"`
		OverStatuses    []subject.OverStatuses   `json:"over_statuses"`
		ToolFiles       []string                 `json:"tool_files"`
		Rebuildable     []string                 `json:"rebuildable"`
	} `json:"rules"`
	// File is where it was read, "" for one that the program ships.
	File string `json:"-"`
}

// lists are the defaults that are too long for config.yaml, in its form.
//
//go:embed defaults/*.yaml
var lists embed.FS

// defaults are config.yaml, the lists, and what the agents' files add to them, as one document.
type defaults struct {
	root   *yaml.Node
	agents []Agent
	files  []sites // those of the operator
}

// shipped are the defaults that the program has in it.
func shipped() (*defaults, error) {
	d := &defaults{root: &yaml.Node{Kind: yaml.MappingNode}}
	wrong := d.add(winnow.DefaultConfig)
	for _, from := range []fs.FS{lists, winnow.Agents} {
		names, err := fs.Glob(from, "*/*.yaml")
		for wrong = cmp.Or(wrong, err); len(names) > 0 && wrong == nil; names = names[1:] {
			data, err := fs.ReadFile(from, names[0])
			switch {
			case err != nil:
				wrong = err
			case from == winnow.Agents:
				wrong = d.addAgent(Agent{}, names[0], data)
			default:
				wrong = d.add(data)
			}
		}
	}
	if wrong != nil {
		return nil, fmt.Errorf("read the defaults: %w", wrong)
	}
	return d, nil
}

func (d *defaults) add(data []byte) error {
	var doc yaml.Node
	err := yaml.Unmarshal(data, &doc)
	if err == nil {
		merge(d.root, doc.Content[0])
	}
	return err
}

// merge adds to each list of a document that of another one, and all that is only in that.
func merge(into, from *yaml.Node) {
	for i := 0; i+1 < len(from.Content); i += 2 {
		switch _, have := strict.Pair(into, from.Content[i].Value); {
		case have == nil:
			into.Content = append(into.Content, from.Content[i], from.Content[i+1])
		case have.Kind == yaml.MappingNode:
			merge(have, from.Content[i+1])
		default:
			have.Content = append(have.Content, from.Content[i+1].Content...)
		}
	}
}

// addAgent reads an agent's file. It refuses one of another shape, and one of another name than its agent's. The shape of those that the program ships a test
// holds, for it would be asked at each start.
func (d *defaults) addAgent(a Agent, name string, data []byte) error {
	shape := strict.Shape{Empty: "write agent: NAME and title: NAME into it"}
	if a.File != "" {
		shape.Type = reflect.TypeFor[Agent]()
	}
	f, err := strict.Read(name, data, shape, &a)
	if err != nil {
		return err
	}
	if want := filepath.Base(name); a.Name+".yaml" != want {
		return f.Bad(f.Line("agent"), "agent: %q; it wants the name of the file, without .yaml", a.Name)
	}
	for _, key := range []string{"collect", "rules"} {
		if _, from := strict.Pair(f.Root(), key); from != nil {
			_, into := strict.Pair(d.root, key)
			merge(into, from)
		}
	}
	d.agents = append(d.agents, a)
	return nil
}

// addFolder reads the agents' files in a folder of the operator. No other user can change the folder or a file.
func (d *defaults) addFolder(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("there is no folder %s, or no file NAME.yaml in it", folder)
	}
	for ; len(names) > 0 && err == nil; names = names[1:] {
		var f safeopen.File
		if f, err = safeopen.Read(context.Background(), names[0], ruling); err == nil {
			d.files = append(d.files, sites{file: names[0], data: f.Data})
			err = d.addAgent(Agent{File: names[0]}, names[0], f.Data)
		}
	}
	return err
}

// viper has the defaults, and takes what stands over them.
func (d *defaults) viper() (*viper.Viper, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	var all map[string]any
	err := d.root.Decode(&all)
	return v, cmp.Or(err, v.MergeConfigMap(all))
}
