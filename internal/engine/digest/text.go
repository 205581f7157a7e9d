package digest

import (
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/prose"
)

// mostEntries is how many entries of a section are printed, mostNames how many machines of an owner; JSON has all.
const (
	mostEntries = 30
	mostNames   = 5
)

// section is a part of a printed digest: its entries, each with what explains it.
type section struct {
	title   string
	entries []entry
}

type entry struct{ text, more string }

// title is "Machines of namespace blue from 2026-01-01T12:00:00Z to 2026-01-02T12:00:00Z".
func (d Digest) title() string {
	return fmt.Sprintf("Machines of %s from %s to %s", d.Place, stamp(d.From), stamp(d.To))
}

func (d Digest) sections() (out []section) {
	var created, deleted, waits, gaps []entry
	machines := 0
	for _, c := range d.Created {
		machines += len(c.Machines)
		created = append(created, entry{text: c.text()})
	}
	for _, x := range d.Deleted {
		deleted = append(deleted, entry{text: x.text()})
	}
	for _, w := range d.Waits {
		waits = append(waits, entry{text: fmt.Sprintf("%s: %s", w.State, w.Sentence), more: w.Next})
	}
	for _, g := range d.Gaps {
		gaps = append(gaps, entry{text: g})
	}
	out = []section{
		{"Created: " + count(machines, "machine"), created},
		{"Deleted: " + count(len(deleted), "machine"), deleted},
		{"Resized sets: " + count(len(d.Scaled), "change"), incidents(d.Scaled)},
		{"Prevented: " + count(len(d.Prevented), "event"), incidents(d.Prevented)},
		{"Waiting now: " + count(len(waits), "object"), waits},
	}
	if len(gaps) > 0 {
		out = append(out, section{"Not known", gaps})
	}
	return out
}

func incidents(all []Incident) (out []entry) {
	for _, i := range all {
		text := fmt.Sprintf("%s %s: %s: %s", clockOf(i.At), i.Subject, i.Reason, i.Message)
		if i.Count > 1 {
			text += fmt.Sprintf(" (%d times)", i.Count)
		}
		out = append(out, entry{text: text})
	}
	return out
}

// text is "2 of MachineSet mill in blue: mill-a, mill-b".
func (c Created) text() string {
	owner := "without an owner"
	if c.Owner != "" {
		owner = "of " + c.Owner
	}
	out := fmt.Sprintf("%d %s in %s: %s", len(c.Machines), owner, c.Namespace, strings.Join(c.Machines[:min(len(c.Machines), mostNames)], ", "))
	if more := len(c.Machines) - mostNames; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

func (d Deleted) text() string {
	out := clockOf(d.At) + " " + d.Subject.String()
	if d.Owner != "" {
		out += " of " + d.Owner
	}
	if d.Exists {
		out += ", in deletion"
	}
	if d.Why == "" {
		return out + ": the cluster does not say why"
	}
	return out + ": " + d.Why
}

// clockOf is a time of a day that the period may share with others.
func clockOf(t time.Time) string { return t.UTC().Format("01-02 15:04") }

// Text is the digest for a terminal.
func (d Digest) Text() string {
	var p prose.Printer
	p.Line(0, 2, d.title())
	for _, s := range d.sections() {
		p.WriteString("\n")
		p.Line(0, 2, s.title)
		for _, e := range s.shown() {
			p.Line(2, 4, e.text)
			if e.more != "" {
				p.Line(4, 6, "next: "+e.more)
			}
		}
	}
	return p.String()
}

// Markdown is the digest for a page or a chat. Texts of objects cannot add markup.
func (d Digest) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n", escape(d.title()))
	for _, s := range d.sections() {
		fmt.Fprintf(&out, "\n## %s\n\n", escape(s.title))
		for _, e := range s.shown() {
			fmt.Fprintf(&out, "- %s\n", escape(e.text))
			if e.more != "" {
				fmt.Fprintf(&out, "  - next: %s\n", escape(e.more))
			}
		}
	}
	return out.String()
}

func (s section) shown() []entry {
	if more := len(s.entries) - mostEntries; more > 0 {
		return append(s.entries[:mostEntries:mostEntries], entry{text: fmt.Sprintf("and %d more: all with -o json", more)})
	}
	return s.entries
}

var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `>`, `\>`, `|`, `\|`, `#`, `\#`, `!`, `\!`, `~`, `\~`, `@`, `\@`, "\n", " ", "\r", " ",
)

func escape(text string) string { return markup.Replace(text) }

func count(n int, one string) string {
	switch n {
	case 0:
		return "none"
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
