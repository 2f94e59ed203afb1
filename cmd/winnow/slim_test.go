package main

import (
	"os"
	"strings"
	"testing"
)

func TestOnlyWhatNobodyWroteToIsDropped(t *testing.T) {
	t.Parallel()
	block := func(header, anonymous string) string {
		return header + "\nSize:   4 kB\nPrivate_Dirty:   0 kB\nAnonymous:   " + anonymous + " kB\nVmFlags: rd ex mr\n"
	}
	smaps := block("00400000-00401000 r-xp 00000000 fe:00 1 /bin/w w", "0") + // text
		block("00401000-00402000 r--p 00000000 fe:00 1 /bin/w w", "4") + // moved by the loader, then made read-only
		block("00402000-00403000 rw-p 00000000 fe:00 1 /bin/w w", "0") +
		block("00403000-00404000 r--s 00000000 fe:00 1 /bin/w w", "0") +
		block("00404000-00405000 r-xp 00000000 fe:00 2 /lib/libc.so", "0") +
		block("00405000-00406000 r--p 00000000 00:00 0", "0")
	if got := unwritten(strings.NewReader(smaps), "/bin/w w"); len(got) != 1 || got[0] != (mapping{0x400000, 0x401000}) {
		t.Errorf("want the text alone, got %x", got)
	}
}

func TestTheProgramGoesOnWithoutItsPages(t *testing.T) {
	t.Parallel()
	for range 20 {
		if err := dropProgram(); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(unwritten(f, exe)) == 0 {
		t.Error("no mapping of the program is dropped, so that nothing is tested")
	}
}
