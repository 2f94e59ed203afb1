package decisionlog

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// What a mask does, in OPA's words.
const (
	remove = "remove"
	upsert = "upsert"
)

// rule is one mask: a JSON pointer below /input or /result, and what becomes of what is there.
type rule struct {
	op    string
	parts []string // as they are written
	value any
}

// pointer is the rule's path as an event names it.
func (r rule) pointer() string {
	out := ""
	for _, p := range r.parts {
		out += "/" + url.PathEscape(p)
	}
	return out
}

// readRule reads a mask as OPA does: a text is a path that is removed, an object has op, path and value.
func readRule(v any) (rule, error) {
	r, path := rule{op: remove}, ""
	switch v := v.(type) {
	case string:
		path = v
	case map[string]any:
		r.op, _ = v["op"].(string)
		path, _ = v["path"].(string)
		switch r.op {
		case remove:
		case upsert:
			r.value = v["value"]
		default:
			return rule{}, fmt.Errorf("a mask has the op %v; remove and upsert are known", v["op"])
		}
	default:
		return rule{}, fmt.Errorf("a mask is a %T; it wants a JSON pointer, or an object with op and path", v)
	}
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return rule{}, fmt.Errorf("a mask has the path %.100q; it wants one such as /input/host/home", path)
	}
	r.parts = strings.Split(rest, "/")
	if top := r.parts[0]; top != "input" && top != "result" && top != "nd_builtin_cache" {
		return rule{}, fmt.Errorf("a mask has the path %.100q; it wants one below /input or /result", path)
	}
	return r, nil
}

// apply does to an event what a mask says, and nothing where the path leads nowhere.
func (e *Event) apply(r rule) {
	place := &e.Input
	switch r.parts[0] {
	case "result":
		place = &e.Result
	case "nd_builtin_cache": // there is none
		return
	}
	if *place == nil {
		return
	}
	changed, done := r.changed(*place, r.parts[1:])
	*place = changed
	switch {
	case !done:
	case r.op == remove:
		e.Erased = append(e.Erased, r.pointer())
	default:
		e.Masked = append(e.Masked, r.pointer())
	}
}

// changed is a value in which the rule was applied to what a path leads to. For a value that is put in, objects on the way are made, as OPA does.
func (r rule) changed(v any, path []string) (any, bool) {
	if len(path) == 0 {
		return r.value, true
	}
	last := len(path) == 1
	switch at := v.(type) {
	case map[string]any:
		child, ok := at[path[0]]
		switch {
		case r.op == remove && (!ok || last):
			delete(at, path[0])
			return at, ok
		case !ok && !last:
			child = map[string]any{}
		}
		changed, done := r.changed(child, path[1:])
		if done {
			at[path[0]] = changed
		}
		return at, done
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(at) {
			return v, false
		}
		if r.op == remove && last {
			return slices.Delete(at, i, i+1), true
		}
		changed, done := r.changed(at[i], path[1:])
		at[i] = changed
		return at, done
	}
	return v, false
}
