package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Instance is a machine's instance as stored objects show it. No part of it is an answer of the infrastructure now.
type Instance struct {
	// Seen is what the machine's object shows; empty if that does not exist any more.
	postmortem.Seen
	// Report is what the infrastructure reported when the evidence was taken; nil without evidence.
	Report *Report `json:"report,omitempty"`
}

// Report is the infrastructure's report in the evidence of a machine.
type Report struct {
	// Taken is when it was taken, Where names the object that has it.
	Taken time.Time         `json:"taken"`
	Where string            `json:"where"`
	Facts []postmortem.Fact `json:"facts"`
	// Console is the end of the console's output; empty if the infrastructure has none, or it could not be read.
	Console string `json:"console,omitempty"`
}

// imageFields are the names of fields of provider specs that name the image of the instance.
var imageFields = []string{"ami", "image", "imageID", "imageRef", "imageName", "sourceImage", "template"}

// InstanceOf returns the instance of a machine that exists; nil if nothing about it is stored.
func InstanceOf(f *MachineFacts, seen postmortem.Seen) *Instance {
	i := &Instance{Seen: postmortem.Seen{At: seen.At, Said: seen.Said}}
	v := &f.View
	i.Add("provider ID", v.Recorded.ProviderID, "spec.providerID")
	i.Facts = append(i.Facts, seen.Facts...)
	for _, a := range v.Recorded.Addresses {
		i.Add(string(a.Type), a.Address, "status.addresses")
	}
	if o := v.Recorded.Origin; o != nil {
		where := strings.Trim(strings.Join([]string{o.Region, cmp.Or(o.ChosenZone, o.Zone)}, ", "), ", ")
		i.Add("requested in", where, record)
		i.Add("account", o.Account, record)
	}
	for _, field := range f.Made.Fields {
		if slices.Contains(imageFields, field.Name) {
			i.Add("requested image", field.Value, field.Path)
		}
	}
	if f.Evidence != nil {
		i.Report = reportOf(*f.Evidence)
	}
	if len(i.Facts)+len(i.Said) == 0 && i.Report == nil {
		return nil
	}
	return i
}

// reportOf returns the report in the evidence.
func reportOf(e Evidence) *Report {
	r := &Report{Taken: e.Record.Taken, Where: e.Where, Console: e.Record.Console}
	x := e.Record.Instance
	if x == nil {
		r.Facts = []postmortem.Fact{{Name: "state", Value: "the infrastructure showed no instance, or could not be asked"}}
		return r
	}
	var s postmortem.Seen
	s.Add("ID", x.ID, "")
	s.Add("provider ID", x.ProviderID, "")
	state := x.State
	if x.RawState != "" && x.RawState != x.State {
		state += " (" + x.RawState + ")"
	}
	s.Add("state", state, "")
	s.Add("type", x.Type, "")
	s.Add("zone", x.Zone, "")
	s.Add("addresses", strings.Join(x.Addresses, ", "), "")
	if !x.Created.IsZero() {
		s.Add("created", x.Created.UTC().Format(time.RFC3339), "")
	}
	r.Facts = s.Facts
	return r
}

// stated is "condition MachineCreation: True, Machine is running (since 2026-01-02T03:04:05Z)".
func stated(s postmortem.Statement) string {
	text := s.About + ": " + strings.Join(slices.DeleteFunc([]string{s.Status, clause(oneLine(s.Message))}, func(t string) bool { return t == "" }), ", ")
	if !s.Since.IsZero() {
		text += " (since " + s.Since.UTC().Format(time.RFC3339) + ")"
	}
	return text
}

// mostConsole is how many lines of the console a terminal shows.
const mostConsole = 20

// text returns the instance for people.
func (i *Instance) text() string {
	if i == nil {
		return ""
	}
	var out strings.Builder
	if len(i.Facts)+len(i.Said) > 0 {
		since := ""
		if !i.At.IsZero() {
			since = ", which has not changed since " + i.At.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(&out, "\nInstance, as the status of the machine shows it%s:\n", since)
		table(&out, i.Facts)
		for _, s := range i.Said {
			fmt.Fprintf(&out, "  %s\n", stated(s))
		}
	}
	if r := i.Report; r != nil {
		fmt.Fprintf(&out, "\nInstance, as the infrastructure reported it at %s (%s):\n", r.Taken.UTC().Format(time.RFC3339), r.Where)
		table(&out, r.Facts)
		out.WriteString(r.console())
	}
	return out.String()
}

// console returns the last lines of the console.
func (r *Report) console() string {
	if r.Console == "" {
		return ""
	}
	lines := strings.Split(strings.TrimRight(r.Console, "\n"), "\n")
	left := lines[max(0, len(lines)-mostConsole):]
	head := "Console:"
	if len(left) < len(lines) {
		head = fmt.Sprintf("Console, the last %d of %d kept lines (all: -o json):", len(left), len(lines))
	}
	return head + "\n  " + strings.Join(left, "\n  ") + "\n"
}

func table(out *strings.Builder, facts []postmortem.Fact) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range facts {
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\n", f.Name, oneLine(f.Value), f.Where)
	}
	_ = w.Flush() // into memory
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
