package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// usage is what both controller programs together have used.
type usage struct {
	cpuSeconds float64
	// rss and peakRSS are in bytes; the peak is the peak since resetPeak.
	rss, peakRSS int64
}

// ticks per second in /proc: this number is the same on every Linux on which Go runs.
const ticks = 100

func usageOf(controllers []*fleet.Controller) (usage, error) {
	var sum usage
	for _, c := range controllers {
		cpu, err := cpuSeconds(c.PID)
		if err != nil {
			return usage{}, fmt.Errorf("%s: %w", c.Program, err)
		}
		memory, err := memoryOf(c.PID)
		if err != nil {
			return usage{}, fmt.Errorf("%s: %w", c.Program, err)
		}
		sum.cpuSeconds += cpu
		sum.rss += memory["VmRSS"]
		sum.peakRSS += memory["VmHWM"]
	}
	return sum, nil
}

func cpuSeconds(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return readStat(raw)
}

// readStat reads user and system time, fields 14 and 15 of stat. The second
// field is the name in parentheses, which may contain any character.
func readStat(raw []byte) (seconds float64, err error) {
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("stat of a process is too short: %q", raw)
	}
	var sum float64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseFloat(string(f), 64)
		if err != nil {
			return 0, fmt.Errorf("stat of a process: %w", err)
		}
		sum += n
	}
	return sum / ticks, nil
}

func memoryOf(pid int) (map[string]int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, err
	}
	return readStatus(raw)
}

// readStatus reads the Vm fields of status, in bytes.
func readStatus(raw []byte) (map[string]int64, error) {
	out := map[string]int64{}
	for _, line := range bytes.Split(raw, []byte("\n")) {
		fields := bytes.Fields(line)
		if len(fields) != 3 || string(fields[2]) != "kB" {
			continue
		}
		n, err := strconv.ParseInt(string(fields[1]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("status of a process: %w", err)
		}
		out[string(bytes.TrimSuffix(fields[0], []byte(":")))] = n * 1024
	}
	return out, nil
}

// resetPeak resets the peaks to the memory that is in use now.
func resetPeak(controllers []*fleet.Controller) error {
	for _, c := range controllers {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", c.PID), []byte("5"), 0); err != nil {
			return fmt.Errorf("reset the peak memory of %s: %w", c.Program, err)
		}
	}
	return nil
}
