// Package tower is a Codev Tower for tests: it has a real global.db, terminals that are real processes behind real shellpers, answers
// HTTP as Codev 3.3.1 does, and can be made to misbehave in every way that a client must survive. Nothing but tests imports it.
//
// Every call is recorded. One that changes something and was not announced with Expect fails the test, and so does every call of a GET that
// changes something, announced or not: most of Codev's do, for they delete the rows that they find stale.
//
// What it does not have of Codev: its own timers (nothing is swept but at the start and when asked), its guard against workspaces under
// /tmp (tests live there), and the routes that only its own programs should call.
package tower

import (
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/faults"
	"github.com/winnow-reaper/winnow/test/kit/procs"
)

// Version is what the Tower says its version is.
const Version = "3.3.1"

// Options is how the Tower is. The zero value is one with folders and a port of its own.
type Options struct {
	// Home is the state folder, as ~/.agent-farm: global.db and local-key. It is made if need be.
	Home string
	// SocketDir is for the shellpers' sockets, as ~/.codev/run. A path that leaves no room for a socket's name is refused.
	SocketDir string
	// Addr is where to listen; 127.0.0.1:0 when "".
	Addr string
	// Key is what the Tower wants to be sent. "" is what Home has, or else a new one, which goes there.
	Key string
	// GraceMs is how old a husk has to be, in ms. 0 is no grace, as in Codev when it is set to that; its default is 3600000.
	GraceMs int
	// KillWait is how long a shellper has between SIGTERM and SIGKILL: 250 ms when 0, 5 s in Codev.
	KillWait time.Duration
	// Hold is how long a request waits for a Tower that is starting: 50 ms when 0, 20 s in Codev.
	Hold time.Duration
}

// Server is a Tower. All its methods may be called from any goroutine, also from hooks.
type Server struct {
	o    Options
	dir  string // for what is neither state nor sockets, and for those when no folder was given
	mark string // what every process has in its environment that was started for a terminal
	addr string
	db   *sql.DB

	turn       sync.Mutex // guards what follows
	key        string
	ready      bool
	retry      int // seconds; 0 is one
	startedAt  time.Time
	all        []*terminal // every terminal that there ever was
	registered []*terminal // those that the Tower knows, in the order of its list
	release    func()      // lets go of the port while the Tower is down

	live   sync.Mutex // guards what follows
	http   *http.Server
	served chan struct{} // closed when that has let go of its port
	life   chan struct{} // closed when this life of the Tower ends
	shut   bool

	working sync.WaitGroup
	faults.Server[Call, Fault]
}

// New starts a Tower. The caller closes it.
func New(o Options) (*Server, error) {
	s, err := prepare(o)
	if err != nil {
		return nil, fmt.Errorf("start a Tower: %w", err)
	}
	if s.db, err = openStore(filepath.Join(s.o.Home, "global.db")); err != nil {
		os.RemoveAll(s.dir)
		return nil, fmt.Errorf("start a Tower: %w", err)
	}
	if err := s.listen(); err != nil {
		s.db.Close()
		os.RemoveAll(s.dir)
		return nil, fmt.Errorf("start a Tower: %w", err)
	}
	return s, nil
}

// prepare makes the folders and the key.
func prepare(o Options) (*Server, error) {
	dir, err := os.MkdirTemp("", "tower")
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, dir: dir, mark: "TESTKIT_TOWER=" + filepath.Base(dir), addr: o.Addr, ready: true}
	s.Init(Call.mutates, func(a, c Call) bool { return a.Method == c.Method && a.Path == c.Path })
	if s.o.Home == "" {
		s.o.Home = filepath.Join(dir, "home")
	}
	if s.o.SocketDir == "" {
		s.o.SocketDir = filepath.Join(dir, "run")
	}
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	if s.o.KillWait == 0 {
		s.o.KillWait = 250 * time.Millisecond
	}
	if s.o.Hold == 0 {
		s.o.Hold = 50 * time.Millisecond
	}
	if err := errors.Join(s.makeFolders(), s.makeKey()); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// longestName is a socket's path at most, in bytes.
const longestName = 107

func (s *Server) makeFolders() (err error) {
	for _, dir := range []*string{&s.o.Home, &s.o.SocketDir} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
		if err := os.MkdirAll(*dir, 0o700); err != nil {
			return err
		}
	}
	if n := len(s.socketPath(newID())); n > longestName {
		return fmt.Errorf("%s leaves no room for a socket's name: %d bytes too long", s.o.SocketDir, n-longestName)
	}
	return s.makeProgram()
}

// makeKey takes the key that was given, or what the file has, or makes one. The file has it afterwards.
func (s *Server) makeKey() error {
	path := filepath.Join(s.o.Home, "local-key")
	s.key = s.o.Key
	if text, err := os.ReadFile(path); err == nil && s.key == "" {
		s.key = strings.TrimSpace(string(text))
		return nil
	}
	if s.key == "" {
		var random [32]byte
		rand.Read(random[:])
		s.key = hex.EncodeToString(random[:])
	}
	return os.WriteFile(path, []byte(s.key), 0o600)
}

// Start starts a Tower that ends with the test. The test fails if a call was not allowed: see Unexpected.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		for _, c := range s.Unexpected() {
			tb.Errorf("the Tower was asked for %s %s, which changes something and was not announced", c.Method, c.Path)
		}
	})
	return s
}

// Close ends the Tower, its connections, also those that hang, and every process that was started for a terminal, wherever it has gone.
// Folders that were given stay.
func (s *Server) Close() error {
	s.live.Lock()
	again := s.shut
	s.shut = true
	s.live.Unlock()
	if again {
		return nil
	}
	s.stopListening()
	s.working.Wait()
	s.turn.Lock()
	all := s.all
	if s.release != nil {
		s.release()
	}
	s.turn.Unlock()
	err := procs.EndMarked(s.mark)
	for _, t := range all {
		t.sh.close()
	}
	return errors.Join(err, s.db.Close(), os.RemoveAll(s.dir))
}

// URL is where the Tower listens, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.addr }

// Home is the state folder.
func (s *Server) Home() string { return s.o.Home }

// SocketDir is the folder of the shellpers' sockets.
func (s *Server) SocketDir() string { return s.o.SocketDir }

// Key is what the Tower wants to be sent.
func (s *Server) Key() string {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.key
}

// SetKey has the Tower want another key. The file keeps the one that it has, as when Codev was started with CODEV_TOWER_KEY.
func (s *Server) SetKey(key string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.key = key
}

func (s *Server) socketPath(id string) string {
	return filepath.Join(s.o.SocketDir, "shellper-"+id+".sock")
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
