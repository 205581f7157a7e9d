package run

import (
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Quiet returns a log in which an error deserves attention: usual events of a healthy cluster are logged at
// V(1). Examples are conflicts with other writers of the same object, after which the pass is repeated, and a
// process that releases its lease because it was asked to end.
func Quiet(log logr.Logger) logr.Logger {
	sink := log.GetSink()
	if deep, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deep.WithCallDepth(1) // the caller is one frame further up
	}
	return log.WithSink(quietSink{sink})
}

type quietSink struct{ logr.LogSink }

// endedAtStop is controller-runtime's message about errors after it was asked to stop.
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

// Info implements [logr.LogSink]. It adds one frame to the stack, like Error: the inner sink looks for the
// caller at the same depth.
func (q quietSink) Info(level int, msg string, kv ...any) { q.LogSink.Info(level, msg, kv...) }

// WithValues implements [logr.LogSink].
func (q quietSink) WithValues(kv ...any) logr.LogSink { return quietSink{q.LogSink.WithValues(kv...)} }

// WithName implements [logr.LogSink].
func (q quietSink) WithName(name string) logr.LogSink { return quietSink{q.LogSink.WithName(name)} }
