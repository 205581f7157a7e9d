package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// kind is a kind, with its CRD.
type kind struct {
	apiext.CustomResourceDefinition
	// copied is true for a CRD that another project publishes. The page does not repeat its descriptions.
	copied bool
	// folder has the CRD.
	folder string
}

// crdFolders are the folders with CRDs.
var crdFolders = []string{"config/crd", "config/disruption-budgets"}

// readKinds reads the CRDs of the repository at root, sorted by group and plural.
func readKinds(root string) ([]kind, error) {
	var files []string
	for _, dir := range crdFolders {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_*.yaml"))
		if err != nil {
			return nil, fmt.Errorf("looking for CRDs: %w", err)
		}
		files = append(files, found...)
	}
	var out []kind
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a CRD: %w", err)
		}
		k := kind{copied: strings.HasPrefix(string(raw), "# Copied by"), folder: "config/" + filepath.Base(filepath.Dir(file))}
		if err := yaml.UnmarshalStrict(raw, &k.CustomResourceDefinition); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", file, err)
		}
		if len(k.Spec.Versions) != 1 {
			return nil, fmt.Errorf("%s: want one version, got %d", file, len(k.Spec.Versions))
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b kind) int {
		return cmp.Or(strings.Compare(a.Spec.Group, b.Spec.Group), strings.Compare(a.Spec.Names.Plural, b.Spec.Names.Plural))
	})
	return out, nil
}

func (k kind) version() apiext.CustomResourceDefinitionVersion { return k.Spec.Versions[0] }

func (k kind) schema() apiext.JSONSchemaProps { return *k.version().Schema.OpenAPIV3Schema }

// page returns the name of the page of the kind: machine.sapcloud.io_machines.md.
func (k kind) page() string { return k.Spec.Group + "_" + k.Spec.Names.Plural + ".md" }

// key returns the key of a field in [words].
func (k kind) key(field string) string {
	return k.Spec.Names.Plural + "." + k.Spec.Group + " " + field
}

// about describes the kind, in paragraphs.
func (k kind) about() string {
	if k.copied {
		return words[k.key("")]
	}
	return k.schema().Description
}

// summary returns the first sentence of the description.
func (k kind) summary() string {
	first, _, more := strings.Cut(cell(k.about()), ". ")
	if more {
		first += "."
	}
	return first
}

// field is a row of a table.
type field struct {
	path, kind, preset, meaning string
	must                        []string
}

// fields returns the fields of a kind, without the fields that every object has.
func (k kind) fields() []field {
	top := k.schema()
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(top.Properties, name)
	}
	return k.below("", top)
}

// below returns the fields of a schema, each followed by its own fields.
func (k kind) below(path string, of apiext.JSONSchemaProps) (out []field) {
	for _, name := range sortedNames(of.Properties) {
		p := of.Properties[name]
		here := strings.TrimPrefix(path+"."+name, ".")
		out = append(out, k.row(here, name, p, slices.Contains(of.Required, name)))
		inner, item := innerOf(p)
		if form := shapeOf(inner); form != "" && shapes[form].place != k.page() {
			continue
		}
		out = append(out, k.below(here+item, inner)...)
	}
	return out
}

func (k kind) row(path, name string, p apiext.JSONSchemaProps, required bool) field {
	f := field{path: path, kind: typeOf(p, k.page()), must: rules(p, required)}
	if p.Default != nil {
		f.preset = code(string(p.Default.Raw))
	}
	f.meaning = words[k.key(path)]
	if f.meaning == "" && !k.copied {
		f.meaning = sentence(p.Description, name)
	}
	return f
}

// innerOf returns the schema of the fields inside a field, and the suffix of their path.
func innerOf(p apiext.JSONSchemaProps) (apiext.JSONSchemaProps, string) {
	switch {
	case p.Items != nil && p.Items.Schema != nil:
		return *p.Items.Schema, "[]"
	case p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		return *p.AdditionalProperties.Schema, "{}"
	}
	return p, ""
}

// typeOf returns the type of a field, with a link if another page describes its form.
func typeOf(p apiext.JSONSchemaProps, page string) string {
	inner, item := innerOf(p)
	name := inner.Type
	if inner.Format != "" {
		name = inner.Format
	}
	shape := shapeOf(inner)
	switch {
	case shape != "" && shapes[shape].place != page:
		name = fmt.Sprintf("[%s](%s)", shape, shapes[shape].place)
	case inner.XIntOrString:
		name = "number or text"
	case inner.XPreserveUnknownFields != nil && *inner.XPreserveUnknownFields && len(inner.Properties) == 0:
		name = "anything"
	case inner.Type == "boolean":
		name = "true, false"
	case inner.Type == "string" && inner.Format == "":
		name = "text"
	}
	switch item {
	case "[]":
		return "list of " + name
	case "{}":
		return "map of " + name
	}
	return name
}

// rules returns the validation rules of a field.
func rules(p apiext.JSONSchemaProps, required bool) (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if required {
		add("required")
	}
	if len(p.Enum) > 0 {
		var all []string
		for _, e := range p.Enum {
			all = append(all, code(strings.Trim(string(e.Raw), `"`)))
		}
		add("one of %s", strings.Join(all, ", "))
	}
	if p.Pattern != "" {
		add("matches %s", code(p.Pattern))
	}
	bound := func(what string, n *int64) {
		if n != nil {
			add("%s %d", what, *n)
		}
	}
	bound("length at least", p.MinLength)
	bound("length at most", p.MaxLength)
	bound("items at least", p.MinItems)
	bound("items at most", p.MaxItems)
	if p.Minimum != nil {
		add("at least %v", *p.Minimum)
	}
	if p.Maximum != nil {
		add("at most %v", *p.Maximum)
	}
	if len(p.XListMapKeys) > 0 {
		add("one for each %s", code(strings.Join(p.XListMapKeys, ", ")))
	}
	if p.Nullable {
		add("may be null")
	}
	for _, v := range p.XValidations {
		add("%s", code(v.Rule))
	}
	return out
}
