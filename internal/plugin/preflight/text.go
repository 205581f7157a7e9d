package preflight

import (
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/prose"
)

// mostShown limits the printed objects of one effect. mostNamed limits the printed objects of one block.
const (
	mostShown = 30
	mostNamed = 3
)

// Text returns the report for users, in lines of at most 80 columns.
func (r Report) Text() string {
	var p printer
	if r.Ready {
		p.Line(0, 0, "Nothing stands in the way.")
	} else {
		p.Line(0, 0, "Stands in the way:")
		for _, b := range r.Blocks {
			p.Line(2, 4, "- "+b.What+missing(b.Rights)+about(b.Objects)+". "+capital(b.Do)+".")
		}
	}
	p.objects("Goes on with:", r.of(Continues))
	p.objects("Is not well, and stays as it is until what it declares about that comes to pass:", r.of(Watches))
	p.WriteString("\n")
	if rest := r.of(Bookkeeping); len(rest) > 0 {
		p.Line(0, 0, fmt.Sprintf("Nothing but bookkeeping for %s.", counts(rest)))
	}
	if len(r.Objects) == 0 {
		p.Line(0, 0, "There are no objects.")
	}
	for _, note := range r.Notes {
		p.Line(0, 0, note)
	}
	p.Line(0, 0, "The way back: scale Millwright to 0, wait until its leases are free, and start the original again; it finds all that it knows in the objects (docs/taking-over.md).")
	return p.String()
}

// of returns the verdicts with one effect, except verdicts that the verdict of an owner includes.
func (r Report) of(e Effect) (out []Verdict) {
	for _, v := range r.Objects {
		if v.Effect == e && v.Under == nil {
			out = append(out, v)
		}
	}
	return out
}

// mostRights limits the printed rights of one account.
const mostRights = 5

func missing(rights []string) string {
	if len(rights) == 0 {
		return ""
	}
	out := ": " + strings.Join(rights[:min(len(rights), mostRights)], "; ")
	if more := len(rights) - mostRights; more > 0 {
		out += fmt.Sprintf("; and %d more, which -o json has", more)
	}
	return out
}

// about returns the names of the first objects, and the number of the others.
func about(all []explain.Subject) string {
	if len(all) == 0 {
		return ""
	}
	var names []string
	for _, s := range all[:min(len(all), mostNamed)] {
		names = append(names, short(s))
	}
	if more := len(all) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// short returns text such as "machineset/mill in blue".
func short(s explain.Subject) string {
	return strings.ToLower(s.Kind) + "/" + s.Name + " in " + s.Namespace
}

// counts returns text such as "3 Machines, 1 MachineSet of machine.sapcloud.io".
func counts(all []Verdict) string {
	type kind struct{ api, name string }
	n := map[kind]int{}
	var order []kind
	for _, v := range all {
		k := kind{v.API, v.Kind}
		if n[k] == 0 {
			order = append(order, k)
		}
		n[k]++
	}
	var out []string
	for i, k := range order {
		text := fmt.Sprintf("%d %s", n[k], plural(k.name, n[k]))
		if i == len(order)-1 || order[i+1].api != k.api {
			text += " of " + k.api
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func plural(kind string, n int) string {
	switch {
	case n == 1:
		return kind
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	}
	return kind + "s"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// printer wraps lines at 80 columns.
type printer struct{ prose.Printer }

func (p *printer) objects(title string, all []Verdict) {
	if len(all) == 0 {
		return
	}
	p.WriteString("\n")
	p.Line(0, 0, title)
	for _, v := range all[:min(len(all), mostShown)] {
		p.Line(2, 4, "- "+short(v.Subject)+": "+strings.TrimSuffix(v.Text, "."))
	}
	if more := len(all) - mostShown; more > 0 {
		p.Line(2, 4, fmt.Sprintf("and %d more: -o json has all", more))
	}
}
