package holders_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/parts"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { parts.Main(m, plays) }

var plays = map[string]func(args []string) error{
	"idle": parts.Idle, "open": parts.Open, "begins": playBegins, "elsewhere": playElsewhere, "way": playWay, "ask": playAsk, "wrap": playWrap,
}

// playBegins has the folder args[0] open for a moment, and then becomes the program args[1], which has not.
func playBegins(args []string) error {
	if err := parts.Open(args); err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	return syscall.Exec(args[1], []string{args[1], "60"}, os.Environ())
}

// playElsewhere, in a mount namespace of its own, works in a part of the folder args[0] under another name.
func playElsewhere(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(args[0]+"/src", args[1], "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := os.Chdir(args[1] + "/deep"); err != nil {
		return err
	}
	fmt.Println("ready")
	return nil
}
