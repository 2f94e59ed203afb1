package ops

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/worker"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sweep"
	"github.com/winnow-reaper/winnow/internal/sys/herdr"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/text"
)

// FindTarget finds what arg names: a whole id of a candidate, else a worker by its registry's id, whole or with the registry before it,
// else a candidate by a part of its id. An error may be a *document.Declined.
func (o *Ops) FindTarget(ctx context.Context, s *snapshot.Snapshot, arg string) (sweep.Target, error) {
	seen := o.Observer().See(ctx, s)
	all := Ids(s)
	if !slices.Contains(all, arg) {
		named := slices.DeleteFunc(slices.Clone(seen), func(w worker.Seen) bool { return w.ID == "" || w.ID != arg && w.Source+"/"+w.ID != arg })
		if len(named) == 1 {
			t := sweep.Target{ID: named[0].Session, Worker: &named[0], Records: sweep.Recording(seen, named[0].Session)}
			if t.ID == "" {
				t.Records = named
			}
			return t, nil
		}
		if len(named) > 1 {
			where := text.Join(named, " and ", func(w worker.Seen) string { return w.Source + "/" + w.ID + " with session " + w.Name })
			return sweep.Target{}, config.Usagef("%q is ambiguous: it is %s; give the registry before it, or the session's id", arg, where)
		}
		fits := func(id string) bool { return strings.Contains(id, arg) }
		blind := cmp.Or(sweep.UnreadOf(s, "registry"), sweep.UnreadOf(s, "tmux"))
		if blind != "" && !slices.ContainsFunc(all, fits) && len(idsOf(s, arg)) == 0 {
			return sweep.Target{}, decline(&document.Declined{Refused: arg, Reason: sweep.Unreadable, NextCommand: "winnow doctor",
				Message: fmt.Sprintf("there is no candidate or worker %q among what was read, and %s could not be read", arg, blind)})
		}
	}
	id, err := findID(s, arg)
	return sweep.Target{ID: id, Records: sweep.Recording(seen, id)}, err
}

