package plugin

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// Output are kubectl's output flags for scripts, for documents that are not objects: -o json, yaml,
// jsonpath and templates.
type Output struct{ flags *genericclioptions.PrintFlags }

// NewOutput has no format set: a person reads.
func NewOutput() Output {
	f := genericclioptions.NewPrintFlags("")
	f.NamePrintFlags = nil // a document has no name
	return Output{f}
}

// As sets a format.
func (o Output) As(format string) Output {
	o.flags.OutputFormat = &format
	return o
}

// AddFlags adds them to a command.
func (o Output) AddFlags(c *cobra.Command) { o.flags.AddFlags(c) }

// Formats are the allowed formats.
func (o Output) Formats() []string { return o.flags.AllowedFormats() }

// Printer prints one document for scripts; nil if a person reads.
func (o Output) Printer() (printers.ResourcePrinter, error) {
	if *o.flags.OutputFormat == "" && *o.flags.TemplatePrinterFlags.TemplateArgument == "" {
		return nil, nil
	}
	return o.flags.ToPrinter()
}

// Document prints content as objects are printed. It has a kind and no version: it is not stored anywhere.
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

// GroupVersionKind returns the kind for printers.
func (d *document) GroupVersionKind() schema.GroupVersionKind { return d.kind }
