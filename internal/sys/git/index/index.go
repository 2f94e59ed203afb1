// Package index reads a worktree's index, gitformat-index(5).
package index

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
)

// Index is what git status does not tell of a worktree's index.
type Index struct {
	// Assumed counts the entries that are never compared with their files (assume-unchanged).
	Assumed int
	// Skipped are the paths that git takes for absent on purpose (skip-worktree, as in a sparse checkout).
	Skipped []string
	// Gitlinks are the paths of submodules, initialised or not.
	Gitlinks []string
	// Devices are those of the files when git last read them, as far as an index has them: the low 32 bits of what
	// stat calls the device.
	Devices []uint32
}

// The bits and modes of an index entry (gitformat-index(5)).
const (
	flagAssume   = 0x8000
	flagExtended = 0x4000
	flagName     = 0x0fff
	flagSkip     = 0x4000 // of the extended flags
	modeGitlink  = 0o160000
)

// ErrFormat says that it is no index that is known here.
var ErrFormat = errors.New("is damaged or of an unknown format")

// Split is the error for an index that keeps most of its entries in another file. It holds the hash that names
// that file.
type Split string

func (Split) Error() string { return "is split over two files, which is not read here" }

// File is the name of the other file.
func (s Split) File() string { return "sharedindex." + string(s) }

// Read reads an index. A worktree that was made without a checkout has none.
func Read(data []byte, hash int) (Index, error) {
	if data == nil {
		return Index{}, nil
	}
	return Parse(data, hash, func([]byte) {})
}

// Parse reads an index of version 2, 3 or 4, whose object names have hash bytes, and calls each with the name of
// every entry.
func Parse(data []byte, hash int, each func(name []byte)) (Index, error) {
	if len(data) < 12+hash || string(data[:4]) != "DIRC" {
		return Index{}, ErrFormat
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return Index{}, ErrFormat
	}
	r := entryReader{rest: data[12 : len(data)-hash], hash: hash, packed: version == 4, extended: version >= 3}
	var idx Index
	for range count {
		if err := r.next(&idx); err != nil {
			return Index{}, err
		}
		each(r.name)
	}
	return idx, extensions(r.rest, hash)
}

type entryReader struct {
	rest             []byte
	hash             int
	packed, extended bool
	name             []byte // of the entry before, which version 4 builds on
}

// next reads one entry into idx.
func (r *entryReader) next(idx *Index) error {
	fixed := 40 + r.hash + 2
	if len(r.rest) < fixed {
		return ErrFormat
	}
	flags := binary.BigEndian.Uint16(r.rest[40+r.hash:])
	gitlink, skipped := binary.BigEndian.Uint32(r.rest[24:])&0o170000 == modeGitlink, false
	if flags&flagExtended != 0 {
		if !r.extended || len(r.rest) < fixed+2 {
			return ErrFormat
		}
		skipped = binary.BigEndian.Uint16(r.rest[fixed:])&flagSkip != 0
		fixed += 2
	}
	used, err := r.readName(fixed)
	if err != nil {
		return err
	}
	if n := int(flags & flagName); n < flagName && n != len(r.name) {
		return ErrFormat
	}
	if dev := binary.BigEndian.Uint32(r.rest[16:]); dev != 0 && !skipped && !gitlink && !slices.Contains(idx.Devices, dev) {
		idx.Devices = append(idx.Devices, dev)
	}
	if flags&flagAssume != 0 {
		idx.Assumed++
	}
	if skipped {
		idx.Skipped = append(idx.Skipped, string(r.name))
	}
	if gitlink {
		idx.Gitlinks = append(idx.Gitlinks, string(r.name))
	}
	r.rest = r.rest[used:]
	return nil
}

// readName sets the entry's name, which begins at offset at, and says how long the whole entry is.
func (r *entryReader) readName(at int) (int, error) {
	prefix := []byte(nil)
	start := at
	if r.packed {
		strip, n := stripLength(r.rest[at:])
		if n == 0 || strip > len(r.name) {
			return 0, ErrFormat
		}
		prefix, at = r.name[:len(r.name)-strip], at+n
	}
	end := bytes.IndexByte(r.rest[at:], 0)
	if end < 0 {
		return 0, ErrFormat
	}
	if r.packed {
		r.name = append(append([]byte(nil), prefix...), r.rest[at:at+end]...)
		return at + end + 1, nil
	}
	r.name = r.rest[at : at+end]
	// One to eight zero bytes, so that the next entry begins at a multiple of eight.
	used := (start + end + 8) &^ 7
	if used > len(r.rest) {
		return 0, ErrFormat
	}
	return used, nil
}

// stripLength reads the variable-width integer of version 4 (varint.c): n is 0 if it is cut off or too long.
func stripLength(b []byte) (value, n int) {
	for n < len(b) && n < 4 {
		c := b[n]
		if n > 0 {
			value++
		}
		value = value<<7 | int(c&0x7f)
		n++
		if c&0x80 == 0 {
			return value, n
		}
	}
	return 0, 0
}

// extensions looks through what follows the entries. Most only make git faster; a split index ("link") keeps entries
// in another file, so that their flags are not known.
func extensions(rest []byte, hash int) error {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return ErrFormat
		}
		name, size := rest[:4], int64(binary.BigEndian.Uint32(rest[4:]))
		if size > int64(len(rest)-8) {
			return ErrFormat
		}
		switch {
		case string(name) == "link":
			if int(size) < hash {
				return ErrFormat
			}
			return Split(hex.EncodeToString(rest[8 : 8+hash]))
		case string(name) != "sdir" && (name[0] < 'A' || name[0] > 'Z'):
			return ErrFormat
		}
		rest = rest[8+size:]
	}
	return nil
}