// AskerName is who places a hold.
func (o *Ops) AskerName() string {
	if o.Asker.Conn != nil && o.Asker.UID != os.Getuid() {
		return "root"
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// decline is the error of an operation that does not do what it was asked to.
func decline(no *document.Declined) error { return exit.Error{Code: exit.Part, Err: no} }

// ThingDiffers says why a candidate may be another thing to the program that asks than it is to the daemon, "" where it is not.
func ThingDiffers(asker listen.Conn, id string) string {
	switch kind, _ := snapshot.KindOf(id); kind.Name {
	case snapshot.KindDir:
		return FolderDiffers(asker, filepath.Clean(strings.TrimPrefix(id, snapshot.KindDir+":")))
	case snapshot.KindProcess:
		return PIDDiffers(asker)
	}
	return ""
}

// FolderDiffers says why a path (absolute and clean) may lead the program that asks to another folder than it leads the daemon, "" where it does not.
func FolderDiffers(asker listen.Conn, path string) string {
	if asker.Conn == nil {
		return ""
	}
	if asker.PID <= 0 {
		return "the program that asks is outside of this pid namespace, so its path may lead to another folder"
	}
	v, err := proc.ViewOf("/proc", asker.PID)
	if err == nil && v.Mounts {
		return ""
	}
	same := false
	if err == nil {
		same, err = proc.SameThere("/proc", asker.PID, path)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("whether the path leads the program that asks to the same folder is not known: %v", err)
	case same:
		return ""
	}
	return fmt.Sprintf("the program that asks (pid %d) has other mounts than the daemon: the path leads it to another folder", asker.PID)
}

// PIDDiffers says why a pid may be another process to the program that asks, "" where it is the same.
func PIDDiffers(asker listen.Conn) string {
	if asker.Conn == nil {
		return ""
	}
	if asker.PID > 0 {
		switch v, err := proc.ViewOf("/proc", asker.PID); {
		case err != nil:
			return fmt.Sprintf("whether the number is the same process to the program that asks is not known: %v", err)
		case v.PIDs:
			return ""
		}
	}
	return "the program that asks is in another pid namespace, where that number is another process"
}

// Ids lists every candidate of a snapshot.
func Ids(s *snapshot.Snapshot) (out []string) {
	for _, kind := range snapshot.Kinds {
		out = slices.AppendSeq(out, kind.IDs(s))
	}
	slices.Sort(out)
	return out
}

// idsOf lists the candidates that people call name.
func idsOf(s *snapshot.Snapshot, name string) (out []string) {
	for _, kind := range snapshot.Kinds {
		for id := range kind.IDs(s) {
			if c, _ := kind.Find(s, id); name != "" && c.Name == name || kind.Name == snapshot.KindProcess && c.Native == name {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}

// What herdr takes for a tab besides its id: 1:t1, w_1:t2, w1:+2, +1:2, 1:p1, and t_1_2, w1-2, p_75.
var (
	byPlace = regexp.MustCompile(`^(w_?)?\+?[0-9A-Z]+:[tp]?\+?[0-9A-Z]+$`)
	older   = regexp.MustCompile(`^(w_?)?\+?[0-9A-Z]+-\+?[0-9]+$|^[tp]_[w_+0-9A-Z]+$`)
)

// Positional reports whether herdr would take for a position what a person gave for a tab. A position is never sent to herdr, and never
// completed to a tab's id: 1:t1 is the end of w11:t1 too. What does not say that it is a tab may be a part of a folder's name.
func Positional(id string) bool {
	native, tab := strings.CutPrefix(id, snapshot.KindTab+":")
	if tab {
		native = native[strings.LastIndexByte(native, '/')+1:]
	}
	return !herdr.TabID(native) && (byPlace.MatchString(native) || tab && older.MatchString(native))
}

// AbsoluteID makes an id of the path of a folder that a person gives from where they stand: ".", "./x" or "../x".
func AbsoluteID(id string) string {
	path, err := filepath.Abs(id)
	if first, _, _ := strings.Cut(id, "/"); err != nil || first != "." && first != ".." {
		return id
	}
	return snapshot.KindDir + ":" + path
}

var number = regexp.MustCompile(`^(process:)?[0-9]+$`)

// findID completes a shortened id among the candidates of a snapshot.
func findID(s *snapshot.Snapshot, id string) (string, error) {
	if Positional(id) {
		return "", config.Usagef("%q is no tab's id: herdr reads it as a position, which changes. Give the id as winnow shows it, such as w1:t3", id)
	}
	full, err := "", error(nil)
	byName := idsOf(s, id)
	if number.MatchString(id) { // a pid or a name, and never a part of one: process:43 is not process:430
		byName = slices.DeleteFunc(idsOf(s, strings.TrimPrefix(id, "process:")), func(found string) bool {
			return id[0] == 'p' && !strings.HasPrefix(found, id+"@")
		})
		err = config.Usagef("there is no process %s, and nothing is called so", id)
	} else {
		full, err = pick(id, Ids(s), candidate)
	}
	if err != nil {
		if len(byName) == 1 {
			return byName[0], nil
		} else if len(byName) > 1 {
			return "", config.Usagef("%q is ambiguous: it is the name of %s", id, strings.Join(firstOf(byName, 5), ", "))
		}
		if failed := report.NotRead(s.Sources); len(failed) > 0 {
			return "", fmt.Errorf("%w (these could not be read: %s)", err, strings.Join(failed, ", "))
		}
	}
	return full, err
}

// pick completes a shortened name: the whole of it, else its only extension, else the only name that holds it.
func pick(id string, known []string, what string) (string, error) {
	if slices.Contains(known, id) {
		return id, nil
	}
	for _, fits := range []func(s, part string) bool{strings.HasPrefix, strings.HasSuffix, strings.Contains} {
		switch found := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !fits(k, id) }); {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return "", config.Usagef("%q is ambiguous: it fits %s; give more of it", id, strings.Join(firstOf(found, 5), ", "))
		}
	}
	if len(known) == 0 {
		return "", config.Usagef("there is no %s %q, nor any other", what, id)
	}
	if near := near(id, known); len(near) > 0 {
		return "", config.Usagef("there is no %s %q among the %d; did you mean %s?", what, id, len(known), strings.Join(near, ", "))
	}
	return "", config.Usagef("there is no %s %q among the %d; %s lists them", what, id, len(known), lists[what])
}

// What pick calls that which an id is of.
const (
	candidate = "candidate"
	heldThing = "hold"
	trashed   = "act in the trash"
)

// lists are the commands that list them.
var lists = map[string]string{candidate: "winnow sweep --all", heldThing: "winnow holds", trashed: "winnow trash"}

// near gives up to three names that are like id, or whose last part is: people leave out where a thing is.
func near(id string, known []string) []string {
	last := func(s string) string { return s[strings.LastIndexAny(s, "/:")+1:] }
	byLast := map[string][]string{}
	var lasts []string
	for _, k := range known {
		byLast[last(k)] = append(byLast[last(k)], k)
		lasts = append(lasts, last(k))
	}
	if n := spelling.Near(id, known); n != "" {
		return []string{n}
	}
	if l := last(id); len(l) >= 3 {
		return firstOf(byLast[spelling.Near(l, lasts)], 3)
	}
	return nil
}

func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
}
