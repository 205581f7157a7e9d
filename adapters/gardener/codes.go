package gardener

import (
	"context"
	"errors"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"

	"github.com/millwright-dev/millwright/provider"
)

// slowRetry is the original's retry interval after a code that it does not expect to pass soon.
const slowRetry = 3 * time.Minute

// reaction is the reaction to a code.
type reaction struct {
	kind provider.Kind
	// after is that of [provider.Error]; zero leaves it to the engine, which backs off up to 5 s where the
	// original always waits 5 s.
	after time.Duration
	// named: the engine writes the code of the kind into the machine. Other codes are only in the message.
	named bool
}

// reactions maps the codes of failures; other codes count as Unknown. Unless a code says that nothing was
// done, the outcome is open: the engine searches for the instance before it creates another.
var reactions = map[codes.Code]reaction{
	codes.Canceled:           {kind: provider.Transient, after: slowRetry},
	codes.Unknown:            {kind: provider.Transient},
	codes.InvalidArgument:    {kind: provider.Invalid, named: true},
	codes.DeadlineExceeded:   {kind: provider.Transient},
	codes.NotFound:           {kind: provider.Transient, after: slowRetry},
	codes.AlreadyExists:      {kind: provider.Conflict},
	codes.PermissionDenied:   {kind: provider.Denied, named: true},
	codes.ResourceExhausted:  {kind: provider.Exhausted, named: true},
	codes.FailedPrecondition: {kind: provider.Transient, after: slowRetry},
	codes.Aborted:            {kind: provider.Transient},
	codes.OutOfRange:         {kind: provider.Transient, after: slowRetry},
	codes.Unimplemented:      {kind: provider.Denied},
	codes.Internal:           {kind: provider.Transient, after: slowRetry},
	codes.Unavailable:        {kind: provider.Transient, named: true},
	codes.DataLoss:           {kind: provider.Transient, after: slowRetry},
	codes.Unauthenticated:    {kind: provider.Denied},
	uninitialized:            {kind: provider.Transient},
}

// codeOf is the code of a driver's error: OK for nil, Unknown for an error without a code.
func codeOf(err error) codes.Code {
	s, _ := status.FromError(err)
	return s.Code()
}

// driverError is a driver's error with its message alone: the text of a gRPC status, which repeats the code,
// is removed because the engine adds its own.
type driverError struct {
	text  string
	cause error
}

func (s driverError) Error() string { return s.text }

func (s driverError) Unwrap() error { return s.cause }

// classified converts a driver's error for the engine. A classified error stays the same.
func classified(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &provider.Error{Kind: provider.Transient, Err: err}
	}
	s, coded := status.FromError(err)
	if !coded { // the original waits three minutes after an error without a code
		return &provider.Error{Kind: provider.Transient, After: slowRetry, Err: err}
	}
	r, known := reactions[s.Code()]
	if !known {
		r = reactions[codes.Unknown]
	}
	text := s.Message()
	if !r.named {
		text = s.Code().String() + ": " + text
	}
	return &provider.Error{Kind: r.kind, After: r.after, Err: driverError{text: text, cause: err}}
}
