package explain

import (
	"fmt"
	"strings"
	"time"
)

// Branch is an object in a tree of objects, and what is in its way.
type Branch struct {
	Subject
	State  State  `json:"state"`
	Reason string `json:"reason"`
	// Because is what is behind it; nothing where it is in order.
	Because []Cause `json:"because,omitempty"`
	// Parts are the objects that it made.
	Parts []Branch `json:"parts,omitempty"`
}

// Grow makes a branch of an answer.
func Grow(a Answer, parts ...Branch) Branch {
	b := Branch{Subject: a.Subject, State: a.State, Reason: a.Reason, Parts: parts}
	if len(parts) == 0 && a.State != Healthy {
		b.Because = a.Because
	}
	return b
}

// lines are the tree below and with b, one object or cause on each.
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

// Tree is the tree for a terminal, each line as fit makes it fit.
func (b Branch) Tree(now time.Time, fit func(line string) string) string {
	lines := b.lines(now, "", "")
	for i := range lines {
		lines[i] = fit(lines[i]) + "\n"
	}
	return strings.Join(lines, "")
}
