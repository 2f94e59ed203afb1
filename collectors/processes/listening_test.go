package processes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestAddTable(t *testing.T) {
	t.Parallel()
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1436 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 100 0 0 10 0
   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4713 1
`
	got := map[uint64]int{}
	if err := addTable(got, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[uint64]int{4711: 5173, 4713: 80}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, bad := range []string{"head\n 0: 1:2", strings.Replace(text, ":1435", ":14351", 1), strings.Replace(text, "4711", "x", 1)} {
		if err := addTable(map[uint64]int{}, []byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestDiagnose asks the kernel both ways.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	fd, port := listener(t)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	asked, err := diagnose()
	if err != nil {
		t.Skip("this machine has no socket diagnosis: ", err)
	}
	r, err := openRoot("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	read, err := tables(r)
	if err != nil {
		t.Fatal(err)
	}
	for how, got := range map[string]map[uint64]int{"diagnosis": asked, "tables": read} {
		if got[st.Ino] != port {
			t.Errorf("%s: socket %d listens on %d, want %d", how, st.Ino, got[st.Ino], port)
		}
	}
}

func TestAddDiagRefusesWhatIsCut(t *testing.T) {
	t.Parallel()
	message := diagQuestion(unix.AF_INET)
	message[4], message[5] = unix.NLMSG_ERROR, 0
	for name, data := range map[string][]byte{"longer than its datagram": message[:40], "an error of 0 length": message[:16]} {
		if done, err := addDiag(map[uint64]int{}, data); done || err == nil {
			t.Errorf("%s: done %v, error %v", name, done, err)
		}
	}
}

func listener(t *testing.T) (fd, port int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, at.(*unix.SockaddrInet4).Port
}
