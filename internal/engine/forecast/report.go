package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/millwright-dev/millwright/internal/engine/prose"
)

// Report is the full forecast for a set of changes.
type Report struct {
	// Changes are the changes to the objects themselves.
	Changes []Changed `json:"changes"`
	// Plans are the resulting actions of controllers, each for one deployment, set or machine.
	Plans []Plan `json:"plans"`
	// Notes are for people; Unknown lists unreadable facts, and what the plans lack because of them.
	Notes   []string `json:"notes,omitempty"`
	Unknown []string `json:"unknown,omitempty"`
}

// Plan has the actions of the controllers of one deployment, set or machine.
type Plan struct {
	Root Object `json:"object"`
	Forecast
}

// Changed is the change of one object.
type Changed struct {
	Object
	// Verb is [Created], [Edited], [Removed] or [Same].
	Verb string `json:"verb"`
	// Fields are the changed fields.
	Fields []Field `json:"fields,omitempty"`
	// Effect is the effect on machines if no controller acts on the change.
	Effect string `json:"effect,omitempty"`
}

// Field is a changed field: its values as JSON, long ones cut; a missing value is "none".
type Field struct {
	Path string `json:"path"`
	From string `json:"from"`
	To   string `json:"to"`
}

// String is "spec.replicas: 3 -> 5".
func (f Field) String() string { return f.Path + ": " + f.From + " -> " + f.To }

// The changes of an object.
const (
	Created = "create"
	Edited  = "change"
	Removed = "delete"
	Same    = "none"
)

// Nothing reports whether nothing at all changes.
func (r Report) Nothing() bool {
	return !slices.ContainsFunc(r.Changes, func(c Changed) bool { return c.Verb != Same }) &&
		!slices.ContainsFunc(r.Plans, func(p Plan) bool { return !p.Nothing() })
}

// mostSteps is how many steps of one plan are printed, mostMachines how many machines of one step, mostFields how many fields.
const (
	mostSteps    = 24
	mostMachines = 10
	mostFields   = 8
)

// Line is a line of a printed plan. Lines with a greater depth explain the line before.
type Line struct {
	Depth int    `json:"depth"`
	Text  string `json:"text"`
}

// printer writes lines that fit the terminal.
type printer struct {
	prose.Printer
	lines []Line
}

// Line writes text that begins at indent, and continues at hang.
func (p *printer) Line(indent, hang int, text string) {
	p.lines = append(p.lines, Line{Depth: indent, Text: strings.Join(strings.Fields(text), " ")})
	p.Printer.Line(indent, hang, text)
}

// Lines returns the plan for people, as Text of a report has it.
func (p Plan) Lines() []Line {
	var out printer
	out.plan(p)
	return out.lines
}

// Lines returns the drain for people, below a headline.
func (l Leave) Lines(headline string) []Line {
	var out printer
	out.subject(Subject{Name: headline, Exit: &l})
	return out.lines
}

// Text returns the report for people.
func (r Report) Text() string {
	var p printer
	for _, c := range r.Changes {
		p.changed(c)
	}
	if r.Nothing() {
		p.Line(0, 0, "Nothing to do.")
	}
	for _, plan := range r.Plans {
		if r.Nothing() && len(plan.Waits) == 0 {
			continue
		}
		if len(r.Changes) > 0 || len(r.Plans) > 1 {
			p.WriteString("\n")
		}
		p.plan(plan)
	}
	p.list("Note:", r.Notes)
	p.list("Not known:", r.Unknown)
	return p.String()
}

func (p *printer) list(title string, all []string) {
	if len(all) == 0 {
		return
	}
	p.WriteString("\n" + title + "\n")
	for _, text := range all {
		p.Line(2, 4, "- "+text)
	}
}

// String is "machineset/mill of machine.sapcloud.io in default".
func (o Object) String() string {
	return fmt.Sprintf("%s/%s of %s in %s", strings.ToLower(o.Kind), o.Name, o.API, o.Namespace)
}

