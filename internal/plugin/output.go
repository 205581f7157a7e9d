package plugin

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// Output are the flags with which kubectl prints for scripts, for documents that are no
// objects: -o json, yaml, jsonpath and templates.
type Output struct{ flags *genericclioptions.PrintFlags }

// NewOutput asks for no format: a person reads.
func NewOutput() Output {
	f := genericclioptions.NewPrintFlags("")
	f.NamePrintFlags = nil // a document has no name
	return Output{f}
}

// As is a format that was asked for.
func (o Output) As(format string) Output {
	o.flags.OutputFormat = &format
	return o
}

// AddFlags adds them to a command.
func (o Output) AddFlags(c *cobra.Command) { o.flags.AddFlags(c) }

// Formats are those that there are.
func (o Output) Formats() []string { return o.flags.AllowedFormats() }

// Printer prints one document for scripts; nil where a person reads.
func (o Output) Printer() (printers.ResourcePrinter, error) {
	if *o.flags.OutputFormat == "" && *o.flags.TemplatePrinterFlags.TemplateArgument == "" {
		return nil, nil
	}
	return o.flags.ToPrinter()
}

// Document lets content be printed as objects are. It has a kind and no version: it is
// not stored anywhere.
func Document(api, kind string, content any) runtime.Object {
	return &document{schema.GroupVersionKind{Group: api, Kind: kind}, content}
}

type document struct {
	kind    schema.GroupVersionKind
	content any
}

func (d *document) GetObjectKind() schema.ObjectKind { return d }
func (d *document) DeepCopyObject() runtime.Object   { out := *d; return &out }

// MarshalJSON is what printers print.
func (d *document) MarshalJSON() ([]byte, error) { return json.Marshal(d.content) }

// SetGroupVersionKind changes nothing.
func (d *document) SetGroupVersionKind(schema.GroupVersionKind) {}

// GroupVersionKind tells printers that the kind is known.
func (d *document) GroupVersionKind() schema.GroupVersionKind { return d.kind }
