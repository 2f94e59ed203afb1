package ruleset

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

const (
	// preparedFolder is the folder in the state folder in which lies what was prepared of policies, a file for each set of them.
	preparedFolder = "policies"
	// maxPrepared is how many files are kept: those that were made last.
	maxPrepared = 16
	// preparedMax is how large one may be; that of the shipped policies has about 120 kilobytes.
	preparedMax = 8 << 20
)

// prepared is the cache of what was prepared of policies that are not the program's own. It is written by commands that may write to the state folder, and those
// are the ones that may ask servers for bundles; all others only read it.
func (l *Loader) prepared(look bundles.Look) policy.Cache {
	if l.Cfg.State == "" || safeopen.Trusted(l.Cfg.State) != nil {
		return nil
	}
	program, err := identity()
	if err != nil {
		l.Log.Debug("what is prepared of policies is not kept", "error", err)
		return nil
	}
	return &preparedCache{dir: filepath.Join(l.Cfg.State, preparedFolder), program: program, writes: look.Ask, log: l.Log.Named("policies")}
}

// identity tells this program from every other build of it: what one refuses another may load.
func identity() (string, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &st); err != nil {
		return "", fmt.Errorf("look at this program's own file: %w", err)
	}
	return fmt.Sprintf("%d %d %d %d %d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()), nil
}

// preparedCache implements policy.Cache with a file for each digest: the digest of what follows, and that.
type preparedCache struct {
	dir, program string
	writes       bool
	log          hclog.Logger
}

func (c *preparedCache) file(digest string) string {
	sum := sha256.Sum256([]byte(c.program + "\x00" + digest))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+".plan")
}

// Load implements policy.Cache.
func (c *preparedCache) Load(digest string) []byte {
	f, err := safeopen.Read(context.Background(), c.file(digest), safeopen.Want{Max: preparedMax, Ruling: true})
	if err != nil {
		if !errors.Is(err, safeopen.ErrAbsent) && !errors.Is(err, fs.ErrNotExist) {
			c.log.Debug("what was prepared of policies is not used", "error", err)
		}
		return nil
	}
	sum := sha256.Sum256(f.Data[min(sha256.Size, len(f.Data)):])
	if len(f.Data) <= sha256.Size || !bytes.Equal(sum[:], f.Data[:sha256.Size]) {
		c.log.Debug("what was prepared of policies is damaged, and not used", "file", c.file(digest))
		return nil
	}
	return f.Data[sha256.Size:]
}

// Store implements policy.Cache. What cannot be written is prepared again the next time.
func (c *preparedCache) Store(digest string, data []byte) {
	if !c.writes || len(data)+sha256.Size > preparedMax {
		return
	}
	err := os.MkdirAll(c.dir, 0o700)
	if err == nil {
		sum := sha256.Sum256(data)
		err = atomicfile.WriteData(context.Background(), c.file(digest), append(sum[:], data...))
	}
	if err != nil {
		c.log.Debug("what was prepared of policies could not be kept", "error", err)
		return
	}
	c.prune()
}

// prune removes the oldest files beyond maxPrepared.
func (c *preparedCache) prune() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type made struct {
		name string
		at   time.Time
	}
	var files []made
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && filepath.Ext(e.Name()) == ".plan" {
			files = append(files, made{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(x, y made) int { return cmp.Or(y.at.Compare(x.at), cmp.Compare(x.name, y.name)) })
	for _, f := range files[min(maxPrepared, len(files)):] {
		if err := os.Remove(filepath.Join(c.dir, f.name)); err != nil {
			c.log.Debug("remove what was prepared of policies", "error", err)
		}
	}
}
