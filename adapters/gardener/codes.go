package gardener

import (
	"context"
	"errors"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"

	"github.com/millwright-dev/millwright/provider"
)

// seldom is how long the original waits after a code that it does not expect to pass soon.
const seldom = 3 * time.Minute

// reaction is what follows from a code.
type reaction struct {
	kind provider.Kind
	// after is that of [provider.Error]; zero leaves it to the engine, which backs off up to 5 s
	// where the original always waits 5 s.
	after time.Duration
	// named says that the engine writes the code of the kind into the machine: others are
	// named in the message.
	named bool
}

// reactions are those of the codes of failures; a code that is not known is as Unknown. Whatever
// does not say that nothing was done leaves the outcome open: the instance is looked for before
// it is asked for again.
var reactions = map[codes.Code]reaction{
	codes.Canceled:           {kind: provider.Transient, after: seldom},
	codes.Unknown:            {kind: provider.Transient},
	codes.InvalidArgument:    {kind: provider.Invalid, named: true},
	codes.DeadlineExceeded:   {kind: provider.Transient},
	codes.NotFound:           {kind: provider.Transient, after: seldom},
	codes.AlreadyExists:      {kind: provider.Conflict},
	codes.PermissionDenied:   {kind: provider.Denied, named: true},
	codes.ResourceExhausted:  {kind: provider.Exhausted, named: true},
	codes.FailedPrecondition: {kind: provider.Transient, after: seldom},
	codes.Aborted:            {kind: provider.Transient},
	codes.OutOfRange:         {kind: provider.Transient, after: seldom},
	codes.Unimplemented:      {kind: provider.Denied},
	codes.Internal:           {kind: provider.Transient, after: seldom},
	codes.Unavailable:        {kind: provider.Transient, named: true},
	codes.DataLoss:           {kind: provider.Transient, after: seldom},
	codes.Unauthenticated:    {kind: provider.Denied},
	uninitialized:            {kind: provider.Transient},
}

// codeOf is the code of what a driver returned: OK for nil, Unknown for an error without a code.
func codeOf(err error) codes.Code {
	s, _ := status.FromError(err)
	return s.Code()
}

// saidError is a driver's error in its own words: the frame that carries the code in its text is
// taken off, since the engine puts one around what it writes.
type saidError struct {
	text  string
	cause error
}

func (s saidError) Error() string { return s.text }

func (s saidError) Unwrap() error { return s.cause }

// classified is a driver's error as the engine reads it. What is classified already stays so.
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
	if !coded { // the original waits three minutes for what it cannot read
		return &provider.Error{Kind: provider.Transient, After: seldom, Err: err}
	}
	r, known := reactions[s.Code()]
	if !known {
		r = reactions[codes.Unknown]
	}
	text := s.Message()
	if !r.named {
		text = s.Code().String() + ": " + text
	}
	return &provider.Error{Kind: r.kind, After: r.after, Err: saidError{text: text, cause: err}}
}
