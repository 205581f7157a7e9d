package trace

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// tell records a finished part, within that of ctx, and returns the context for its own parts.
func (l *Lives) tell(ctx context.Context, one part) context.Context {
	from := one.from
	if from.IsZero() || from.After(one.to) { // another process's clock set its beginning
		from = one.to
	}
	ctx, span := l.spans.Start(ctx, one.name,
		oteltrace.WithTimestamp(from), oteltrace.WithSpanKind(one.kind), oteltrace.WithAttributes(attributes(one.about)...))
	if one.failure != "" {
		span.SetStatus(codes.Error, one.failure)
		span.SetAttributes(attribute.String("error.type", one.failure))
	}
	span.End(oteltrace.WithTimestamp(one.to))
	return ctx
}

// attributes returns those of keys and values. Empty values are unknown, and left out.
func attributes(about []any) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(about)/2)
	for i := 1; i < len(about); i += 2 {
		if value := fmt.Sprint(about[i]); value != "" {
			out = append(out, attribute.String(fmt.Sprint("millwright.", about[i-1]), value))
		}
	}
	return out
}

// failureOf returns the kind of a failure. Its text is not recorded: that of a provider may contain anything.
func failureOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return string(e.Kind)
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	return string(provider.Transient)
}

// changes are the verbs of calls that are always recorded. Calls that only read are recorded together with a
// pass that did something.
var changes = map[string]bool{decorate.Create: true, decorate.Delete: true, decorate.Initialize: true, decorate.Maintain: true, decorate.Power: true}

// Call is a [decorate.Around] that records calls to the infrastructure.
func (l *Lives) Call(ctx context.Context, c decorate.Call, do func(context.Context) error) error {
	name := "provider " + c.Verb
	about := []any{"provider", c.Provider, "verb", c.Verb, "providerID", c.Ref.ProviderID}
	if at := placeOf(ctx); at.pass != nil {
		ctx, over := at.begin(ctx, name, oteltrace.SpanKindClient)
		err := do(ctx)
		over(changes[c.Verb], err, about...)
		return err
	}
	if !changes[c.Verb] {
		return do(ctx)
	}
	from := l.clock.Now()
	err := do(ctx)
	l.Did(c.Ref.UID, name, from, err, about...)
	return err
}
