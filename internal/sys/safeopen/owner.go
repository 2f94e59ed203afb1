package safeopen

import (
	"fmt"
	"io/fs"
	"os"
)

// CheckOwner fails for what belongs neither to this user nor to root, a link by itself: with an error that is ErrOwner and names the owner.
func CheckOwner(path string) error {
	st, err := lstat(path)
	if err != nil {
		return err
	}
	return OwnedBy(path, st.Uid)
}

// OwnedBy is CheckOwner of something that is known to belong to that user.
func OwnedBy(path string, uid uint32) error {
	if ours(uid) {
		return nil
	}
	return &fs.PathError{Op: "trust", Path: path, Err: stranger(uid)}
}

// stranger is the owner of something that is neither this user's nor root's.
type stranger uint32

func (s stranger) Error() string {
	return fmt.Sprintf("it belongs to user %d, and this is user %d", uint32(s), os.Geteuid())
}

func (stranger) Is(target error) bool { return target == ErrOwner }
