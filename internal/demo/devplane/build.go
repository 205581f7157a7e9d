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

// buildTags is what Kubernetes' own releases are built with. Without it the linker keeps all of net/trace's templates and
// with them most dead code: 150 MB instead of 89 for the API server.
const buildTags = "grpcnotrace"

// buildFlags are the arguments of "go build" between its name and the output. The version is stamped because clients
// parse it: without it, it reads v0.0.0-master+$Format:%H$.
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

// goTool runs the go command in the sources' folder. Nothing of the caller's own build leaks into this one.
func (s source) goTool(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = s.dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "PWD="+s.dir)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) } // lets it remove its work folder
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
		return fmt.Errorf("building the box (what is compiled already stays compiled): %w", context.Cause(ctx))
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

// runReporting runs a command, passing each line of its standard error to each, and puts the last of them that are not
// mere progress into the error.
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

// readLines returns the last 20 lines that say more than the name of a package or module.
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

// isPackage tells the lines of "go build -v" that name a package from messages, which have spaces.
func isPackage(line string) bool { return line != "" && !strings.ContainsAny(line, " \t:#") }

// withStderr adds what a failed command said.
func withStderr(err error) error {
	exit := &exec.ExitError{}
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
