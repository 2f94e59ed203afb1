package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// programEnv makes this test binary another program that has the database in it open: it runs the SQL that it gets, a line at
// a time over one connection, and answers each with "done" or why not.
const programEnv = "WINNOW_TEST_STORE_PROGRAM"

func TestMain(m *testing.M) {
	if path := os.Getenv(programEnv); path != "" {
		if err := obey(path, os.Stdin); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func obey(path string, orders io.Reader) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	lines := bufio.NewScanner(orders)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		answer := "done"
		if _, err := conn.ExecContext(context.Background(), lines.Text()); err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(answer)
	}
	return lines.Err()
}

// program is another program with a database open.
type program struct {
	t       *testing.T
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

func start(t *testing.T, path string) *program {
	t.Helper()
	self := must.Get(os.Executable())(t)
	p := &program{t: t, cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), programEnv+"="+path)
	p.orders = must.Get(p.cmd.StdinPipe())(t)
	out := must.Get(p.cmd.StdoutPipe())(t)
	p.answers = bufio.NewScanner(out)
	must.Do(t, p.cmd.Start())
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	return p
}

// try runs SQL and gives the answer.
func (p *program) try(sql string) string {
	if _, err := io.WriteString(p.orders, sql+"\n"); err != nil {
		return err.Error()
	}
	if !p.answers.Scan() {
		return "it ended"
	}
	return p.answers.Text()
}

// run runs SQL that must succeed.
func (p *program) run(sql ...string) {
	p.t.Helper()
	for _, s := range sql {
		if answer := p.try(s); answer != "done" {
			p.t.Fatalf("%s: %s", s, answer)
		}
	}
}

// end lets the program close its database.
func (p *program) end() {
	p.t.Helper()
	must.Do(p.t, p.orders.Close())
	must.Do(p.t, p.cmd.Wait())
}

// kill ends the program as kill -9 does.
func (p *program) kill() {
	p.t.Helper()
	must.Do(p.t, p.cmd.Process.Kill())
	p.cmd.Wait()
}
