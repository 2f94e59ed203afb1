package processes

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestListeningTables reads the tables where the kernel's socket diagnosis does not answer. One that is not understood leaves its sockets
// unknown.
func TestListeningTables(t *testing.T) {
	t.Parallel()
	const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1436 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 100 0 0 10 0
   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4713 1
`
	const unixes = unixHeading + `0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/user/1000/emacs/server
0000000000000000: 00000002 00000000 00010000 0001 01 4712 @/tmp/.X11-unix/X99
0000000000000000: 00000003 00000000 00000000 0001 03 4713 /run/user/1000/emacs/server
0000000000000000: 00000003 00000000 00000000 0001 02     0 /run/user/1000/emacs/server
0000000000000000: 00000003 00000000 00000000 0001 03 4714
0000000000000000: 00000002 00000000 00000000 0002 01 4715 /run/log
0000000000000000: 00000002 00000000 00000000 0002 01 4716 @0001a
0000000000000000: 00000002 00000000 00010000 0005 01 4717 /tmp/with a space
`
	type sockets struct {
		Ports map[uint64]int
		Names map[uint64]string
		Open  map[int]int
		Peers map[string]int
	}
	ports, names := map[uint64]int{4711: 5173, 4713: 80}, map[uint64]string{4711: "/run/user/1000/emacs/server", 4712: "@/tmp/.X11-unix/X99", 4715: "/run/log", 4717: "/tmp/with a space"}
	for name, c := range map[string]struct {
		tcp, unix string
		want      sockets
	}{
		"both":        {tcp, unixes, sockets{ports, names, map[int]int{0x1436: 1}, map[string]int{"/run/user/1000/emacs/server": 2, "@0001a": 1, "/run/log": 0, "/tmp/with a space": 0, "@/tmp/.X11-unix/X99": 0}}},
		"cut short":   {"head\n 0: 1:2", unixHeading + "0: 1 2 3\n", sockets{}},
		"no port":     {strings.Replace(tcp, ":1435", ":x", 1), unixHeading + "0: 1 0 zz 1 1 5 /x\n", sockets{}},
		"no inode":    {strings.Replace(tcp, "4711", "x", 1), unixHeading + "0: 1 0 0 1 1 x /x\n", sockets{}},
		"no listener": {"heading\n", unixHeading, sockets{map[uint64]int{}, map[uint64]string{}, map[int]int{}, map[string]int{}}},
	} {
		at := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(at, "net"), 0o755), os.WriteFile(filepath.Join(at, "net/tcp"), []byte(c.tcp), 0o644),
			os.WriteFile(filepath.Join(at, "net/unix"), []byte(c.unix), 0o644)); err != nil {
			t.Fatal(err)
		}
		r, err := host.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		l := listen(r, hclog.NewNullLogger())
		if d := cmp.Diff(c.want, sockets{l.ports, l.names, l.open, l.peers}); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		r.Close()
	}
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

const unixHeading = "Num       RefCount Protocol Flags    Type St Inode Path\n"

// TestDiagnose asks the kernel both ways.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	r, err := host.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	t.Run("tcp", func(t *testing.T) {
		inode, at := listenAt(t, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		bothWays(t, r, newTCP(inode, netip.AddrPortFrom(loopback, uint16(at.(*unix.SockaddrInet4).Port)), netip.AddrPortFrom(netip.IPv4Unspecified(), 0), stateListen), 1, diagnoseTCP, tcpTable)
	})
	t.Run("unix", func(t *testing.T) {
		inode, at := listenAt(t, &unix.SockaddrUnix{})
		bothWays(t, r, inode, unixState{name: at.(*unix.SockaddrUnix).Name, listens: true},
			unasked(diagnoseAllUnix), func(r *host.Root) (map[uint64]unixState, error) {
				return unasked(func() (map[uint64]unixState, error) { return unixTable(r) })()
			})
	})
}

func bothWays[K, T comparable](t *testing.T, r *host.Root, socket K, want T, ask func() (map[K]T, error), table func(*host.Root) (map[K]T, error)) {
	asked, err := ask()
	if err != nil {
		t.Skip("this machine has no socket diagnosis: ", err)
	}
	read, err := table(r)
	if err != nil {
		t.Fatal(err)
	}
	for how, got := range map[string]map[K]T{"diagnosis": asked, "tables": read} {
		if got[socket] != want {
			t.Errorf("%s: socket %v is %v, want %v", how, socket, got[socket], want)
		}
	}
}

// unasked leaves out what only the diagnosis tells.
func unasked(ask func() (map[uint64]unixState, error)) func() (map[uint64]unixState, error) {
	return func() (map[uint64]unixState, error) {
		all, err := ask()
		for inode, s := range all {
			s.asked = false
			all[inode] = s
		}
		return all, err
	}
}

// listenAt listens until the test has ended, and gives the socket's inode and where it listens.
func listenAt(t *testing.T, at unix.Sockaddr) (inode uint64, where unix.Sockaddr) {
	t.Helper()
	family := unix.AF_INET
	if _, local := at.(*unix.SockaddrUnix); local {
		family = unix.AF_UNIX
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	var st unix.Stat_t
	must.Do(t, errors.Join(unix.Bind(fd, at), unix.Listen(fd, 1), unix.Fstat(fd, &st)))
	if where, err = unix.Getsockname(fd); err != nil {
		t.Fatal(err)
	}
	return st.Ino, where
}

func TestAddDiagRefusesWhatIsCut(t *testing.T) {
	t.Parallel()
	message := aboutTCP(unix.AF_INET, 1<<stateListen).question()
	message[4], message[5] = unix.NLMSG_ERROR, 0
	for name, data := range map[string][]byte{"longer than its datagram": message[:40], "an error of 0 length": message[:16]} {
		if done, err := aboutTCP(unix.AF_INET, 1<<stateListen).answers(data, func([]byte) error { return nil }); done || err == nil {
			t.Errorf("%s: done %v, error %v", name, done, err)
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
	about := aboutUnix(0, 0, true)
	message := about.question()[:unix.SizeofNlMsghdr]
	binary.NativeEndian.PutUint32(message, unix.SizeofNlMsghdr)
	binary.NativeEndian.PutUint16(message[4:], unix.NLMSG_DONE)
	if done, err := about.answers(message, nil); !done || err != nil {
		t.Errorf("the end: done %v, error %v", done, err)
	}
	binary.NativeEndian.PutUint16(message[6:], unix.NLM_F_DUMP_INTR)
	if _, err := about.answers(message, nil); !errors.Is(err, errInterrupted) {
		t.Errorf("an interrupted one: error %v", err)
	}
}

func FuzzUnixDiag(f *testing.F) {
	e := binary.NativeEndian
	body := append(make([]byte, 4), e.AppendUint32(nil, 77)...)
	body = append(body, make([]byte, 8)...)
	body = e.AppendUint16(body, 12)
	body = e.AppendUint16(body, unixVFS)
	body = e.AppendUint32(body, 5)
	body = e.AppendUint32(body, 8<<20|1)
	message := e.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	message = e.AppendUint16(message, unix.SOCK_DIAG_BY_FAMILY)
	message = append(message, make([]byte, 10)...)
	f.Add(append(message, body...))
	about, bound := aboutUnix(0, showVFS, false), map[uint32][]BoundSocket{}
	if _, err := about.answers(append(message, body...), about.attributes(addBound(bound))); err != nil || len(bound[5]) != 1 || bound[5][0] != (BoundSocket{77, unix.Mkdev(8, 1)}) {
		f.Errorf("%v, %v", bound, err)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = about.answers(data, about.attributes(addBound(map[uint32][]BoundSocket{})))
	})
}
