// Package otlp sends spans to a collector of OpenTelemetry: OTLP over HTTP, in protobuf.
//
// Spans wait in a bounded queue. While the collector does not answer, spans are dropped; creating a span
// never waits.
package otlp

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options are the inputs of a sender.
type Options struct {
	// Where is the collector, and its settings.
	Where Collector
	// Service and Version are those of the program. $OTEL_SERVICE_NAME and $OTEL_RESOURCE_ATTRIBUTES override
	// them.
	Service, Version string
	// IDs generates the IDs of spans.
	IDs sdktrace.IDGenerator
	Log logr.Logger
}

// Sender sends spans.
type Sender struct{ spans *sdktrace.TracerProvider }

// Start starts a sender. The collector need not be available.
func Start(ctx context.Context, o Options) (*Sender, error) {
	client, err := newClient(o.Where, o.Log)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("make an exporter of traces: %w", err)
	}
	is, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", o.Service), attribute.String("service.version", o.Version)), resource.Environment())
	if err != nil {
		return nil, fmt.Errorf("name the service in traces: %w", err)
	}
	return &Sender{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithIDGenerator(o.IDs), sdktrace.WithResource(is),
	)}, nil
}

// Tracer creates spans that are sent.
func (s *Sender) Tracer() trace.Tracer { return s.spans.Tracer("github.com/millwright-dev/millwright") }

// patience is how long the last spans of a process may take.
const patience = 2 * time.Second

// Stop sends the remaining spans, if the collector accepts them at once.
func (s *Sender) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = s.spans.Shutdown(ctx) // unsent spans are dropped, as always; the client has logged it
}
