//go:build unix && !linux

package proc

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// birth is the start time of the process to the second, as ps prints it.
func birth(pid int) (string, error) {
	output, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", err
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(output)), " ")
	if state == "" || strings.HasPrefix(state, "Z") {
		return "", errors.New("the process has ended")
	}
	return strings.TrimSpace(started), nil
}

func attributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
