package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// binary is the test binary of a package, with mutants in it.
type binary struct {
	file, dir string
	tests     tests
	// draws: the package has properties.
	draws bool
}

// broken is the error of a program that does not compile, with the compiler's output.
type broken struct{ output string }

func (b broken) Error() string { return "it does not compile: " + firstLines(b.output, 5) }

// build runs the go command with the given verb and arguments. If the program does not compile, the error is broken.
func build(ctx context.Context, root, overlay, verb string, rest ...string) error {
	args := append([]string{verb, "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-overlay=" + overlay}, rest...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	switch exit := new(exec.ExitError); {
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		return broken{string(output)}
	}
	return fmt.Errorf("go %s: %w", verb, err)
}

func firstLines(output string, most int) string {
	lines := strings.SplitN(strings.TrimSpace(output), "\n", most+1)
	return strings.Join(lines[:min(len(lines), most)], "\n")
}

// Run is the result of a run of tests.
type Run struct {
	// Failed is the first test that failed; empty: all passed. Late: the tests did not end in time.
	Failed string `json:"failed,omitempty"`
	Late   bool   `json:"late,omitempty"`
	// Seconds is the duration of the run.
	Seconds float64 `json:"seconds"`
	// Output is the end of the output of a failed run.
	Output string `json:"output,omitempty"`
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: ([^\s/]+)`)

// trial is the number of a mutant, and how long tests may take whose duration without the mutant is known.
type trial struct {
	number  int
	timeout time.Duration
}

// run runs tests of the binary with the mutant, in the package's folder, and ends them after the timeout.
func (b *binary) run(ctx context.Context, t trial, args ...string) (Run, error) {
	timeout := t.timeout
	args = append([]string{"-test.timeout=" + timeout.String()}, args...)
	if b.draws {
		// The cases are the same each time, rapid does not shrink them, and leaves no file in the tree.
		args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ns")
	}
	patient, cancel := context.WithTimeout(ctx, timeout+10*time.Second)
	defer cancel()
	// A defect may allocate memory without limit; the limit protects the machine.
	cmd := exec.CommandContext(patient, "/bin/sh", append([]string{"-c", `ulimit -v 12000000; exec "$0" "$@"`, b.file}, args...)...)
	cmd.Dir, cmd.WaitDelay = b.dir, 5*time.Second
	cmd.Env = append(os.Environ(), "UPDATE_GOLDEN=", numberEnv+"="+strconv.Itoa(t.number))
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	err := cmd.Run()
	r := Run{Seconds: time.Since(began).Seconds()}
	if err == nil || ctx.Err() != nil {
		return r, ctx.Err()
	}
	if exit := new(exec.ExitError); !errors.As(err, &exit) && patient.Err() == nil {
		return r, fmt.Errorf("running %s: %w", b.file, err)
	}
	r.Failed = "(panic)"
	if m := failed.FindSubmatch(output.Bytes()); m != nil {
		r.Failed = string(m[1])
	}
	if patient.Err() != nil || bytes.Contains(output.Bytes(), []byte("panic: test timed out")) {
		r.Failed, r.Late = "(no end)", true
	}
	r.Output = tail(output.String(), 2000)
	return r, nil
}

// tail is the end of a text, beginning with a whole line.
func tail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		text = text[n+1:]
	}
	return text
}

// units runs all unit tests.
func (b *binary) units(ctx context.Context, t trial) (Run, error) {
	args := []string{"-test.failfast"}
	if others := b.tests.of(property, boxed, sick); len(others) > 0 {
		args = append(args, "-test.skip="+only(others))
	}
	return b.run(ctx, t, args...)
}

// some runs the named tests; no test if there are no names.
func (b *binary) some(ctx context.Context, t trial, names []string) (Run, error) {
	if len(names) == 0 {
		return Run{}, nil
	}
	return b.run(ctx, t, "-test.failfast", "-test.run="+only(names))
}
