// Package otlp sends spans to a collector of OpenTelemetry: OTLP over HTTP, in protobuf.
//
// What is sent waits in a queue that is bounded. While the collector does not answer, spans are
// dropped; nobody who makes them ever waits.
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

// Options of a sender.
type Options struct {
	// Where is the collector, and how it is asked.
	Where Collector
	// Service and Version are the program's. $OTEL_SERVICE_NAME and $OTEL_RESOURCE_ATTRIBUTES
	// go before them.
	Service, Version string
	// IDs gives spans their IDs.
	IDs sdktrace.IDGenerator
	Log logr.Logger
}

// Sender sends spans.
type Sender struct{ spans *sdktrace.TracerProvider }

// Start begins to send. The collector need not be there.
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

// Tracer makes spans that are sent.
func (s *Sender) Tracer() trace.Tracer { return s.spans.Tracer("github.com/millwright-dev/millwright") }

// patience is how long the last spans of a process may take.
const patience = 2 * time.Second

// Stop sends what is left, as far as the collector takes it at once.
func (s *Sender) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = s.spans.Shutdown(ctx) // what cannot be sent is dropped, as ever; the client has told so
}
