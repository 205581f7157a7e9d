package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/evidence"
)

// endings say of the causes of evidence what became of the machine: when, and how
// long after it was made.
var endings = map[evidence.Cause]string{
	evidence.GivenUp:     "it was given up %s%s",
	evidence.NeverJoined: "it was deleted %s%s, and no node of it had ever joined",
	evidence.NodeDeleted: "it was deleted %s%s, because somebody had deleted its node",
	evidence.Unwell:      "it was deleted %s%s, while its node was missing or unhealthy",
}

// Departed explains a machine that does not exist any more by what was kept of
// it.
func Departed(now time.Time, s Subject, e Evidence, gaps []string) Answer {
	r := e.Record
	f := finding{
		state: Gone, reason: string(r.Cause), text: "does not exist any more",
		next: "if the machines that follow it end alike, mend the cause in what they are made from",
	}
	if r.Cause == evidence.NodeDeleted {
		f.next = "find out who deleted the node: a person, or the cloud controller manager for an instance that did not run"
	}
	if ending, ok := endings[r.Cause]; ok {
		after := ""
		if made := r.Created(); !made.IsZero() {
			after = ", " + span(r.Taken.Sub(made)) + " after it was made"
		}
		f.text += ": " + fmt.Sprintf(ending, span(now.Sub(r.Taken))+" ago", after)
	}
	if r.Summary != "" {
		f.chain = []Cause{{Source: "evidence", Reason: string(r.Cause), Message: clause(r.Summary), Since: r.Taken}}
	}
	f.chain = append(f.chain, remains(r)...)
	a := f.answer(s, gaps)
	a.Evidence = &e
	return a
}

// remains are the causes that a record holds besides its summary.
func remains(r evidence.Record) (out []Cause) {
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

// Reasons of answers without an object.
const (
	ReasonNotFound    = "NotFound"
	ReasonNotReadable = "NotReadable"
)

// mostNames is how many names are suggested.
const mostNames = 3

// NotFound answers for a name that nothing has. Near are names of the same kind
// that exist, kinds are the resources that were looked through, as kubectl tells
// them apart.
func NotFound(s Subject, near, kinds, gaps []string) Answer {
	f := finding{state: Unknown, reason: ReasonNotFound, text: "does not exist, and no evidence of it is kept", next: "see the names there are: `kubectl get " + strings.Join(kinds, ",") + "`, or give the namespace with -n"}
	if len(near) > 0 {
		f.next = "perhaps one of these is meant: " + strings.Join(near[:min(len(near), mostNames)], ", ")
	}
	if len(gaps) > 0 {
		f.reason = ReasonNotReadable
		f.text = "was not found, but not all could be read"
	}
	return f.answer(s, gaps)
}

// Several answers for a name that more than one object has.
func Several(s Subject, all []Subject, gaps []string) Answer {
	f := finding{state: Ambiguous, reason: "SeveralObjects", text: fmt.Sprintf("is ambiguous: %d objects have the name", len(all))}
	namespaces := map[string]bool{}
	for _, o := range all {
		namespaces[o.Namespace] = true
		f.chain = append(f.chain, Cause{Source: o.API, Message: o.String() + " is " + strings.ToLower(o.Kind) + "." + o.API})
	}
	f.next = "say which API: " + strings.ToLower(all[0].Kind) + "." + all[0].API + "/" + s.Name
	if len(namespaces) > 1 {
		f.next = "say which namespace: -n " + all[0].Namespace
	}
	return f.answer(s, gaps)
}

// Near are those of names that differ least from name, the nearest first, if
// they begin or end alike.
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
