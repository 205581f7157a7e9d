package decorate

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// Discreet decorates p so that errors of its sessions are fit to be told: short,
// and without the credentials of the class. What the engine reads from an error
// (kind, field, delay, cause) stays.
//
// It belongs outside of all others: errors of theirs are told, too.
func Discreet(p provider.Provider) provider.Provider {
	return &discreet{Calls(p, func(ctx context.Context, c Call, do func(context.Context) error) error {
		return told(do(ctx), c.Class.Credentials)
	})}
}

type discreet struct{ provider.Provider }

func (p *discreet) Unwrap() any { return p.Provider }

func (p *discreet) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, class)
	return s, told(err, class.Credentials)
}

// mostError is the most bytes of an error's text.
const mostError = 4 << 10

// worded is an error in other words.
type worded struct {
	text string
	errs []error
}

func (w *worded) Error() string   { return w.text }
func (w *worded) Unwrap() []error { return w.errs }

// told is err as it may be told.
func told(err error, credentials map[string][]byte) error {
	if err == nil {
		return nil
	}
	var out []error
	// The engine takes a classified error out of its chain, so that its own
	// words have to be fit as well.
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Err != nil {
		fit := *e
		fit.Field = provider.Clip(e.Field, mostError)
		fit.Err = &worded{reword(e.Err.Error(), credentials), []error{e.Err}}
		if same, ok := err.(*provider.Error); ok && same == e { //nolint:errorlint // the error itself, not what it wraps
			return &fit
		}
		out = append(out, &fit)
	}
	return &worded{reword(err.Error(), credentials), append(out, err)}
}

// secret are the names under which credentials keep what nobody may read; others
// are regions, users, projects.
var secret = regexp.MustCompile(`(?i)secret|passw|token|key|credential|private|account\.?json|kubeconfig|clouds`)

// shortest is the length in bytes from which a value is looked for.
const shortest = 8

func reword(text string, credentials map[string][]byte) string {
	for name, value := range credentials {
		if !secret.MatchString(name) {
			continue
		}
		for _, v := range append(bytes.Split(value, []byte("\n")), value) {
			if v = bytes.TrimSpace(v); len(v) >= shortest {
				text = strings.ReplaceAll(text, string(v), "***")
			}
		}
	}
	return provider.Clip(text, mostError)
}