func (p *printer) changed(c Changed) {
	verb := map[string]string{Created: " is created", Edited: " is changed:", Removed: " is deleted", Same: " does not change"}[c.Verb]
	p.Line(0, 2, c.String()+verb)
	if c.Verb == Edited {
		for _, f := range c.Fields[:min(len(c.Fields), mostFields)] {
			p.Line(2, 4, f.String())
		}
		if more := len(c.Fields) - mostFields; more > 0 {
			p.Line(2, 4, fmt.Sprintf("and %s more", count(more, "field")))
		}
	}
	if c.Effect != "" {
		p.Line(2, 2, c.Effect)
	}
}

func (p *printer) plan(f Plan) {
	name := strings.ToLower(f.Root.Kind) + "/" + f.Root.Name
	if f.Nothing() && !f.Cut {
		p.Line(0, 2, name+": no machine is created, changed or deleted.")
		p.waits(f)
		return
	}
	p.Line(0, 2, name+":")
	shown := f.Steps[:min(len(f.Steps), mostSteps)]
	at := time.Duration(0)
	for i, s := range shown {
		if s.At != at {
			p.Line(0, 2, s.when())
		}
		at = s.At
		p.step(i+1, s)
	}
	if more := len(f.Steps) - len(shown); more > 0 {
		p.Line(2, 4, fmt.Sprintf("and %s more, all of them with -o json", count(more, "step")))
	}
	if f.Beyond > 0 {
		p.Line(2, 4, fmt.Sprintf("and %s more are created in the same way: counted, not listed", count(f.Beyond, "machine")))
	}
	if f.Cut {
		p.Line(2, 4, "It goes on after that: no further steps were examined.")
	}
	p.Line(0, 2, fmt.Sprintf("In all: %s created, %d deleted; %s in the end.", count(f.Created, "machine"), f.Deleted, count(f.Rest, "machine")))
	p.duration(f)
	if slices.ContainsFunc(f.Steps, func(s Step) bool { return s.Open }) {
		p.Line(0, 2, "Order: steps marked ~ may come in smaller ones, as machines come and go one by one.")
	}
	p.waits(f)
}

// when is "then, with 1 machine ready (+2m):"; unknown times are left out.
func (s Step) when() string {
	out := "then"
	if s.After != "" {
		out += ", with " + s.After
	}
	if s.At >= time.Second {
		out += " (+" + span(s.At) + ")"
	}
	return out + ":"
}

func (p *printer) duration(f Plan) {
	switch {
	case len(f.Waits) > 0:
		p.Line(0, 2, "Duration: "+f.Took.Source+".")
	case f.Took.Known && f.Took.Length < time.Second:
		p.Line(0, 2, fmt.Sprintf("Duration: less than a second (%s).", f.Took.Source))
	case f.Took.Known:
		p.Line(0, 2, fmt.Sprintf("Duration: about %s (%s).", span(f.Took.Length), f.Took.Source))
	case f.Took.Length >= time.Second:
		p.Line(0, 2, fmt.Sprintf("Duration: at least %s; %s.", span(f.Took.Length), f.Took.Source))
	default:
		p.Line(0, 2, "Duration: "+f.Took.Source+".")
	}
}

func (p *printer) waits(f Plan) {
	for _, w := range f.Waits {
		p.Line(0, 2, "Then it waits: "+strings.TrimSuffix(w, ".")+".")
	}
}

// step is "3. delete 2 machines of mill-a: 2 members too many".
func (p *printer) step(n int, s Step) {
	mark := " "
	if s.Open {
		mark = "~"
	}
	text := fmt.Sprintf("%2d.%s%s", n, mark, s.what())
	if s.Reason != "" && !s.plain() {
		text += ": " + s.Reason
	}
	p.Line(0, 6, text)
	for _, m := range s.Machines[:min(len(s.Machines), mostMachines)] {
		p.subject(m)
	}
	if more := len(s.Machines) - mostMachines; more > 0 {
		p.Line(6, 8, fmt.Sprintf("and %s more", count(more, "machine")))
	}
	for _, b := range s.Shared {
		p.Line(6, 8, b.word()+": "+b.Message)
	}
	for _, h := range s.Held {
		p.Line(6, 8, "held: "+h.String())
	}
	if fresh := s.Count - len(s.Machines); fresh > 0 && s.Kind == Delete {
		p.Line(6, 8, fmt.Sprintf("%s that this plan creates", count(fresh, "machine")))
	}
}

