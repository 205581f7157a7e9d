package tidy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// MaxTrackedBytes is how large a tracked file may be. What is larger is a product, and products are built.
const MaxTrackedBytes = 1 << 20

// traces are signs of the machine or network that a file was written on. The expressions are put together from parts so
// that this file does not find itself.
var traces = map[string]*regexp.Regexp{
	"a path of a user's machine": regexp.MustCompile(`(^|[\s"'` + "`" + `=(:])/(work/(main|shared|seeds)|ro` + `ot/[a-z.]|ho` + `me/[a-z]|Us` + `ers/[A-Za-z]|tmp/bash_)`),
	"a private package registry": regexp.MustCompile(`(?i)\b(arti` + `factory|jf` + `rog|nexus\.[a-z]|GO` + `PROXY=http)`),
	"a mark of a merge":          regexp.MustCompile(`^(<{7}|>{7}) `),
	"a private network address":  regexp.MustCompile(`https?://(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)`),
}

// MaxPictureBytes is how large a picture of a browser may be, the only tracked files that are not text: they show what
// readers of the docs cannot build.
const MaxPictureBytes = 256 << 10

// picture reports whether name and content are those of a picture in the docs.
func picture(name string, content []byte) bool {
	return strings.HasPrefix(name, "docs/images/") && bytes.HasPrefix(content, []byte("\x89PNG")) && len(content) <= MaxPictureBytes
}

// Hygiene checks the text of one tracked file.
func Hygiene(name string, content []byte) []Violation {
	if len(content) > MaxTrackedBytes {
		return []Violation{{name, fmt.Sprintf("has %d bytes: build it instead of tracking it", len(content))}}
	}
	if picture(name, content) {
		return nil
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return []Violation{{name, "is not text: build it instead of tracking it"}}
	}
	var violations []Violation
	for number, line := range strings.Split(string(content), "\n") {
		for what, trace := range traces {
			if found := trace.FindString(line); found != "" {
				violations = append(violations, Violation{fmt.Sprintf("%s:%d", name, number+1), fmt.Sprintf("has %s: %q", what, strings.TrimSpace(found))})
			}
		}
	}
	return violations
}

// Tracked lists the files that git tracks below root and that still exist, relative to root.
func Tracked(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asking git for the tracked files: %w", err)
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimRight(string(raw), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		if err == nil && info.Mode().IsRegular() {
			names = append(names, name)
		}
	}
	return names, nil
}
