package gardener

import (
	"errors"
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// codes are the machine codes that clients of this API know, by the kinds of failures. The first of a kind is
// written, all are read.
var codes = []struct {
	kind provider.Kind
	code string
}{
	{provider.Exhausted, "ResourceExhausted"},
	{provider.Invalid, "InvalidArgument"},
	{provider.Denied, "PermissionDenied"},
	{provider.Denied, "Unauthenticated"},
	{provider.Conflict, "Aborted"},
}

// code returns the machine code for err.
func code(err error) string {
	kind := provider.KindOf(err)
	for _, c := range codes {
		if c.kind == kind {
			return c.code
		}
	}
	return "Unavailable"
}

const (
	frameBegins = "machine codes error: code = ["
	messageIs   = "] message = ["
	frameEnds   = "]"
)

// coded returns the text form from which clients read code and message. Brackets in the message would end it
// early, so they become parentheses.
func coded(err error) string {
	return fmt.Sprint(frameBegins, code(err), messageIs, strings.NewReplacer("[", "(", "]", ")").Replace(provider.Clip(err.Error(), dialect.MostError)), frameEnds)
}

// uncoded returns the message in a text of this form; any other text is returned unchanged.
func uncoded(text string) string {
	if _, rest, ok := strings.Cut(text, frameBegins); ok {
		if _, rest, ok = strings.Cut(rest, messageIs); ok {
			if message, _, ok := strings.Cut(rest, frameEnds); ok {
				return message
			}
		}
	}
	return text
}

// Failure reads back m's record of the latest failed attempt; nil if none exists.
func (Machines) Failure(m *v1alpha1.Machine) error {
	op := m.Status.LastOperation
	if op.State != v1alpha1.MachineStateFailed || op.Description == "" || lifecycle.Contradicts(op.Description) {
		return nil
	}
	for _, c := range codes {
		if c.code == op.ErrorCode {
			return provider.Errorf(c.kind, "%s", uncoded(op.Description))
		}
	}
	return errors.New(uncoded(op.Description))
}
