package vscode

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/winnow-reaper/winnow/actuators"
	"github.com/winnow-reaper/winnow/actuators/panes"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/vscode"
)

// plan is what an act uses, and what a tab like the closed one is opened from. It stands in the intent, and as manifest.json in the trash.
type plan struct {
	Act     string   `json:"act"`
	Socket  string   `json:"socket"`
	Window  string   `json:"window"`
	Folders []string `json:"folders"`
	N       int      `json:"n"`
	Name    string   `json:"name"`
	// CreationName is what it was called when it was opened, "" where it got no name.
	CreationName string `json:"creation_name,omitempty"`
	Shape        string `json:"shape"`
	// Program is the base name of what it was made to run, "" for the person's own shell or where that is not known, and Cwd the folder that
	// it was opened in.
	Program string `json:"program,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	// Folder is where the manifest is.
	Folder string `json:"folder"`
}

// held is one tab that is to be closed. A tab cannot be held as a process can, so each step reads it again.
type held struct {
	*Actuator
	id     decision.Editor
	plan   plan
	text   json.RawMessage
	undone bool // whether something was saved, and nothing was done after it
}

// Hold implements actuators.Actuator. It judges nothing.
func (a *Actuator) Hold(ctx context.Context, act string, d decision.Decision) (actuators.Held, error) {
	id := d.Identity.Editor
	if err := admissible(act, d.ID, id); err != nil {
		return nil, err
	}
	hello, all, err := vscode.List(ctx, a.window(id), nil)
	if err != nil {
		return nil, unread(id, err)
	}
	t := vscode.Find(all, id.N)
	if err := checkTab(id, hello, t); err != nil {
		return nil, err
	}
	if err := a.ended(id); err != nil {
		return nil, err
	}
	h := &held{Actuator: a, id: *id, plan: plan{
		Act: act, Socket: id.Socket, Window: id.Window, Folders: hello.Folders, N: id.N, Name: id.Name, CreationName: id.CreationName,
		Shape: id.Shape, Cwd: t.Cwd, Folder: filepath.Join(a.Trash, act),
	}}
	if t.Program != nil {
		h.plan.Program = *t.Program
	}
	h.text, err = json.Marshal(h.plan)
	return h, err
}

// Plan implements actuators.Held.
func (h *held) Plan() json.RawMessage { return h.text }

// Save implements actuators.Held. No editor gives what a tab shows; what it was is kept.
func (h *held) Save(context.Context) error {
	h.Step(StepSave)
	if err := h.keptText().Save(h.plan, func(panes.Writer) error { return nil }); err != nil {
		return actuators.Refused("%s: %w; it was left untouched", called(&h.id), err)
	}
	h.undone = true
	return nil
}

func (h *held) keptText() panes.Kept { return panes.Kept{Trash: h.Trash, Act: h.plan.Act} }

// Close implements actuators.Held.
func (h *held) Close() error {
	if !h.undone {
		return nil
	}
	h.undone = false
	if _, err := h.keptText().Purge(); err != nil {
		return fmt.Errorf("%s was not closed, and what was kept of it in %s could not be removed: %w", called(&h.id), h.plan.Folder, err)
	}
	return nil
}
