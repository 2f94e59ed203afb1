package machine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What a started program is told in its environment, beside its role.
const (
	saysVar   = "WINNOW_TEST_SAYS"   // the file in which it says where it listens, or which process it started
	socketVar = "WINNOW_TEST_SOCKET" // the socket on which it listens in place of a port
	peerVar   = "WINNOW_TEST_PEER"   // where it connects to
	mapsVar   = "WINNOW_TEST_MAPS"   // a library that it has mapped
	childVar  = "WINNOW_TEST_CHILD"  // what it starts, its words parted by childSep, the first being the role
	childSep  = "\x1f"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// say writes a line where it is looked for, whole or not at all.
func say(line string) {
	if path := os.Getenv(saysVar); path != "" {
		fail(os.WriteFile(path+".new", []byte(line), 0o644))
		fail(os.Rename(path+".new", path))
	}
}

// disguise has the program look as the real one does: one that gives itself a title has it for its name too, and one that
// uses a library has it mapped.
func disguise() {
	if title := os.Args[0]; strings.Contains(title, " ") {
		fail(os.WriteFile("/proc/self/comm", []byte(title), 0))
	}
	path := os.Getenv(mapsVar)
	if path == "" {
		return
	}
	f, err := os.Open(path)
	fail(err)
	_, err = unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ, unix.MAP_PRIVATE)
	fail(errors.Join(err, f.Close()))
}

// connected is a connection to the peer.
func connected() net.Conn {
	c, err := net.Dial("tcp", os.Getenv(peerVar))
	fail(err)
	say(c.LocalAddr().String())
	return c
}

// work prints and computes, and goes on. What it prints takes up no more than a page.
func work() {
	text := []byte(strings.Repeat("step\n", 1<<12))
	for {
		if _, err := os.Stdout.Write(text); err != nil {
			return
		}
		_, _ = os.Stdout.Seek(0, 0)
		for end := time.Now().Add(2 * time.Millisecond); time.Now().Before(end); {
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// parent starts a child with its own input and outputs, as npm and make do.
func parent() *exec.Cmd {
	words := strings.Split(os.Getenv(childVar), childSep)
	child := exec.Command(words[1], words[2:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !slices.Contains([]string{roleVar, childVar, saysVar, threadVar}, name) {
			child.Env = append(child.Env, e)
		}
	}
	child.Env = append(child.Env, roleVar+"="+words[0])
	fail(child.Start())
	go func() { _ = child.Wait() }()
	say(fmt.Sprint(child.Process.Pid))
	return child
}
