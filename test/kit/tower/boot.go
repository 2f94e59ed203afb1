package tower

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// SetReady says whether the Tower has come up. Until then requests are held for a while and refused with 503, but for /health.
func (s *Server) SetReady(ready bool) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.ready = ready
}

// SetRetryAfter has a Tower that has not come up ask for so many seconds of patience, instead of one.
func (s *Server) SetRetryAfter(seconds int) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.retry = seconds
}

func (s *Server) retryAfter() string {
	s.turn.Lock()
	defer s.turn.Unlock()
	return strconv.Itoa(max(1, s.retry))
}

// Down stops the Tower: connections are cut, its port is closed, what it remembered of terminals is lost, and the shellpers live on as orphans.
// Its store can be read and changed as before, and what is new there is still in the -wal.
func (s *Server) Down() {
	s.stopListening()
	release, err := s.reserve()
	if err != nil {
		panic(fmt.Sprintf("keep the Tower's port: %v", err))
	}
	s.turn.Lock()
	s.release = release
	s.registered = nil
	all := slices.Clone(s.all)
	s.turn.Unlock()
	for _, t := range all {
		t.sh.orphan()
	}
}

// Up starts the Tower again. It takes over the terminals that have a row and a live shellper, by their ids, but with a new createdAt;
// those whose agent had ended go with their rows, but for architects, which start again. What it cannot take over loses its row. Then it sweeps
// the husks. Terminals without a row, development servers for one, are not known any more, although they run on.
func (s *Server) Up() {
	s.turn.Lock()
	doomed := s.reconcile()
	release := s.release
	s.release = nil
	s.turn.Unlock()
	for _, pid := range doomed {
		s.endProcess(pid)
	}
	s.sweepHusks()
	err := s.listen()
	release()
	if err != nil {
		panic(fmt.Sprintf("start the Tower again: %v", err))
	}
}

// Restart stops the Tower and starts it again.
func (s *Server) Restart() {
	s.Down()
	s.Up()
}

// reconcile takes over what can be, row by row, and gives the processes that are to be ended. The caller has the turn.
func (s *Server) reconcile() (doomed []int) {
	for _, row := range s.sessions("") {
		_, err := os.Stat(row.workspace)
		if err != nil || !s.adopt(row) {
			doomed = append(doomed, row.pid)
			s.dropRow(row.id)
		}
	}
	for _, t := range s.all {
		if !slices.Contains(s.registered, t) && t.sh.alive() && !answers(t.sh.socket) {
			doomed = append(doomed, t.sh.pid)
		}
	}
	return doomed
}

// adopt takes over a row's terminal, if its shellper answers, is as old as the row says, and has an agent.
func (s *Server) adopt(row session) bool {
	t := s.known(row.id)
	if t == nil || !answers(row.socket) || !row.began(startMs(row.pid)) {
		return false
	}
	if t.exited && row.kind != "architect" {
		return false
	}
	if t.exited {
		t.sh.again()
		t.exited, t.code = false, nil
	}
	t.adopted, t.createdAt = true, time.Now()
	s.registered = append(s.registered, t)
	return true
}
