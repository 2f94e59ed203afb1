package holders

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// links looks at all that a process holds. What cannot be read does not keep the rest from being read.
func (h *scan) links(pid, dir int, st proc.Stat) error {
	if st.State != 'Z' {
		err := h.linksOf(pid, dir, "")
		if err == nil && h.o.Thorough {
			err = errors.Join(h.threads(pid, dir, st), h.leadingEnviron(dir))
			h.noteCheckout(dir)
		}
		return err
	}
	threads, err := proc.List(dir, "task", h.Environ)
	if err != nil {
		return err
	}
	for _, t := range threads {
		err = h.linksOf(pid, dir, "task/"+strconv.Itoa(t)+"/")
		if err == nil || !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return err
}

func (h *scan) linksOf(pid, dir int, base string) error {
	v, foreign, err := h.viewOf(dir, base)
	if err != nil {
		return err
	}
	if base == "" {
		h.at.view = v
	}
	var failed error
	for how, name := range kinds[:byThread] {
		if how == byExe && base == "" && h.at.exe != nil { // it was read before
			h.note(v, *h.at.exe, how)
			continue
		}
		text, err := h.noteLink(v, dir, base+name, how, foreign && name != "exe")
		switch {
		case proc.Denied(err):
			return err
		case err != nil:
			failed = err
		case how == byCwd:
			h.at.cwd = text
		}
	}
	if pid == h.root.Self {
		return failed
	}
	if h.o.Thorough {
		h.otherSockets(dir, v)
	}
	failed = errors.Join(failed, h.descriptors(dir, base, v, byFD))
	if h.o.Thorough {
		failed = errors.Join(failed, h.mapped(dir, base, v))
	}
	return failed
}

// descriptors looks at what a process, or a thread with a table of its own, has open, and counts it as how.
func (h *scan) descriptors(dir int, base string, v *places, how int) error {
	fds, numbers, err := proc.OpenList(dir, base+"fd", h.Environ)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fds) }()
	var failed error
	for _, n := range numbers {
		text, err := proc.Readlink(fds, strconv.Itoa(n), h.Link)
		if err == nil {
			err = h.descriptor(dir, base, n, text, v, how)
		}
		if err != nil && !proc.Ended(err) {
			failed = err
		}
	}
	return failed
}

func (h *scan) descriptor(dir int, base string, n int, text []byte, v *places, how int) error {
	switch {
	case len(text) == 0:
	case text[0] == '/':
		h.note(v, h.Names.Intern(text), how)
		if h.o.Thorough {
			h.noteFile(dir, base+"fd/"+strconv.Itoa(n), text)
		}
	case bytes.HasPrefix(text, []byte("socket:[")):
		if inode, ok := proc.SocketInode(text); ok {
			h.noteSocket(v, inode)
		}
	case watcher(text) && !h.at.daemon:
		return h.watches(dir, base+"fdinfo/"+strconv.Itoa(n))
	}
	return nil
}

// noteLink enters a link, and with folder what the folder is that it leads to, and those around it: names prove nothing where a process has a root
// of its own.
func (h *scan) noteLink(v *places, dir int, name string, how int, folder bool) (string, error) {
	link, err := proc.Readlink(dir, name, h.Link)
	if err != nil {
		return "", err
	}
	text := h.Names.Intern(link)
	h.note(v, text, how)
	if folder {
		for _, id := range foldersAround(dir, name) {
			h.mark(h.ids[id], how)
		}
	}
	return text, nil
}

// note enters a link's text: a path in the view of the process's mount namespace, or something else that has no '/' in front.
func (h *scan) note(v *places, path string, how int) {
	if path == "" || path[0] != '/' {
		return
	}
	v.visit(path, func(numbers []int) { h.mark(numbers, how) })
	if bare, ok := strings.CutSuffix(path, proc.Deleted); ok {
		v.visit(bare, func(numbers []int) { h.mark(numbers, how) })
	}
}

func (h *scan) mark(numbers []int, how int) {
	for _, n := range numbers {
		i, how := h.spots[n].of, how
		if as := h.spots[n].how; as >= 0 {
			how = as
		}
		if h.at.daemon && idle(how) {
			continue
		}
		if have, ok := h.best[i]; !ok || how < have {
			h.best[i] = how
		}
	}
}
