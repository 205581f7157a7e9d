package devplane

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// buildPackage is the multi-call program in the dev module.
const buildPackage = "./box"

// buildTags are the tags of Kubernetes' own releases. Without them the linker keeps all templates of net/trace, and therefore
// most dead code: the API server has 150 MB instead of 89.
const buildTags = "grpcnotrace"

// buildFlags are the arguments of "go build" between its name and the output. They set the version, because clients parse it:
// the default is v0.0.0-master+$Format:%H$.
func buildFlags(kubernetes string) []string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(kubernetes, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	link := "-s -w"
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, variable := range []string{
			"gitVersion=" + kubernetes,
			"gitCommit=" + strings.Repeat("0", 40),
			"gitTreeState=clean",
			"buildDate=2026-01-01T00:00:00Z",
			"gitMajor=" + major,
			"gitMinor=" + minor,
		} {
			link += " -X " + pkg + "." + variable
		}
	}
	return []string{"-tags", buildTags, "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", link}
}

// goTool runs the go command in the sources' folder. It overrides the variables of the caller's own build.
func (s source) goTool(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = s.dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "PWD="+s.dir)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) } // so that it removes its work folder
	command.WaitDelay = 10 * time.Second
	return command
}

func (s source) toolchain(ctx context.Context) (toolchain, error) {
	output, err := s.goTool(ctx, "env", "-json", "GOVERSION", "GOOS", "GOARCH").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return toolchain{}, fmt.Errorf("building the box needs the go command (https://go.dev/dl): %w", err)
	}
	if err != nil {
		return toolchain{}, fmt.Errorf("asking the go command for its version: %w", withStderr(err))
	}
	var tools toolchain
	if err := json.Unmarshal(output, &tools); err != nil {
		return toolchain{}, fmt.Errorf("reading the version of the go command: %w", err)
	}
	return tools, nil
}

// build compiles the multi-call program into the file out.
func (s source) build(ctx context.Context, out string, report *progress) error {
	report.step("reading the module graph (the first time this downloads about 100 MB of sources)")
	total, err := s.countPackages(ctx, report)
	if err != nil {
		return err
	}
	report.step(fmt.Sprintf("compiling up to %d packages (about 10 minutes of CPU the first time)", total))
	args := append([]string{"build", "-v"}, buildFlags(s.kubernetes)...)
	command := s.goTool(ctx, append(args, "-o", out, buildPackage)...)
	err = runReporting(command, "building the box", func(line string) { report.compiled(line, total) })
	if ctx.Err() != nil {
		return fmt.Errorf("building the box (compiled packages stay in Go's cache): %w", context.Cause(ctx))
	}
	return err
}

func (s source) countPackages(ctx context.Context, report *progress) (int, error) {
	command := s.goTool(ctx, "list", "-deps", "-tags", buildTags, buildPackage)
	var list bytes.Buffer
	command.Stdout = &list
	err := runReporting(command, "listing the packages of the box", report.downloaded)
	return bytes.Count(list.Bytes(), []byte("\n")), err
}

// runReporting runs a command and passes each line of its standard error to each. On failure, the error has the last lines that
// are not only progress.
func runReporting(command *exec.Cmd, doing string, each func(line string)) error {
	stderr, err := command.StderrPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	tail := readLines(stderr, each)
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%s: %w%s", doing, err, strings.Join(append([]string{""}, tail...), "\n"))
	}
	return nil
}

// readLines returns the last 20 lines that are not only the name of a package or module.
func readLines(from io.Reader, each func(line string)) []string {
	const keep = 20
	var tail []string
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		each(line)
		if isPackage(line) || strings.HasPrefix(line, "go: downloading ") {
			continue
		}
		tail = append(tail, line)
		tail = tail[max(0, len(tail)-keep):]
	}
	return tail
}

// isPackage reports whether a line of "go build -v" names a package: messages have spaces.
func isPackage(line string) bool { return line != "" && !strings.ContainsAny(line, " \t:#") }

// withStderr adds the standard error of a failed command.
func withStderr(err error) error {
	exit := &exec.ExitError{}
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
