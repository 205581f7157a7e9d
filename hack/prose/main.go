// Command prose checks the English of the repository with Vale: Markdown, comments of Go, and the messages in Go's string literals.
//
// It counts the objections of Vale for each room, which is usually the first two folders of a path. hack/prose/ratchet.txt has
// the maximum for each room; a room without a line may have none. -update stores the counts that have fallen. -list prints the
// objections in the rooms of the arguments.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const ratchet = "hack/prose/ratchet.txt"

func main() {
	update := flag.Bool("update", false, "store counts that have fallen")
	list := flag.Bool("list", false, "print the objections in the rooms, folders or files that the arguments name; all without arguments")
	flag.Parse()
	if err := run(*update, *list, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run(update, list bool, names []string) error {
	files, err := tracked()
	if err != nil {
		return err
	}
	alerts, err := check(files)
	if err != nil {
		return err
	}
	if list {
		show(alerts, names)
		return nil
	}
	raw, err := os.ReadFile(ratchet)
	if err != nil {
		return err
	}
	allowed, err := parse(string(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", ratchet, err)
	}
	counts := count(alerts)
	if update {
		return os.WriteFile(ratchet, []byte(format(lowered(allowed, counts))), 0o644) //nolint:gosec // a source file
	}
	worse := exceeding(allowed, counts)
	if len(worse) == 0 {
		return nil
	}
	show(alerts, worse)
	return fmt.Errorf("more objections than %s allows in %s: docs/contributing/style.md has the words to use", ratchet, strings.Join(worse, ", "))
}

// tracked returns the Markdown and Go files that git tracks, except for generated ones.
func tracked() (files []string, err error) {
	out, err := exec.Command("git", "ls-files", "*.md", "*.go").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for _, f := range strings.Fields(string(out)) {
		if base := filepath.Base(f); !strings.HasPrefix(base, "zz_generated") && !strings.HasSuffix(base, ".pb.go") {
			files = append(files, f)
		}
	}
	return files, nil
}

// check runs Vale on the files, and on the messages in Go files that are no tests.
func check(files []string) ([]alert, error) {
	vale, err := exec.Command("hack/tool", "vale").Output()
	if err != nil {
		return nil, fmt.Errorf("hack/tool vale: %w", err)
	}
	dir, err := os.MkdirTemp("", "prose")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	texts, err := messages(files, dir)
	if err != nil {
		return nil, err
	}
	var alerts []alert
	for part := range slices.Chunk(append(slices.Clone(files), texts.paths()...), 400) { // the length of a command line is limited
		found, err := read(strings.TrimSpace(string(vale)), part)
		if err != nil {
			return nil, err
		}
		alerts = append(alerts, found...)
	}
	for i := range alerts {
		alerts[i] = texts.origin(alerts[i])
	}
	return alerts, nil
}

// read runs Vale on files. Vale exits with an error if it has objections, after it has printed them.
func read(vale string, files []string) (alerts []alert, err error) {
	cmd := exec.Command(vale, append([]string{"--config", "tools/vale/vale.ini", "--output", "JSON"}, files...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("vale: %w: %s%s", err, out, stderr.String())
	}
	var found map[string][]struct {
		Line    int
		Message string
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("vale: %w: %s%s", err, out, stderr.String())
	}
	for path, all := range found {
		for _, a := range all {
			alerts = append(alerts, alert{path: path, line: a.Line, message: a.Message})
		}
	}
	return alerts, nil
}
