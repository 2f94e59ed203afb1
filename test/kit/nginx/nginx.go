// Package nginx runs a real nginx as a server of files: it gives tags to them and answers 304 by itself.
package nginx

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// Server is one that runs, as the test's own user, in one process.
type Server struct {
	// URL is where it is, without a slash at the end. Log is its log of requests: method, path, status, If-None-Match, Prefer, one a line.
	URL, Log string

	root, work string
	port       int
	cmd        *exec.Cmd
	ended      chan struct{}
}

// Here reports whether there is an nginx on this machine.
func Here() bool {
	_, err := exec.LookPath("nginx")
	return err == nil
}

// tries is how often a port is looked for that another process takes first.
const tries = 5

// Start serves the files below root. work is a folder for what the server writes.
func Start(root, work string) (*Server, error) {
	s := &Server{root: root, work: work, Log: filepath.Join(work, "access.log")}
	var err error
	for range tries {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		s.URL = "http://127.0.0.1:" + strconv.Itoa(s.port)
		if err = s.begin(); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// Again starts a server that was stopped, at the same place.
func (s *Server) Again() error { return s.begin() }

func (s *Server) begin() error {
	conf := filepath.Join(s.work, "nginx.conf")
	if err := os.WriteFile(conf, []byte(s.config()), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("nginx", "-p", s.work, "-e", "error.log", "-c", conf)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.ended = cmd, make(chan struct{})
	go func() { _ = cmd.Wait(); close(s.ended) }()
	for end := time.Now().Add(wait.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		select {
		case <-s.ended:
			log, _ := os.ReadFile(filepath.Join(s.work, "error.log"))
			return fmt.Errorf("nginx ended: %s", log)
		default:
		}
		if resp, err := http.Get(s.URL + "/"); err == nil {
			return resp.Body.Close()
		}
	}
	s.Stop()
	return errors.New("nginx does not answer")
}

// Stop ends it.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// config is one process with all that it writes in its folder.
func (s *Server) config() string {
	return fmt.Sprintf(`daemon off;
master_process off;
pid nginx.pid;
error_log error.log;
events {}
http {
  log_format asked escape=none '$request_method $uri $status $http_if_none_match $http_prefer';
  access_log access.log asked;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen 127.0.0.1:%d;
    root %s;
    etag on;
  }
}
`, s.port, s.root)
}
