package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// speaks is a program of tests that no list knows, or an agent by its name. It starts a server through a launcher that ends, speaks with it for as long as it lives, and
// writes how often it was answered: speaks pipes|terminal PIDFILE ANSWERS SERVER... The server has its pipes at 3 and 4, or a terminal at 0 and 1.
func speaks() {
	args := os.Args[1:]
	toServer, server := channelsOf(args[0])
	launcher := exec.Command("sh", append([]string{"-c", `f=$1; shift; exec 5<&0; setsid "$@" <&5 5<&- & echo $! >"$f"`, "sh", args[1]}, args[3:]...)...)
	launcher.ExtraFiles = server.extra
	if server.terminal != nil {
		launcher.Stdin, launcher.Stdout = server.terminal, server.terminal
	}
	if err := launcher.Run(); err != nil {
		panic(err)
	}
	answers := bufio.NewReader(toServer[0])
	for n := 1; ; n++ {
		if _, err := fmt.Fprintln(toServer[1], "a request"); err != nil {
			panic(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, "an answer") {
			panic(fmt.Sprint(line, err))
		}
		if err := os.WriteFile(args[2], fmt.Append(nil, n), 0o600); err != nil {
			panic(err)
		}
		_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 1e8}, nil)
	}
}

type serverEnds struct {
	extra    []*os.File
	terminal *os.File
}

// channelsOf gives what to read from and write to, and what the server gets.
func channelsOf(kind string) (own [2]*os.File, server serverEnds) {
	try := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	if kind == "pipes" {
		in, toServer, err := os.Pipe()
		try(err)
		fromServer, out, err := os.Pipe()
		try(err)
		return [2]*os.File{fromServer, toServer}, serverEnds{extra: []*os.File{in, out}}
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	try(err)
	try(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	try(err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	try(err)
	modes, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	try(err)
	modes.Lflag &^= unix.ECHO
	try(unix.IoctlSetTermios(int(terminal.Fd()), unix.TCSETS, modes))
	return [2]*os.File{master, master}, serverEnds{terminal: terminal}
}
