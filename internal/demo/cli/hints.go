package cli

import (
	"os"
	"path/filepath"
	"strings"
)

// self is the name under which the user called this program.
func self() string { return quoted(os.Args[0]) }

// down returns the command that stops this fleet, from any shell:
// `bin/millwright down --dir /tmp/a`.
func (w where) down() string {
	out := self() + " down"
	if dir := w.folder(); dir != homeDir() {
		out += " --dir " + quoted(dir)
	}
	return out
}

// folder returns the absolute path of the folder of the fleet.
func (w where) folder() string {
	if dir, err := filepath.Abs(w.dir); err == nil {
		return dir
	}
	return w.dir
}

// quoted returns a word with the quotes that a shell needs.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
