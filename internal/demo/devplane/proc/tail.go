package proc

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// Tail is the end of a process's log, for an error message: at most 15 lines, without the stack of a panic; empty if the log
// cannot be read. If a line before these reports a failure, Tail puts the last such line first, because a program may write
// much after it fails.
func Tail(log string) string {
	const keep = 15
	content, err := os.ReadFile(log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "goroutine ") }); i > 0 {
		lines = lines[:i]
	}
	begin := max(0, len(lines)-keep)
	shown := lines[begin:]
	for _, line := range slices.Backward(lines[:begin]) {
		if failure.MatchString(line) {
			shown = append([]string{line, "..."}, shown...)
			break
		}
	}
	return strings.Join(shown, "\n")
}

// failure matches lines of logs that report why a program ends: lines of etcd (JSON), of Kubernetes programs and of Go.
var failure = regexp.MustCompile(`"level":"(fatal|panic)"|^[EF]\d{4} |^panic: |^fatal error: `)
