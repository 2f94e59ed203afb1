package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// holds is a program of the scripts that uses the folder $HOLD in the way that its argument names, makes the file $READY, and stays until
// it is ended. Neither its arguments nor what Winnow reads of its environment name the folder.
func holds() {
	if err := hold(os.Args[1], os.Getenv("HOLD")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.WriteFile(os.Getenv("READY"), nil, 0o600); err != nil {
		os.Exit(1)
	}
	time.Sleep(5 * time.Minute)
	os.Exit(0)
}

// connected are the connections of a program that listens or is connected, and served is where it listens: they stay open with it.
var (
	connected []net.Conn
	served    net.Listener
)

func hold(how, dir string) (err error) {
	switch how {
	case "listens": // and writes the port into the file
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				connected = append(connected, c)
			}
		}()
		return os.WriteFile(dir, fmt.Append(nil, l.Addr().(*net.TCPAddr).Port), 0o600)
	case "serves": // on a unix socket
		served, err = net.Listen("unix", dir+".sock")
		return err
	case "asks": // there, and waits for an answer
		c, err := net.Dial("unix", dir+".sock")
		connected = append(connected, c)
		return err
	case "connected": // to that port, and waits for an answer
		port, err := os.ReadFile(dir)
		if err != nil {
			return err
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+string(port))
		connected = append(connected, c)
		return err
	case "cwd":
		return os.Chdir(dir)
	case "fd":
		_, err := unix.Open(filepath.Join(dir, "file"), unix.O_RDONLY, 0)
		return err
	case "map":
		fd, err := unix.Open(filepath.Join(dir, "file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		if _, err = unix.Mmap(fd, 0, 1, unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
			return err
		}
		return unix.Close(fd)
	case "watch":
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, filepath.Join(dir, "deep"), unix.IN_CREATE)
		return err
	case "socket":
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		at, err := os.Getwd()
		if err != nil {
			return err
		}
		if err := os.Chdir(dir); err != nil { // a path of its own would be too long for a socket's name
			return err
		}
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "node_modules/s"}); err != nil {
			return err
		}
		return os.Chdir(at)
	case "mount":
		away, err := os.MkdirTemp("", "winnow-holds-")
		if err != nil {
			return err
		}
		defer os.Remove(away)
		runtime.LockOSThread() // one thread alone leaves the mount namespace, and what follows is for it
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		return unix.Mount(filepath.Join(dir, "deep"), away, "", unix.MS_BIND, "")
	}
	return fmt.Errorf("no way %q", how)
}
