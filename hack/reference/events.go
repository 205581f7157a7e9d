package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// collect finds the events and conditions that the code of a repository records.
func collect(root string) (events, written []occurrence, err error) {
	files, err := load(root)
	if err != nil {
		return nil, nil, err
	}
	s := newSources(files, followed)
	s.foreign = foreign
	s.assumed = assumedReasons(s)
	if events, err = s.events(); err != nil {
		return nil, nil, fmt.Errorf("collecting event reasons: %w", err)
	}
	s.assumed = assumedTypes()
	if written, err = s.conditions(); err != nil {
		return nil, nil, fmt.Errorf("collecting condition types: %w", err)
	}
	return events, written, nil
}

// undescribed returns the reasons and types that are in the code but not in the tables, and the reverse.
func undescribed(events, written []occurrence) (problems []string) {
	said := map[string]bool{}
	for _, o := range events {
		g := groupOf(o.at)
		for _, reason := range o.texts {
			if g == nil {
				problems = append(problems, fmt.Sprintf("%s: no table of event_words.go is about events of this folder", o.at))
				continue
			}
			said[g.title+" "+reason] = true
			if !g.has(reason, o) {
				problems = append(problems, fmt.Sprintf("%s: event %s %v has no row in %q of event_words.go", o.at, reason, o.kinds, g.title))
			}
		}
	}
	for _, g := range eventGroups {
		for _, e := range g.events {
			if !said[g.title+" "+e.reason] {
				problems = append(problems, fmt.Sprintf("event_words.go describes %s of %q, which no code records", e.reason, g.title))
			}
		}
	}
	return append(problems, unwritten(written)...)
}

func unwritten(written []occurrence) (problems []string) {
	is := map[string]bool{}
	for _, o := range written {
		for _, name := range o.texts {
			is[name] = true
			if !slices.ContainsFunc(conditions, func(c condition) bool { return c.is(name) }) {
				problems = append(problems, fmt.Sprintf("%s: condition %s has no row in condition_words.go", o.at, name))
			}
			for _, reason := range o.kinds {
				if !slices.ContainsFunc(conditions, func(c condition) bool { return c.is(name) && c.mentions(reason) }) {
					problems = append(problems, fmt.Sprintf("%s: condition_words.go does not say what %s of condition %s means", o.at, reason, name))
				}
			}
		}
	}
	for _, c := range conditions {
		for name := range strings.SplitSeq(c.names, ", ") {
			if !is[name] && !strings.HasPrefix(name, "*") {
				problems = append(problems, fmt.Sprintf("condition_words.go describes %s, which no code writes", name))
			}
		}
	}
	return problems
}

// groupOf returns the table about the events of a file.
func groupOf(at string) *group {
	for i := range eventGroups {
		if slices.Contains(eventGroups[i].of, path.Dir(at)) {
			return &eventGroups[i]
		}
	}
	return nil
}

// has reports whether the table has a row for a reason with the type in the code. If a place records several reasons, their
// types are not distinguished.
func (g *group) has(reason string, o occurrence) bool {
	return slices.ContainsFunc(g.events, func(e event) bool {
		return e.reason == reason && (len(o.texts) > 1 || len(o.kinds) == 0 || slices.Contains(o.kinds, e.kind))
	})
}

// eventsPage returns the catalog. It returns an error if the code records an event or a condition without a row.
func eventsPage(root string) (string, error) {
	events, written, err := collect(root)
	if err != nil {
		return "", err
	}
	if problems := undescribed(events, written); len(problems) > 0 {
		return "", fmt.Errorf("the catalogue of events and conditions is not that of the code:\n%s", strings.Join(problems, "\n"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, mark, "hack/reference/event_words.go and condition_words.go; a test holds them to the code")
	b.WriteString(`# Events and conditions

The page lists every event and every condition that Millwright records. **o** means ` + "`machine.openshift.io`, **g** means `machine.sapcloud.io`" + `. The names are part of the
API: clients may match on them, and they do not change. [compatibility.md](../compatibility.md) lists differences from the names of machine-api-operator and
machine-controller-manager ("the originals"). Messages are for users and may change. [reasons](../reasons.md) lists the answers of ` + "`kubectl machine why`" + `.

` + "```sh\nkubectl get events --field-selector involvedObject.kind=Machine,reason=FailedCreate\n```\n")
	b.WriteString("\n## Events\n")
	for _, g := range eventGroups {
		fmt.Fprintf(&b, "\n### %s\n\n", g.title)
		head(&b, "reason", "type", "API", "what has happened", "what to do")
		for _, e := range g.events {
			row(&b, code(e.reason), e.kind, e.api, cell(e.means), cell(e.do))
		}
	}
	b.WriteString("\n## Conditions\n\nA reason follows its status after a comma. The last column has the clients that are known to depend on a condition.\n\n")
	head(&b, "object", "type", "API", "statuses and reasons", "clients")
	for _, c := range conditions {
		row(&b, c.of, typeCell(c.names), c.api, strings.ReplaceAll(c.says, "\n", "<br>"), c.clients)
	}
	return b.String(), nil
}

// typeCell returns the types of a row as code; in asterisks they are prose.
func typeCell(names string) string {
	if strings.HasPrefix(names, "*") {
		return names
	}
	return code(strings.ReplaceAll(names, ", ", "`, `"))
}
