package explain

import (
	"fmt"
	"strings"
	"time"
)

// Branch is an object in a tree of objects, and what blocks it.
type Branch struct {
	Subject
	State  State  `json:"state"`
	Reason string `json:"reason"`
	// Because has its causes; empty if it is in order.
	Because []Cause `json:"because,omitempty"`
	// Parts are the objects that it created.
	Parts []Branch `json:"parts,omitempty"`
}

// Grow returns an answer as a branch.
func Grow(a Answer, parts ...Branch) Branch {
	b := Branch{Subject: a.Subject, State: a.State, Reason: a.Reason, Parts: parts}
	if len(parts) == 0 && a.State != Healthy {
		b.Because = a.Because
	}
	return b
}

// lines returns b and the tree below it, one object or cause per line.
func (b Branch) lines(now time.Time, first, rest string) []string {
	out := []string{fmt.Sprintf("%s%s %s: %s (%s)", first, b.Kind, b.Name, b.State, b.Reason)}
	n := len(b.Because) + len(b.Parts)
	joint := func() (head, tail string) {
		if n--; n == 0 {
			return rest + "└─", rest + "  "
		}
		return rest + "├─", rest + "│ "
	}
	for _, c := range b.Because {
		head, _ := joint()
		out = append(out, head+c.line(now))
	}
	for _, p := range b.Parts {
		head, tail := joint()
		out = append(out, p.lines(now, head, tail)...)
	}
	return out
}

// Tree returns the tree for a terminal, each line fitted by fit.
func (b Branch) Tree(now time.Time, fit func(line string) string) string {
	lines := b.lines(now, "", "")
	for i := range lines {
		lines[i] = fit(lines[i]) + "\n"
	}
	return strings.Join(lines, "")
}
