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

// Fields of /proc/PID/stat after the command name, which is in parentheses and may hold anything.
const (
	stateField     = 0
	threadsField   = 17
	startTimeField = 19 // clock ticks since boot: field 22 of the whole line, counted from 1
)

var bootID = sync.OnceValues(func() (string, error) {
	content, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(content)), err
})

// birth is the boot of the machine and the tick of it in which the process started.
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

// hasEnded: a killed process is a zombie as soon as its first thread has ended, while others still hold its files and
// ports; it has ended when no more than the first is left to be reaped.
func hasEnded(state, threads string) bool {
	return state == "X" || state == "Z" && (threads == "0" || threads == "1")
}

func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	// Its own group, so that Ctrl-C reaches only this process, which then stops its children in order.
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
