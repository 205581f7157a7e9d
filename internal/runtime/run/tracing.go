package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/runtime/trace"
	"github.com/millwright-dev/millwright/internal/runtime/trace/otlp"
	"github.com/millwright-dev/millwright/internal/runtime/version"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// Tracer traces the lives of machines, like [trace.Lives]. Users declare the part of it that they need.
type Tracer interface {
	Born(uid string, created time.Time, about ...any)
	Did(uid, name string, from time.Time, err error, about ...any)
	Pass(ctx context.Context, uid string) (inner context.Context, over func(about ...any))
	Step(ctx context.Context, name string) (inner context.Context, over func(did bool, err error, about ...any))
	Call(ctx context.Context, c decorate.Call, do func(context.Context) error) error
}

// tracing has the destination of traces.
type tracing struct {
	endpoint string
	rate     int
}

func (t *tracing) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&t.endpoint, "tracing-endpoint", "",
		"URL of an OpenTelemetry collector that gets one trace for the life of each machine (OTLP over HTTP, http://collector:4318); empty is $OTEL_EXPORTER_OTLP_ENDPOINT and related variables, or no tracing if these are not set")
	fs.IntVar(&t.rate, "tracing-sampling-rate-per-million", trace.Million, "number of machines, out of a million, whose lives are traced")
}

func (t *tracing) check() error {
	if t.rate < 0 || t.rate > trace.Million {
		return fmt.Errorf("--tracing-sampling-rate-per-million: must be from 0 to %d, not %d", trace.Million, t.rate)
	}
	if t.endpoint == "" { // an invalid environment must not stop the controllers
		return nil
	}
	_, err := otlp.CollectorOf(t.endpoint, os.Getenv)
	return err
}

// start returns a nil tracer if tracing is not configured.
func (t *tracing) start(clk clock.PassiveClock, log logr.Logger) (Tracer, func(), error) {
	where, err := otlp.CollectorOf(t.endpoint, os.Getenv)
	var sender *otlp.Sender
	if err == nil && where.URL != nil && t.rate > 0 {
		sender, err = otlp.Start(context.Background(), otlp.Options{
			Where: where, Service: filepath.Base(os.Args[0]), Version: version.String(), IDs: trace.IDs{}, Log: log.WithName("tracing"),
		})
	}
	switch {
	case err != nil && t.endpoint != "":
		return nil, nil, err
	case err != nil:
		log.Error(err, "Nothing is traced: the environment asks for what cannot be done")
	}
	if sender == nil {
		return nil, func() {}, nil
	}
	log.Info("The lives of machines are traced", "collector", where.URL.Host, "perMillion", t.rate)
	return trace.New(sender.Tracer(), clk, t.rate), sender.Stop, nil
}
