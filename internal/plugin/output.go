package plugin

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// Output has the output flags of kubectl for documents that are not API objects: -o json, yaml, jsonpath and
// templates.
type Output struct{ flags *genericclioptions.PrintFlags }

// NewOutput returns an Output without a format: the command prints text for users.
func NewOutput() Output {
	f := genericclioptions.NewPrintFlags("")
	f.NamePrintFlags = nil // a document has no name
	return Output{f}
}

// As sets the format and returns o.
func (o Output) As(format string) Output {
	o.flags.OutputFormat = &format
	return o
}

// AddFlags adds the output flags to a command.
func (o Output) AddFlags(c *cobra.Command) { o.flags.AddFlags(c) }

// Formats returns the allowed formats.
func (o Output) Formats() []string { return o.flags.AllowedFormats() }

// Printer returns a printer for one document, or nil if no format is set.
func (o Output) Printer() (printers.ResourcePrinter, error) {
	if *o.flags.OutputFormat == "" && *o.flags.TemplatePrinterFlags.TemplateArgument == "" {
		return nil, nil
	}
	return o.flags.ToPrinter()
}

// Document returns content as an object that the printers can print. The object has a kind but no version, because no
// API server stores it.
func Document(api, kind string, content any) runtime.Object {
	return &document{schema.GroupVersionKind{Group: api, Kind: kind}, content}
}

type document struct {
	kind    schema.GroupVersionKind
	content any
}

func (d *document) GetObjectKind() schema.ObjectKind { return d }
func (d *document) DeepCopyObject() runtime.Object   { out := *d; return &out }

// MarshalJSON returns the JSON of the content.
func (d *document) MarshalJSON() ([]byte, error) { return json.Marshal(d.content) }

// SetGroupVersionKind ignores its argument: the kind of a document does not change.
func (d *document) SetGroupVersionKind(schema.GroupVersionKind) {}

// GroupVersionKind returns the kind for printers.
func (d *document) GroupVersionKind() schema.GroupVersionKind { return d.kind }
