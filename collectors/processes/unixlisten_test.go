package processes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const unixHeading = "Num       RefCount Protocol Flags    Type St Inode Path\n"

func TestAddUnixTable(t *testing.T) {
	t.Parallel()
	const text = unixHeading + `0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/user/1000/emacs/server
0000000000000000: 00000002 00000000 00010000 0001 01 4712 @/tmp/.X11-unix/X99
0000000000000000: 00000003 00000000 00000000 0001 03 4713 /run/user/1000/emacs/server
0000000000000000: 00000003 00000000 00000000 0001 03 4714
0000000000000000: 00000002 00000000 00000000 0002 01 4715 /run/log
0000000000000000: 00000002 00000000 00000000 0002 01 4716 @0001a
0000000000000000: 00000002 00000000 00010000 0005 01 4717 /tmp/with a space
`
	want := map[uint64]string{4711: "/run/user/1000/emacs/server", 4712: "@/tmp/.X11-unix/X99", 4715: "/run/log", 4717: "/tmp/with a space"}
	got := map[uint64]string{}
	if err := addUnixTable(got, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, bad := range []string{"0: 1 2 3", "0: 1 0 zz 1 1 5 /x", "0: 1 0 0 1 1 x /x"} {
		if err := addUnixTable(map[uint64]string{}, []byte(unixHeading+bad+"\n")); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestDiagnoseListening asks the kernel both ways.
func TestDiagnoseListening(t *testing.T) {
	t.Parallel()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{}), unix.Listen(fd, 1)); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	want := at.(*unix.SockaddrUnix).Name
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	asked, err := diagnoseListening()
	if err != nil {
		t.Skip("this machine has no socket diagnosis: ", err)
	}
	r, err := openRoot("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	read, err := unixTable(r)
	if err != nil {
		t.Fatal(err)
	}
	for how, got := range map[string]map[uint64]string{"diagnosis": asked, "table": read} {
		if got[st.Ino] != want {
			t.Errorf("%s: socket %d listens on %q, want %q", how, st.Ino, got[st.Ino], want)
		}
	}
}

func TestSocketName(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{"/run/s\x00": "/run/s", "/run/s": "/run/s", "\x00x": "@x", "\x00a\x00b": "@a@b", "/\xff": "/?"} {
		if got := socketName([]byte(raw)); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// TestInterruptedDumpIsAskedAgain refuses an answer that the kernel says was taken while the sockets changed.
func TestInterruptedDumpIsAskedAgain(t *testing.T) {
	t.Parallel()
	message := bytes.Clone(unixQuestion(0, 0))[:unix.SizeofNlMsghdr]
	binary.NativeEndian.PutUint32(message, unix.SizeofNlMsghdr)
	binary.NativeEndian.PutUint16(message[4:], unix.NLMSG_DONE)
	nothing := func([]byte, uint16, []byte) {}
	if done, err := unixAttributes(message, interrupted, nothing); !done || err != nil {
		t.Errorf("the end: done %v, error %v", done, err)
	}
	binary.NativeEndian.PutUint16(message[6:], interrupted)
	if _, err := unixAttributes(message, interrupted, nothing); !errors.Is(err, errInterrupted) {
		t.Errorf("an interrupted one: error %v", err)
	}
}
