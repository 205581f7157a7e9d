package decorate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// TestDiscreetFault: the fault of an instance appears in objects, too.
func TestDiscreetFault(t *testing.T) {
	const key = "wJalrXUtnFEMI"
	w := newWorld()
	class := w.cloud.Class(provider.OpenShift, "blue")
	p := decorate.Redact(faulty{w.cloud.Provider(), provider.Errorf(provider.Exhausted, "no room for %s: %w", key, io.EOF)})
	class.Credentials["secretAccessKey"] = []byte(key)
	s, err := p.Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Create(t.Context(), ref("a"), provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Find(t.Context(), ref("a"))
	if err != nil {
		t.Fatal(err)
	}
	listed, err := collect(s.List(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range append(append(found, listed...), made) {
		if f := i.Fault; f == nil || f.Error() != "no room for ***: EOF" || f.Kind != provider.Exhausted || !errors.Is(f, io.EOF) {
			t.Errorf("says %v", f)
		}
	}
}

// faulty is a provider whose instances all have a fault.
type faulty struct {
	provider.Provider
	fault *provider.Error
}

func (p faulty) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, c)
	return faultySession{s, p.fault}, err
}

type faultySession struct {
	provider.Session
	fault *provider.Error
}

func (s faultySession) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	all, err := s.Session.Find(ctx, ref)
	for n := range all {
		all[n].Fault = s.fault
	}
	return all, err
}

func (s faultySession) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	i, err := s.Session.Create(ctx, ref, want)
	i.Fault = s.fault
	return i, err
}

func (s faultySession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		for i, err := range s.Session.List(ctx) {
			i.Fault = s.fault
			if !yield(i, err) {
				return
			}
		}
	}
}

func TestDiscreet(t *testing.T) {
	const key = "wJalrXUtnFEMI"
	cases := []struct {
		reason, says string
		err          error
		kind         provider.Kind
	}{
		{"an error says what it said", "connection reset", errors.New("connection reset"), provider.Transient},
		{"a key is not told", `key "***" is wrong`, fmt.Errorf("key %q is wrong: %w", key, io.EOF), provider.Transient},
		{"nor one in a classified error", "key *** is wrong", provider.Errorf(provider.Denied, "key %s is wrong: %w", key, io.EOF), provider.Denied},
		{"nor in a wrapped one", "find: key *** is wrong", fmt.Errorf("find: %w", provider.Errorf(provider.Denied, "key %s is wrong: %w", key, io.EOF)), provider.Denied},
		{"nor in the words of a field", "zone: *** is none", provider.InvalidField("zone", "%s is none: %w", key, io.EOF), provider.Invalid},
		{"a delay is kept", "*** is throttled", provider.ThrottledFor(time.Minute, fmt.Errorf("%s is throttled: %w", key, io.EOF)), provider.Throttled},
		{"a region is no secret", "eu-central-1 is closed", fmt.Errorf("eu-central-1 is closed: %w", io.EOF), provider.Transient},
		{"a page of HTML is cut", "<html>", fmt.Errorf("%s%w", strings.Repeat("<html>", 100_000), io.EOF), provider.Transient},
	}
	for _, c := range cases {
		for _, verb := range []string{decorate.Find, decorate.List} {
			t.Run(c.reason+" "+verb, func(t *testing.T) {
				w := newWorld()
				w.refuse[verb] = c.err
				class := provider.Class{API: provider.OpenShift, Cluster: "blue", Spec: []byte(`{"size":"small"}`)}
				class.Credentials = map[string][]byte{"secretAccessKey": []byte(key + "\n"), "region": []byte("eu-central-1")}
				s, err := decorate.Redact(w.provider()).Open(t.Context(), class)
				if err != nil {
					t.Fatal(err)
				}
				if verb == decorate.Find {
					_, err = s.Find(t.Context(), provider.Ref{UID: "u"})
				} else {
					for _, err = range s.List(t.Context()) {
						break
					}
				}
				text := fmt.Sprint(err)
				if e, ok := errors.AsType[*provider.Error](err); ok {
					text += e.Err.Error() // the engine puts this text under another field
				}
				if strings.Contains(text, key) || !strings.Contains(text, c.says) || len(text) > 10<<10 {
					t.Errorf("says %.200q", text)
				}
				if provider.KindOf(err) != c.kind || provider.AfterOf(err) != provider.AfterOf(c.err) || errors.Is(err, io.EOF) != errors.Is(c.err, io.EOF) {
					t.Errorf("%s, %v: what the engine reads from %v is lost", provider.KindOf(err), provider.AfterOf(err), c.err)
				}
			})
		}
	}
}
