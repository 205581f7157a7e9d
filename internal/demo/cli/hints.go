package cli

import (
	"os"
	"path/filepath"
	"strings"
)

// self is how the person called this program.
func self() string { return quoted(os.Args[0]) }

// down is the command that ends this very fleet, and no other, from any
// shell: `bin/millwright down --dir /tmp/a`.
func (w where) down() string {
	out := self() + " down"
	if dir := w.folder(); dir != homeDir() {
		out += " --dir " + quoted(dir)
	}
	return out
}

// folder is the fleet's, as any process may name it.
func (w where) folder() string {
	if dir, err := filepath.Abs(w.dir); err == nil {
		return dir
	}
	return w.dir
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
