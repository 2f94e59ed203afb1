package tower

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// keyFile is the file of a state folder that holds the key to its Tower.
const keyFile = "local-key"

// maxKey is the greatest key file that is read, in bytes.
const maxKey = 4 << 10

// inFile and inEnv say whether text can be a key: 64 hexadecimal digits, or up to 512 of what a header can hold. They are no regular expressions because those
// with such counts take a millisecond of every start to compile.
func inFile(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

func inEnv(text string) bool {
	return text != "" && len(text) <= 512 && !strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' })
}

// ErrKeyFile says that a key is not used: it cannot be one, or others may know it or have put it there.
var ErrKeyFile = errors.New("read the Tower's key")

// Key gives the key that the Tower of the state folder home wants, as its own clients find it: fromEnv, the value of CODEV_TOWER_KEY, else
// the folder's own. own says that it is the folder's own. The key is in no error.
func Key(home, fromEnv string) (key string, own bool, err error) {
	kept, err := keyIn(filepath.Join(home, keyFile))
	if fromEnv = strings.TrimSpace(fromEnv); fromEnv == "" {
		return kept, err == nil, err
	}
	if !inEnv(fromEnv) {
		return "", false, fmt.Errorf("%w: CODEV_TOWER_KEY holds no key; unset it, or set it to what the Tower was started with", ErrKeyFile)
	}
	return fromEnv, err == nil && kept == fromEnv, nil
}

// keyIn gives the key in a file that only this user can read or write, and only this user and root can put another in the
// place of: what stands in it is sent to the Tower.
func keyIn(path string) (string, error) {
	real, err := safeopen.Path(path)
	var f *os.File
	if err == nil {
		f, err = safeopen.Open(real, safeopen.Want{Max: maxKey, Ruling: true})
	}
	var text []byte
	if err == nil {
		defer f.Close()
		if err = private(f); err == nil {
			text, err = io.ReadAll(io.LimitReader(f, maxKey))
		}
	}
	key := strings.TrimSpace(string(text))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read the Tower's key: there is no %s; start the Tower once, or set CODEV_TOWER_KEY", path)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("read the Tower's key in %s: %w; let this user read the file", path, fs.ErrPermission)
	case errors.Is(err, safeopen.ErrOwner), errors.Is(err, safeopen.ErrWritable), errors.Is(err, errOpen):
		return "", fmt.Errorf("%w: %w; no Tower was asked: let %s and each folder above it belong to this user, let no other user write there, and chmod 600 the file", ErrKeyFile, err, path)
	case errors.Is(err, safeopen.ErrNotRegular), errors.Is(err, safeopen.ErrTooLarge), err == nil && !inFile(key):
		return "", fmt.Errorf("%w: %s holds no key of 64 hexadecimal digits; start the Tower again, which makes one, or set CODEV_TOWER_KEY", ErrKeyFile, path)
	case err != nil:
		return "", fmt.Errorf("read the Tower's key: %w", err)
	}
	return key, nil
}

var errOpen = errors.New("it is not a file that only this user can read")

// private makes sure that no other user may know what the file holds.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return errOpen
	}
	return nil
}
