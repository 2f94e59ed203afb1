package editor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

type object = map[string]any

// run does what a request asks for.
func (c *conversation) run(req request, fault Fault) (object, *refusal) {
	switch req.Method {
	case "hello":
		c.greeted = true
		return object{"protocol": 1, "window": c.id, "pid": os.Getpid(), "start_ticks": c.w.ticks, "challenge": c.challenge}, nil
	case "prove":
		return c.prove()
	}
	c.mu.Lock()
	proved := c.proved
	c.mu.Unlock()
	if !proved {
		return nil, &refusal{"not_proved", "the first request is hello, the second is prove"}
	}
	switch req.Method {
	case "terminals.list":
		return c.w.list(req.Params), nil
	case "terminal.dispose":
		return c.w.dispose(req.Params, fault)
	case "terminal.open":
		return c.w.open(req.Params)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = true
	return object{}, nil
}

// about is what a window tells of itself once the proof was there.
func (w *Window) about() object {
	w.world.Lock()
	defer w.world.Unlock()
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	return object{"extension": or(w.o.Extension, "0.1.0"), "editor": object{"name": "Visual Studio Code", "version": or(w.o.Editor, "1.106.0")},
		"folders": w.world.folders, "focused": w.world.focused}
}

// prove looks whose the proof is, and removes it.
func (c *conversation) prove() (object, *refusal) {
	if !c.greeted {
		return nil, &refusal{"not_proved", "the first request is hello, the second is prove"}
	}
	file := filepath.Join(c.w.o.Dir, c.id+"."+c.challenge+".proof")
	st, err := os.Lstat(file)
	if err != nil {
		return nil, &refusal{"not_proved", "there is no proof"}
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.Mode().IsRegular() || int(sys.Uid) != os.Geteuid() || sys.Mode&0o7777 != 0o600 || st.Size() != 0 || sys.Nlink != 1 {
		return nil, &refusal{"not_proved", "the proof is not an empty file of this user"}
	}
	if err := os.Remove(file); err != nil {
		return nil, &refusal{"not_proved", "the proof could not be removed"}
	}
	c.mu.Lock()
	c.proved = true
	c.mu.Unlock()
	return c.w.about(), nil
}

func (w *Window) list(params json.RawMessage) object {
	var p struct {
		Markers []string `json:"markers"`
	}
	_ = json.Unmarshal(params, &p) // the schema held it
	w.world.Lock()
	defer w.world.Unlock()
	all := []object{}
	for _, t := range w.world.tabs {
		all = append(all, w.world.told(t, p.Markers))
	}
	return object{"terminals": all}
}

// dispose closes a tab that is in every field what the request says. Its process gets a hangup, as from a terminal that is gone.
func (w *Window) dispose(params json.RawMessage, fault Fault) (object, *refusal) {
	var want map[string]any
	_ = json.Unmarshal(params, &want)
	n, _ := want["n"].(float64)
	w.world.Lock()
	t := w.world.find(int(n))
	if t == nil {
		w.world.Unlock()
		return nil, &refusal{"not_found", fmt.Sprintf("this window has no terminal %d", int(n))}
	}
	now := w.world.told(t, nil)
	for _, key := range []string{"name", "shape", "creation_name", "pid", "start_ticks"} {
		if fmt.Sprint(now[key]) != fmt.Sprint(plain(want[key])) {
			w.world.Unlock()
			return nil, &refusal{"changed", "its " + key + " is another one now; it was left untouched"}
		}
	}
	if fault.kind == idle {
		w.world.Unlock()
		return object{"gone": true}, nil
	}
	w.world.remove(t)
	w.world.Unlock()
	t.hangUp()
	w.tell("closed", int(n))
	return object{"gone": true}, nil
}

// plain prints as the window's own value does: JSON's numbers are floats.
func plain(v any) any {
	if f, ok := v.(float64); ok {
		return int64(f)
	}
	return v
}

func (w *Window) open(params json.RawMessage) (object, *refusal) {
	var p struct{ Name, Cwd string }
	_ = json.Unmarshal(params, &p)
	if p.Cwd != "" {
		if st, err := os.Stat(p.Cwd); !filepath.IsAbs(p.Cwd) || err != nil || !st.IsDir() {
			return nil, &refusal{"refused", "the folder is not there; nothing was opened"}
		}
	}
	n, err := w.Open(Tab{Name: p.Name, CreationName: &p.Name, Program: new(""), Cwd: p.Cwd, Argv: []string{"sh"}, Whole: true})
	if err != nil {
		return nil, &refusal{"failed", err.Error()}
	}
	return object{"n": n, "pid": w.Tab(n).PID}, nil
}

// Tabs gives the tabs that the window has, by their numbers in ascending order.
func (w *Window) Tabs() []int {
	w.world.Lock()
	defer w.world.Unlock()
	var out []int
	for _, t := range w.world.tabs {
		out = append(out, t.n)
	}
	return slices.Sorted(slices.Values(out))
}
