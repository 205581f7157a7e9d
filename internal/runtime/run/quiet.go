package run

import (
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Quiet is a log in which an error is something to look at: what happens in the best of
// clusters is told at V(1). Others write the same object, and the pass is made again; and
// who is told to end gives its lease up.
func Quiet(log logr.Logger) logr.Logger {
	sink := log.GetSink()
	if deep, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deep.WithCallDepth(1) // whoever logs is one further up
	}
	return log.WithSink(quietSink{sink})
}

type quietSink struct{ logr.LogSink }

// endedAtStop is what controller-runtime says of errors after it was told to stop.
const endedAtStop = "error received after stop sequence was engaged"

// Error implements [logr.LogSink].
func (q quietSink) Error(err error, msg string, kv ...any) {
	if !apierrors.IsConflict(err) && msg != endedAtStop {
		q.LogSink.Error(err, msg, kv...)
		return
	}
	if q.Enabled(1) {
		q.LogSink.Info(1, msg, append(kv, "err", err.Error())...)
	}
}

// Info implements [logr.LogSink]. It is there to be between whoever logs and what is inside, as
// Error is: that looks for the line of code in the same place.
func (q quietSink) Info(level int, msg string, kv ...any) { q.LogSink.Info(level, msg, kv...) }

// WithValues implements [logr.LogSink].
func (q quietSink) WithValues(kv ...any) logr.LogSink { return quietSink{q.LogSink.WithValues(kv...)} }

// WithName implements [logr.LogSink].
func (q quietSink) WithName(name string) logr.LogSink { return quietSink{q.LogSink.WithName(name)} }