// plain reports whether the reason of s adds nothing to its number and its machines.
func (s Step) plain() bool {
	told := func(m Subject) bool { return m.Reason == "" }
	return s.Kind == Create && len(s.Machines) == 0 || s.Kind == Delete && len(s.Machines) > 0 && !slices.ContainsFunc(s.Machines, told)
}

func (s Step) what() string {
	of := ""
	if s.Set != "" {
		of = " of " + s.Set
	}
	machines := count(s.Count, "machine") + of
	switch s.Kind {
	case CreateSet:
		return fmt.Sprintf("create machine set %s of %s", s.Set, count(*s.To, "machine"))
	case DeleteSet:
		return "delete machine set " + s.Set
	case SetGone:
		return "machine set " + s.Set + " is gone"
	case ScaleSet:
		return fmt.Sprintf("scale machine set %s from %d to %d", s.Set, *s.From, *s.To)
	case RollBack:
		return "return to an earlier template"
	case Create:
		return "create " + machines
	case Delete:
		return "delete " + machines
	case Adopt:
		return fmt.Sprintf("machine set %s adopts %s", s.Set, count(s.Count, "machine"))
	case Release:
		return fmt.Sprintf("machine set %s releases %s", s.Set, count(s.Count, "machine"))
	case Amend:
		return "change " + machines + " in place"
	case Freeze:
		return "freeze machine set " + s.Set
	case Thaw:
		return "thaw machine set " + s.Set
	case Select:
		return "update the nodes of " + machines + " in place"
	case HandOver:
		return "hand " + count(s.Count, "machine") + " over to machine set " + s.Set
	}
	return string(s.Kind)
}

func (p *printer) subject(m Subject) {
	text := m.Name
	if m.Reason != "" {
		text += ": " + m.Reason
	}
	if m.Open {
		text += " (as of now)"
	}
	if m.Exit == nil {
		p.Line(6, 8, text)
		return
	}
	p.Line(6, 8, text+"; "+m.Exit.what())
	for _, b := range m.Exit.Blocked {
		text := b.word() + ": "
		if b.Pod != "" {
			text += "pod " + b.Pod
			if b.Covered > 1 {
				text += fmt.Sprintf(" and %d more", b.Covered-1)
			}
			text += ": "
		}
		p.Line(8, 10, text+b.Message)
	}
	if v := m.Exit.waitsFor(); v != "" {
		p.Line(8, 10, v)
	}
	if m.Exit.Stays != "" && len(m.Exit.Hooks) > 0 {
		p.Line(8, 10, "blocked: "+m.Exit.Stays)
	}
	if m.Exit.Forced > 0 {
		p.Line(8, 10, fmt.Sprintf("the drain is forced after %s", span(m.Exit.Forced)))
	}
}

func (b Block) word() string {
	switch {
	case b.Endless:
		return "blocked for good"
	case b.Allowed == 0:
		return "blocked now"
	}
	return "slowed"
}

func (l Leave) what() string {
	switch {
	case l.Unknown != "":
		return "what blocks its drain is unknown"
	case !l.Drains:
		return "no drain"
	}
	if l.Pods == 0 {
		return "no pods to drain"
	}
	return "drains " + count(l.Pods, "pod")
}

// mostVolumes is how many volumes a line names.
const mostVolumes = 5

// waitsFor says which volumes the drain waits for; empty if none exist.
func (l Leave) waitsFor() string {
	n := len(l.Volumes)
	switch {
	case l.VolumesUnknown != "":
		return "unknown whether it waits for volumes"
	case n == 0:
		return ""
	}
	out := "waits until it is detached: volume " + l.Volumes[0]
	if n > 1 {
		out = "waits until they are detached: volumes " + strings.Join(l.Volumes[:min(n, mostVolumes)], ", ")
	}
	if more := n - mostVolumes; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

func count(n int, one string) string {
	switch n {
	case 0:
		return "no " + one
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// span is a time as kubectl shows ages: "45s", "12m", "3h5m".
func span(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }
