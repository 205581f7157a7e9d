package explain

import (
	"fmt"
	"strings"
	"time"
)

// Text returns the answer for a terminal, at the time now.
func (a Answer) Text(now time.Time) string {
	var b strings.Builder
	fmt.Fprintln(&b, a.Sentence)
	if len(a.Because) > 0 {
		fmt.Fprintln(&b, "\nBecause:")
	}
	for _, c := range a.Because {
		fmt.Fprintln(&b, "  - "+c.line(now))
	}
	fmt.Fprintf(&b, "\nNext: %s.\n", a.Next)
	if e := a.Evidence; e != nil {
		fmt.Fprintf(&b, "\nEvidence: taken %s ago (%s), kept in %s", span(now.Sub(e.Record.Taken)), e.Record.Cause, e.Where)
		if !e.Expires.IsZero() {
			fmt.Fprintf(&b, " for another %s", span(e.Expires.Sub(now)))
		}
		fmt.Fprintln(&b, "; all of it: -o json.")
	}
	if len(a.Gaps) > 0 {
		fmt.Fprintln(&b, "\nNot seen:")
	}
	for _, g := range a.Gaps {
		fmt.Fprintln(&b, "  - "+g)
	}
	return b.String()
}

// line returns "node n-1: Ready is False: ... (KubeletNotReady, since 4m ago)".
func (c Cause) line(now time.Time) string {
	out := c.Message
	if c.Source != "" {
		out = c.Source + ": " + out
	}
	var notes []string
	if c.Reason != "" {
		notes = append(notes, c.Reason)
	}
	if !c.Since.IsZero() {
		notes = append(notes, "since "+span(now.Sub(c.Since))+" ago")
	}
	if len(notes) > 0 {
		out += " (" + strings.Join(notes, ", ") + ")"
	}
	return out
}
