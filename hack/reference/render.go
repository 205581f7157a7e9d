package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kindPage returns the page of a kind.
func kindPage(k kind) string {
	var b strings.Builder
	source := k.folder + "/" + strings.TrimSuffix(k.page(), ".md") + ".yaml"
	fmt.Fprintf(&b, mark, source)
	fmt.Fprintf(&b, "# %s (%s/%s)\n\n%s\n\n", k.Spec.Names.Kind, k.Spec.Group, k.version().Name, k.about())
	b.WriteString(facts(k))
	if k.copied {
		fmt.Fprintf(&b, "\nThe CRD is the published one. `kubectl explain %s.%s` shows its own descriptions.\n", k.Spec.Names.Plural, k.Spec.Group)
	}
	b.WriteString("\n## Fields\n\n")
	table(&b, k.fields())
	if columns := k.version().AdditionalPrinterColumns; len(columns) > 0 {
		b.WriteString("\n## Columns of kubectl get\n\n")
		head(&b, "column", "shows", "only with `-o wide`")
		for _, c := range columns {
			wide := ""
			if c.Priority > 0 {
				wide = "yes"
			}
			row(&b, c.Name, code(strings.TrimPrefix(c.JSONPath, ".")), wide)
		}
	}
	return b.String()
}

// facts are the names and subresources of the kind.
func facts(k kind) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **Resource**: `%s.%s`", k.Spec.Names.Plural, k.Spec.Group)
	if short := k.Spec.Names.ShortNames; len(short) > 0 {
		fmt.Fprintf(&b, ", short `%s`", strings.Join(short, "`, `"))
	}
	fmt.Fprintf(&b, ". %s.\n", k.Spec.Scope)
	sub := k.version().Subresources
	if sub != nil && sub.Status != nil {
		b.WriteString("- **Status** is a subresource: who writes it needs a right of its own, and `kubectl apply` does not change it.\n")
	}
	if sub != nil && sub.Scale != nil {
		fmt.Fprintf(&b, "- **Scale**: `kubectl scale` and autoscalers set `%s`.\n", strings.TrimPrefix(sub.Scale.SpecReplicasPath, "."))
	}
	return b.String()
}

func table(b *strings.Builder, fields []field) {
	head(b, "field", "type", "default", "demands", "meaning")
	for _, f := range fields {
		row(b, code(f.path), f.kind, f.preset, strings.Join(f.must, "; "), f.meaning)
	}
}

// commonPage describes the forms that several kinds share.
func commonPage(kinds []kind) string {
	var b strings.Builder
	fmt.Fprintf(&b, mark, "config/crd")
	b.WriteString("# Forms that several kinds share\n\nThe types of fields on the pages of [kinds](README.md) lead here.\n")
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		s := shapes[name]
		if s.says == nil {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", strings.ToUpper(name[:1])+name[1:])
		table(&b, s.fields(kinds))
		if s.rest != "" {
			fmt.Fprintf(&b, "\n%s\n", s.rest)
		}
	}
	return b.String()
}

// fields returns the fields of a form, from the first kind that has it.
func (s shape) fields(kinds []kind) (out []field) {
	for _, k := range kinds {
		at, found := s.in(k.schema())
		if !found {
			continue
		}
		for _, f := range (kind{copied: true}).below("", at) {
			f.meaning = s.says[f.path]
			if f.meaning != "" || s.rest == "" {
				out = append(out, f)
			}
		}
		return out
	}
	return nil
}

const index = `# Reference

What programs take and objects have, made from the code, and held to it by tests.

| page | what it has |
|---|---|
| [flags](flags.md) | the command line of every program |
| [rights](rights.md) | what each program may do in a cluster, and why |
| [kubemark](../providers/kubemark.md#fields) | the provider spec of kubemark |
| [annotations](../annotations.md) | the annotations of Millwright |
| [metrics](../metrics.md) | the metrics of each program |
| [events and conditions](events.md) | every event and condition, what it means, and what to do |
| [reasons](../reasons.md) | what ` + "`kubectl machine why`" + ` answers, and what to do |
| [forms](common.md) | forms that several kinds share |

## Kinds

`

// indexPage lists all pages.
func indexPage(kinds []kind) string {
	var b strings.Builder
	fmt.Fprintf(&b, mark, "config")
	b.WriteString(index)
	head(&b, "kind", "API", "short", "what it is")
	for _, k := range kinds {
		row(&b, fmt.Sprintf("[%s](%s)", k.Spec.Names.Kind, k.page()), k.Spec.Group+"/"+k.version().Name, strings.Join(k.Spec.Names.ShortNames, ", "), cell(k.summary()))
	}
	b.WriteString("\nWhat each kind promises its clients, and where Millwright differs on purpose, is in [compatibility.md](../compatibility.md); what webhooks ask\nbesides the demands of a schema is in [admission.md](../admission.md).\n")
	return b.String()
}
