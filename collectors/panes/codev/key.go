package codev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"winnow/collectors"
	files "winnow/internal/foreign"
)

// maxKey is the greatest key file that is read, in bytes.
const maxKey = 4 << 10

// keyIn gives the key in a file that nobody but this user and root can write or put another in the place of. What stands in the file
// is sent to the Tower.
func keyIn(path string) (string, error) {
	real, err := files.Path(path)
	var f files.File
	if err == nil {
		f, err = files.Read(context.Background(), real, files.Want{Max: maxKey, Ruling: true})
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read the Tower's key: there is no %s; start the Tower once, or set CODEV_TOWER_KEY", path)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("read the Tower's key in %s: %w; let this user read the file", path, collectors.ErrPermission)
	case errors.Is(err, files.ErrOwner), errors.Is(err, files.ErrWritable):
		return "", fmt.Errorf("read the Tower's key: %w; no Tower was asked: let %s and each folder above it belong to this user, and nobody else write there", err, path)
	case errors.Is(err, files.ErrNotRegular), errors.Is(err, files.ErrTooLarge):
		return "", fmt.Errorf("read the Tower's key: %s holds none; start the Tower again, or set CODEV_TOWER_KEY", path)
	case err != nil:
		return "", fmt.Errorf("read the Tower's key: %w", err)
	}
	key := strings.TrimSpace(string(f.Data))
	if !validKey.MatchString(key) {
		return "", fmt.Errorf("read the Tower's key: %s holds none; start the Tower again, or set CODEV_TOWER_KEY", path)
	}
	return key, nil
}
