package processes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors/processes"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/fakeproc"
)

// TestClients counts who is connected to a server that listens on a port and on a unix socket, and says that it is unknown where the server
// has a socket whose users are not known.
func TestClients(t *testing.T) {
	t.Parallel()
	const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 10 1 0 100 0 0 10 0
   1: 0100007F:9999 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
`
	const heading = "Num       RefCount Protocol Flags    Type St Inode Path\n"
	const listens = "0000000000000000: 00000002 00000000 00010000 0001 01 20 /run/s\n"
	for name, c := range map[string]struct {
		tcp, unix string
		fds       map[int]string
		want      *int
	}{
		"no client":                       {tcp, heading + listens, nil, new(0)},
		"a client of the port":            {tcp + "   2: 0100007F:1435 0100007F:8888 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 100 0 0 10 0\n", heading + listens, nil, new(1)},
		"a client of the unix socket":     {tcp, heading + listens + "0000000000000000: 00000003 00000000 00000000 0001 03 21 /run/s\n", nil, new(1)},
		"one that waits to be accepted":   {tcp, heading + listens + "0000000000000000: 00000003 00000000 00000000 0001 02 0 /run/s\n", nil, new(1)},
		"two of which one is another's":   {tcp, heading + listens + "0000000000000000: 00000003 00000000 00000000 0001 03 21 /run/s\n0000000000000000: 00000003 00000000 00000000 0001 03 22 /run/other\n", nil, new(1)},
		"its own connection to elsewhere": {tcp, heading + listens, map[int]string{6: "socket:[11]"}, new(0)},
		"a pair of sockets":               {tcp, heading + listens + "0000000000000000: 00000003 00000000 00000000 0001 03 30\n", map[int]string{6: "socket:[30]"}, new(0)},
		"a socket of another kind":        {tcp, heading + listens, map[int]string{6: "socket:[99]"}, nil},
		"a socket for datagrams":          {tcp, heading + listens + "0000000000000000: 00000003 00000000 00000000 0002 01 31\n", map[int]string{6: "socket:[31]"}, nil},
		"a table that is not understood":  {tcp, heading + "x\n", nil, nil},
	} {
		f := fakeproc.New(t)
		f.Write("net/tcp", c.tcp)
		f.Write("net/unix", c.unix)
		fds := map[int]string{3: "socket:[10]", 4: "socket:[20]", 5: "/dev/null"}
		for fd, to := range c.fds {
			fds[fd] = to
		}
		f.Process(fakeproc.Entry{PID: 700, PPID: 1, Comm: "vite", Start: 5000, Exe: "/usr/bin/vite", Environ: "AGENT=1\x00", FDs: fds})
		p := all(t, f, processes.Options{Root: f.Path, Markers: []string{"AGENT"}})[snapshot.ProcessID(700, 5000)]
		if d := cmp.Diff(c.want, p.Clients); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
