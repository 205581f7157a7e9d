package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Departed explains a machine that does not exist any more by its record.
func Departed(now time.Time, s Subject, e Evidence, gaps []string) Answer {
	r := e.Record
	f := finding{key: reasonGone, reason: string(r.Cause), fill: []string{"ago", span(now.Sub(r.Taken)) + " ago"}}
	if key := variant(reasonGone, string(r.Cause)); r.Cause != "" {
		f.key = key
	}
	if made := r.Created(); !made.IsZero() {
		f = f.with("after", ", "+span(r.Taken.Sub(made))+" after its creation")
	}
	if r.Summary != "" {
		f.chain = []Cause{{Source: "evidence", Reason: string(r.Cause), Message: clause(r.Summary), Since: r.Taken}}
	}
	f.chain = append(f.chain, remains(r)...)
	a := f.with("after", "").answer(s, gaps)
	a.Evidence = &e
	return a
}

// Deleted explains a machine that does not exist any more by the facts about its deletion.
func Deleted(now time.Time, s Subject, d postmortem.Departure, gaps []string) Answer {
	f := finding{key: variant(reasonGone, "Deleted"), reason: string(d.Cause), fill: []string{"ago", span(now.Sub(d.At())) + " ago", "because", d.Words()}}
	if d.Words() == "" {
		f.key = variant(reasonGone, "Unexplained")
	}
	if c := departed(d); c != nil {
		f.chain = append(f.chain, *c)
	}
	if d.Evidence != "" {
		f.chain = append(f.chain, Cause{Source: d.Evidence, Message: "evidence of the machine is kept"})
	}
	if !d.Created.IsZero() {
		f = f.with("after", ", "+span(d.At().Sub(d.Created))+" after its creation")
	}
	return f.with("after", "").answer(s, gaps)
}

// departed returns the cause of a deletion; nil if it is not known.
func departed(d postmortem.Departure) *Cause {
	if d.Words() == "" {
		return nil
	}
	return &Cause{Source: d.Source, Reason: string(d.Cause), Message: d.Words(), Since: d.Requested}
}

// WithDeparture adds the cause of the deletion to the answer about a machine that left evidence.
func (a Answer) WithDeparture(d postmortem.Departure) Answer {
	if c := departed(d); c != nil && d.Source != "evidence" {
		a.Because = append([]Cause{*c}, a.Because...)
	}
	return a
}

// remains returns the causes that a record holds besides its summary.
func remains(r postmortem.Record) (out []Cause) {
	for _, c := range r.Requests {
		message := "it was pending"
		if c.Message != "" {
			message = "it was not approved: " + clause(c.Message)
		}
		out = append(out, Cause{Source: "certificatesigningrequest " + c.Name, Reason: c.Reason, Message: message, Since: c.Created})
	}
	if r.Node != nil {
		for _, c := range r.Node.Conditions {
			if c.About == "Ready" && c.Status != "True" || c.About != "Ready" && c.Status == "True" {
				out = append(out, Cause{Source: "node " + r.Node.Name, Reason: c.Reason, Message: c.About + " was " + c.Status + colon(c.Message), Since: c.Since})
			}
		}
	}
	if i := r.Instance; i != nil {
		out = append(out, Cause{Source: "infrastructure", Reason: i.State, Message: "its instance " + i.ID + " was " + i.State})
	}
	if lines := strings.Split(strings.TrimSpace(r.Console), "\n"); r.Console != "" {
		out = append(out, Cause{Source: "console", Message: "it ended with: " + clause(lines[len(lines)-1])})
	}
	return out
}

// mostNames is how many names are suggested.
const mostNames = 3

// NotFound answers for a name that no object has. Near are names of the same kind that exist; kinds are the
// searched resources, as kubectl distinguishes them.
func NotFound(s Subject, near, kinds, gaps []string) Answer {
	f := finding{key: ReasonNotFound, fill: []string{"near", strings.Join(near[:min(len(near), mostNames)], ", "), "kinds", strings.Join(kinds, ",")}}
	if len(near) > 0 {
		f.key = variant(ReasonNotFound, "Near")
	}
	if len(gaps) > 0 {
		f.reason = ReasonNotReadable
		f.key = strings.Replace(f.key, ReasonNotFound, ReasonNotReadable, 1)
	}
	return f.answer(s, gaps)
}

// Several answers for a name that several objects have.
func Several(s Subject, all []Subject, gaps []string) Answer {
	first := all[0]
	f := finding{key: "SeveralObjects", fill: []string{
		"count", fmt.Sprint(len(all)), "api name", strings.ToLower(first.Kind) + "." + first.API + "/" + s.Name, "first namespace", first.Namespace,
	}}
	for _, o := range all {
		if o.Namespace != first.Namespace {
			f.key = variant("SeveralObjects", "Namespaces")
		}
		f.chain = append(f.chain, Cause{Source: o.API, Message: o.String() + " is " + strings.ToLower(o.Kind) + "." + o.API})
	}
	return f.answer(s, gaps)
}

// Near returns the names that differ least from name, the nearest first, if they begin or end alike.
func Near(name string, names []string) (out []string) {
	alike := func(n string) int {
		begin, end := 0, 0
		for begin < min(len(n), len(name)) && n[begin] == name[begin] {
			begin++
		}
		for end < min(len(n), len(name)) && n[len(n)-1-end] == name[len(name)-1-end] {
			end++
		}
		return max(begin, end)
	}
	for _, n := range names {
		if alike(n) >= (len(name)+1)/2 {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := alike(b) - alike(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(out)
}
