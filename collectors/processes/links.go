package processes

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// links looks at all that a process holds. What cannot be read does not keep the rest from being read.
func (h *holderScan) links(pid, dir int, st stat) error {
	if st.state != 'Z' {
		return h.linksOf(pid, dir, "")
	}
	threads, err := list(dir, "task", h.environ)
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

func (h *holderScan) linksOf(pid, dir int, base string) error {
	v, foreign, err := h.viewOf(dir, base)
	if err != nil {
		return err
	}
	var failed error
	for how, name := range hows[:3] {
		text, err := readlink(dir, base+name, h.link)
		if err != nil {
			if denied(err) {
				return err
			}
			failed = err
			continue
		}
		h.note(v, text, how)
		if foreign && name != "exe" {
			h.noteFolder(dir, base+name, how)
		}
	}
	if pid == h.root.self {
		return failed
	}
	return errors.Join(failed, h.descriptors(dir, base, v))
}

func (h *holderScan) descriptors(dir int, base string, v *places) error {
	numbers, err := list(dir, base+"fd", h.environ)
	if err != nil {
		return err
	}
	var failed error
	for _, fd := range numbers {
		text, err := readlink(dir, base+"fd/"+strconv.Itoa(fd), h.link)
		switch {
		case err == nil:
			h.note(v, text, len(hows)-1)
		case !vanished(err):
			failed = err
		}
	}
	return failed
}

// note enters a link's text: a path in the view of the process's mount namespace, or something else that has no '/' in front.
func (h *holderScan) note(v *places, text []byte, how int) {
	if len(text) == 0 || text[0] != '/' {
		return
	}
	path := string(text)
	v.visit(path, func(numbers []int) { h.mark(numbers, how) })
	if bare, ok := strings.CutSuffix(path, deleted); ok {
		v.visit(bare, func(numbers []int) { h.mark(numbers, how) })
	}
}

func (h *holderScan) mark(numbers []int, how int) {
	for _, i := range numbers {
		if have, ok := h.best[i]; !ok || how < have {
			h.best[i] = how
		}
	}
}
