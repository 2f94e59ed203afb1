package foreign

import (
	"fmt"
	"io/fs"
	"os"
)

// Own fails for what belongs neither to this user nor to root, a link by itself: with an error that is ErrOwner and names the owner.
func Own(path string) error {
	st, err := lstat(path)
	if err == nil && !ours(st.Uid) {
		err = &fs.PathError{Op: "trust", Path: path, Err: stranger(st.Uid)}
	}
	return err
}

// stranger is the owner of something that is neither this user's nor root's.
type stranger uint32

func (s stranger) Error() string {
	return fmt.Sprintf("it belongs to user %d, and this is user %d", uint32(s), os.Geteuid())
}

func (stranger) Is(target error) bool { return target == ErrOwner }
