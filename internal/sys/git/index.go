package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// index is what git status does not tell of a worktree's index.
type index struct {
	// assumed counts the entries that are never compared with their files (assume-unchanged).
	assumed int
	// skipped are the paths that git takes for absent on purpose (skip-worktree, as in a sparse checkout).
	skipped []string
	// gitlinks are the paths of submodules, initialised or not.
	gitlinks []string
	// devices are those of the files when git last read them, as far as an index has them: the low 32 bits of what
	// stat calls the device.
	devices []uint32
}

// The bits and modes of an index entry (gitformat-index(5)).
const (
	flagAssume   = 0x8000
	flagExtended = 0x4000
	flagName     = 0x0fff
	flagSkip     = 0x4000 // of the extended flags
	modeGitlink  = 0o160000
)

var errIndex = errors.New("is damaged or of an unknown format")

// splitIndex is the error for an index that keeps most of its entries in another file. It holds the hash that names
// that file.
type splitIndex string

func (splitIndex) Error() string { return "is split over two files, which is not read here" }

// shared is the name of the other file.
func (s splitIndex) shared() string { return "sharedindex." + string(s) }

// indexOf reads an index. A worktree that was made without a checkout has none.
func indexOf(data []byte, hash int) (index, error) {
	if data == nil {
		return index{}, nil
	}
	return parseIndex(data, hash, func([]byte) {})
}

// parseIndex reads an index of version 2, 3 or 4, whose object names have hash bytes, and calls each with the name of
// every entry.
func parseIndex(data []byte, hash int, each func(name []byte)) (index, error) {
	if len(data) < 12+hash || string(data[:4]) != "DIRC" {
		return index{}, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return index{}, errIndex
	}
	r := entryReader{rest: data[12 : len(data)-hash], hash: hash, packed: version == 4, extended: version >= 3}
	var idx index
	for range count {
		if err := r.next(&idx); err != nil {
			return index{}, err
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
func (r *entryReader) next(idx *index) error {
	fixed := 40 + r.hash + 2
	if len(r.rest) < fixed {
		return errIndex
	}
	flags := binary.BigEndian.Uint16(r.rest[40+r.hash:])
	gitlink, skipped := binary.BigEndian.Uint32(r.rest[24:])&0o170000 == modeGitlink, false
	if flags&flagExtended != 0 {
		if !r.extended || len(r.rest) < fixed+2 {
			return errIndex
		}
		skipped = binary.BigEndian.Uint16(r.rest[fixed:])&flagSkip != 0
		fixed += 2
	}
	used, err := r.readName(fixed)
	if err != nil {
		return err
	}
	if n := int(flags & flagName); n < flagName && n != len(r.name) {
		return errIndex
	}
	if dev := binary.BigEndian.Uint32(r.rest[16:]); dev != 0 && !skipped && !gitlink && !slices.Contains(idx.devices, dev) {
		idx.devices = append(idx.devices, dev)
	}
	if flags&flagAssume != 0 {
		idx.assumed++
	}
	if skipped {
		idx.skipped = append(idx.skipped, string(r.name))
	}
	if gitlink {
		idx.gitlinks = append(idx.gitlinks, string(r.name))
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
			return 0, errIndex
		}
		prefix, at = r.name[:len(r.name)-strip], at+n
	}
	end := bytes.IndexByte(r.rest[at:], 0)
	if end < 0 {
		return 0, errIndex
	}
	if r.packed {
		r.name = append(append([]byte(nil), prefix...), r.rest[at:at+end]...)
		return at + end + 1, nil
	}
	r.name = r.rest[at : at+end]
	// One to eight zero bytes, so that the next entry begins at a multiple of eight.
	used := (start + end + 8) &^ 7
	if used > len(r.rest) {
		return 0, errIndex
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

// Devices are the file systems on which the files of a worktree lay when git last read them, by the index in its
// entry: the low 32 bits of what stat calls the device. No index and an index without a file that was read are empty.
func Devices(admin string) ([]uint32, error) {
	read := func(name string) (index, error) {
		f, err := readFile(filepath.Join(admin, name), maxIndex)
		if err != nil {
			return index{}, err
		}
		idx, err := indexOf(f.Data, sha1.Size)
		if errors.Is(err, errIndex) {
			idx, err = indexOf(f.Data, sha256.Size)
		}
		return idx, err
	}
	idx, err := read("index")
	if split, ok := errors.AsType[splitIndex](err); ok {
		most, serr := read(split.shared())
		idx.devices, err = append(idx.devices, most.devices...), serr
	}
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("read the index of %s: %w", admin, err)
	}
	return idx.devices, nil
}

// extensions looks through what follows the entries. Most only make git faster; a split index ("link") keeps entries
// in another file, so that their flags are not known.
func extensions(rest []byte, hash int) error {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return errIndex
		}
		name, size := rest[:4], int64(binary.BigEndian.Uint32(rest[4:]))
		if size > int64(len(rest)-8) {
			return errIndex
		}
		switch {
		case string(name) == "link":
			if int(size) < hash {
				return errIndex
			}
			return splitIndex(hex.EncodeToString(rest[8 : 8+hash]))
		case string(name) != "sdir" && (name[0] < 'A' || name[0] > 'Z'):
			return errIndex
		}
		rest = rest[8+size:]
	}
	return nil
}

// Tracked counts the entries of a worktree's index that lie in folders, each given by its path in the worktree. An
// index that is split, damaged or of an unknown format is an error. A part that a sparse index names as a whole counts
// as one entry of every folder in it.
func (r *Repository) Tracked(w *Worktree, folders []string) (map[string]int, error) {
	counts := make(map[string]int, len(folders))
	prefixes := make([][]byte, len(folders))
	for i, folder := range folders {
		counts[folder] = 0
		prefixes[i] = []byte(folder + "/")
	}
	path := filepath.Join(w.AdminDir, "index")
	f, err := readFile(path, maxIndex)
	if gone(err) {
		return counts, nil // made without a checkout: it has none
	}
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	_, err = parseIndex(f.Data, r.hashSize(), func(name []byte) {
		for i, p := range prefixes {
			if bytes.HasPrefix(name, p) || bytes.Equal(name, p[:len(p)-1]) || bytes.HasSuffix(name, []byte("/")) && bytes.HasPrefix(p, name) {
				counts[folders[i]]++
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read index: %q %w", path, err)
	}
	return counts, nil
}
