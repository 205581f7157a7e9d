package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Indexes of fields of /proc/PID/stat after the command name, which is in parentheses and may contain any character.
const (
	stateField     = 0
	threadsField   = 17
	startTimeField = 19 // clock ticks since boot: field 22 of the whole line, counted from 1
)

var bootID = sync.OnceValues(func() (string, error) {
	content, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(content)), err
})

// birth is the ID of the machine's boot and the tick since then at which the process started.
func birth(pid int) (string, error) {
	boot, err := bootID()
	if err != nil {
		return "", fmt.Errorf("reading the boot ID: %w", err)
	}
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(content[strings.LastIndexByte(string(content), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) <= startTimeField {
		return "", fmt.Errorf("unexpected content of /proc/%d/stat", pid)
	}
	if hasEnded(fields[stateField], fields[threadsField]) {
		return "", errors.New("the process has ended")
	}
	return boot + ":" + fields[startTimeField], nil
}

// hasEnded: a killed process is a zombie as soon as its first thread has ended, although other threads may still hold its files
// and ports. It has ended when only the first thread is left.
func hasEnded(state, threads string) bool {
	return state == "X" || state == "Z" && (threads == "0" || threads == "1")
}

func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	// The process gets its own group, so that Ctrl-C reaches only this process, which then stops its children in order.
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
