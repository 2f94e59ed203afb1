package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnow-reaper/winnow/test/kit/nginx"
	"github.com/winnow-reaper/winnow/test/kit/stockopa"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// nginxKey finds the script's own nginx.
type nginxKey struct{}

// nginxCmd serves a folder: nginx start FOLDER sets $NGINX to its URL and $ACCESS to its log; nginx stop, nginx again.
func nginxCmd(ts *testscript.TestScript, neg bool, args []string) {
	held, _ := ts.Value(nginxKey{}).(*nginx.Server)
	switch {
	case !neg && len(args) == 2 && args[0] == "start":
		work := ts.MkAbs("nginx-work")
		ts.Check(os.MkdirAll(work, 0o700))
		s, err := nginx.Start(ts.MkAbs(args[1]), work)
		ts.Check(err)
		ts.Defer(s.Stop)
		*held = *s
		ts.Setenv("NGINX", s.URL)
		ts.Setenv("ACCESS", s.Log)
	case !neg && len(args) == 1 && args[0] == "stop":
		held.Stop()
	case !neg && len(args) == 1 && args[0] == "again":
		ts.Check(held.Again())
		ts.Defer(held.Stop)
	default:
		ts.Fatalf("usage: nginx start FOLDER, nginx stop, nginx again")
	}
}

// keyPair makes a key of P-256: keypair NAME writes NAME-private.pem and NAME-public.pem.
func keyPair(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keypair NAME")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	ts.Check(err)
	for name, block := range map[string]*pem.Block{"private": {Type: "PRIVATE KEY", Bytes: private}, "public": {Type: "PUBLIC KEY", Bytes: public}} {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]+"-"+name+".pem"), pem.EncodeToMemory(block), 0o600))
	}
}

// opaCmd runs the stock opa: [!] opa ARGS...
func opaCmd(ts *testscript.TestScript, neg bool, args []string) {
	opa, err := stockopa.Path()
	ts.Check(err)
	if err := ts.Exec(opa, args...); (err != nil) != neg {
		ts.Fatalf("opa %q: %v", args, err)
	}
}

// opaServes runs the stock opa as a server, which gets its bundles by itself, until it answers as wanted: opaserve CONFIG PATH INPUT PATTERN.
func opaServes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: opaserve CONFIG PATH INPUT PATTERN")
	}
	opa, err := stockopa.Path()
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	addr := l.Addr().String()
	ts.Check(l.Close())
	cmd := exec.Command(opa, "run", "--server", "--skip-version-check", "--addr", addr, "--config-file", ts.MkAbs(args[0]))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ts.Check(cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	want, got := regexp.MustCompile(args[3]), ""
	for end := time.Now().Add(wait.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		resp, err := http.Post("http://"+addr+"/v1/data/"+args[1], "application/json", strings.NewReader(`{"input": `+args[2]+`}`))
		if err != nil {
			continue
		}
		data, err := io.ReadAll(resp.Body)
		ts.Check(errors.Join(err, resp.Body.Close()))
		if got = string(data); want.MatchString(got) {
			return
		}
	}
	ts.Fatalf("opa never answered %s, but %s", want, got)
}

// fill writes variables of the script into a file: fill FILE, where the file has ${NAME}.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fill FILE")
	}
	path := filepath.Clean(ts.MkAbs(args[0]))
	data, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, []byte(os.Expand(string(data), ts.Getenv)), 0o600))
}
