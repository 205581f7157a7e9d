package hollow

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// birth returns when a process started, in clock ticks since boot: [fs.ErrNotExist] if it does not exist, or
// is a zombie. If this process is the parent, birth reaps the zombie.
func birth(pid int) (uint64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	// "123 (a name) S 1 ...": the name may contain any text, so fields are counted from the last bracket. The
	// state is field 3, the start time 22.
	_, rest, found := strings.Cut(string(data[bytes.LastIndexByte(data, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return 0, fmt.Errorf("read the state of process %d: unexpected %q", pid, data)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		// Errors do not matter: the process is dead, whichever process reaps it.
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		return 0, fs.ErrNotExist
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// find returns the process with the argument.
func find(argument string) (pid int, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue // it has ended meanwhile
		}
		for arg := range strings.SplitSeq(string(line), "\x00") {
			if arg == argument {
				return strconv.Atoi(filepath.Base(dir))
			}
		}
	}
	return 0, fmt.Errorf("no process has the argument %s: %w", argument, fs.ErrNotExist)
}
