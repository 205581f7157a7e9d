package decorate

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"regexp"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// Redact decorates p so that errors of its sessions may be shown to users: short, and without the
// credentials of the class. The fields that the engine reads from an error (kind, field, delay, cause)
// stay.
//
// It belongs outside of all other decorators, whose errors are shown, too.
func Redact(p provider.Provider) provider.Provider {
	return &redacting{Calls(p, func(ctx context.Context, c Call, do func(context.Context) error) error {
		return redactError(do(ctx), c.Class.Credentials)
	})}
}

type redacting struct{ provider.Provider }

func (p *redacting) Unwrap() any { return p.Provider }

func (p *redacting) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, class)
	if err != nil {
		return nil, redactError(err, class.Credentials)
	}
	return &redactingSession{s, class.Credentials}, nil
}

// redactingSession makes the faults of instances fit to be shown.
type redactingSession struct {
	provider.Session
	credentials map[string][]byte
}

func (s *redactingSession) Unwrap() any { return s.Session }

func (s *redactingSession) Account(ctx context.Context) (string, error) {
	name, err := s.Session.Account(ctx)
	return name, redactError(err, s.credentials)
}

func (s *redactingSession) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	all, err := s.Session.Find(ctx, ref)
	for n := range all {
		all[n] = s.redacted(all[n])
	}
	return all, err
}

func (s *redactingSession) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	i, err := s.Session.Create(ctx, ref, want)
	return s.redacted(i), err
}

func (s *redactingSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		for i, err := range s.Session.List(ctx) {
			if !yield(s.redacted(i), err) {
				return
			}
		}
	}
}

func (s *redactingSession) redacted(i provider.Instance) provider.Instance {
	if i.Fault != nil {
		i.Fault = redactFault(i.Fault, s.credentials)
	}
	return i
}

// mostError is the most bytes of an error's text.
const mostError = 4 << 10

// worded is an error with another text.
type worded struct {
	text string
	errs []error
}

func (w *worded) Error() string   { return w.text }
func (w *worded) Unwrap() []error { return w.errs }

// redactError returns err in a form that may be shown to users.
func redactError(err error, credentials map[string][]byte) error {
	if err == nil {
		return nil
	}
	var out []error
	// The engine takes a classified error out of its chain, so its own text has to be fit as well.
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Err != nil {
		f := redactFault(e, credentials)
		if same, ok := err.(*provider.Error); ok && same == e { //nolint:errorlint // the error itself, not the one that it wraps
			return f
		}
		out = append(out, f)
	}
	return &worded{reword(err.Error(), credentials), append(out, err)}
}

// redactFault returns e with a text that may be shown.
func redactFault(e *provider.Error, credentials map[string][]byte) *provider.Error {
	out := *e
	out.Field = provider.Clip(e.Field, mostError)
	if e.Err != nil {
		out.Err = &worded{reword(e.Err.Error(), credentials), []error{e.Err}}
	}
	return &out
}

// secret matches the keys of credentials whose values are secret; others are regions, users, projects.
var secret = regexp.MustCompile(`(?i)secret|passw|token|key|credential|private|account\.?json|kubeconfig|clouds`)

// shortest is the minimal length in bytes of a value that is searched for.
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
