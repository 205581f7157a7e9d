package decorate_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// stuck is a provider whose calls of one verb begin and wait until the test releases them. A deaf one
// ignores its context, too.
type stuck struct {
	provider.Provider
	verb  string
	deaf  bool
	begun chan string
	free  chan error
}

func newStuck(w *world, verb string, deaf bool) *stuck {
	return &stuck{Provider: w.provider(), verb: verb, deaf: deaf, begun: make(chan string, 10), free: make(chan error)}
}

func (p *stuck) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, c)
	return &stuckSession{s, p}, err
}

// hangs waits, and reports whether it was canceled meanwhile.
func (p *stuck) hangs(ctx context.Context, verb string) error {
	if verb != p.verb {
		return nil
	}
	p.begun <- verb
	done := ctx.Done()
	if p.deaf {
		done = nil
	}
	select {
	case err := <-p.free:
		return err
	case <-done:
		return context.Cause(ctx)
	}
}

type stuckSession struct {
	provider.Session
	p *stuck
}

func (s *stuckSession) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	if err := s.p.hangs(ctx, decorate.Find); err != nil {
		return nil, err
	}
	return s.Session.Find(ctx, ref)
}

func (s *stuckSession) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if err := s.p.hangs(ctx, decorate.Create); err != nil {
		return provider.Instance{}, err
	}
	return s.Session.Create(context.WithoutCancel(ctx), ref, want)
}

func (s *stuckSession) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	if err := s.p.hangs(ctx, decorate.Delete); err != nil {
		return false, err
	}
	return s.Session.Delete(ctx, ref, given)
}

func (s *stuckSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		for i, err := range s.Session.List(ctx) {
			if !yield(i, err) {
				return
			}
			if err := s.p.hangs(ctx, decorate.List); err != nil {
				yield(provider.Instance{}, err)
				return
			}
		}
	}
}

// calling runs a call in another goroutine, and hands over its error.
func calling(do func() error) <-chan error {
	out := make(chan error, 1)
	go func() { out <- do() }()
	return out
}

// passes steps the clock once a timer waits for it.
func (w *world) passes(t *testing.T, d time.Duration) {
	t.Helper()
	for range 5000 {
		if w.clock.HasWaiters() {
			w.clock.Step(d)
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("nothing waits for the clock")
}

// ends steps the clock until the call has ended.
func (w *world) ends(t *testing.T, d time.Duration, ended <-chan error) error {
	t.Helper()
	for range 5000 {
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Millisecond):
			w.clock.Step(d)
		}
	}
	t.Fatal("the call does not end")
	return nil
}

func verbs(s provider.Session) map[string]func(context.Context, provider.Ref) error {
	return map[string]func(context.Context, provider.Ref) error{
		decorate.Find: func(ctx context.Context, r provider.Ref) error { _, err := s.Find(ctx, r); return err },
		decorate.Create: func(ctx context.Context, r provider.Ref) error {
			_, err := s.Create(ctx, r, provider.Want{})
			return err
		},
		decorate.Delete: func(ctx context.Context, r provider.Ref) error { _, err := s.Delete(ctx, r, nil); return err },
	}
}

var limits = decorate.Deadlines{Read: time.Minute, Write: 5 * time.Minute}

// TestCallsEnd: a call that takes too long is canceled, and its result is unknown. A call that ignores this
// is left behind after a second.
func TestCallsEnd(t *testing.T) {
	for verb, limit := range map[string]time.Duration{decorate.Find: time.Minute, decorate.Create: 5 * time.Minute, decorate.Delete: 5 * time.Minute} {
		t.Run(verb, func(t *testing.T) {
			for _, deaf := range []bool{false, true} {
				w := newWorld()
				p := newStuck(w, verb, deaf)
				s := open(t, w, decorate.Deadline(p, w.clock, limits))
				ended := calling(func() error { return verbs(s)[verb](t.Context(), ref("a")) })
				<-p.begun
				w.passes(t, limit-time.Millisecond)
				select {
				case err := <-ended:
					t.Fatalf("%s ended before its time: %v", verb, err)
				case <-time.After(20 * time.Millisecond):
				}
				if err := w.ends(t, time.Second, ended); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "its outcome is not known") {
					t.Errorf("%s, deaf %v: %v", verb, deaf, err)
				}
				close(p.free)
			}
		})
	}
}

// TestNothingBesideACallLeftBehind: the call may still take effect.
func TestNothingBesideACallLeftBehind(t *testing.T) {
	w := newWorld()
	p := newStuck(w, decorate.Create, true)
	s := open(t, w, decorate.Deadline(p, w.clock, limits))
	call := verbs(s)
	ended := calling(func() error { return call[decorate.Create](t.Context(), ref("a")) })
	<-p.begun
	_ = w.ends(t, limits.Write, ended)
	for _, tt := range []struct {
		reason, verb, name string
		made               bool
	}{
		{"the same is not begun beside itself", decorate.Create, "a", false},
		{"an instance that lands late must not land behind the deletion", decorate.Delete, "a", false},
		{"looking does no harm", decorate.Find, "a", true},
		{"another machine is another matter", decorate.Delete, "b", true},
	} {
		if err := call[tt.verb](t.Context(), ref(tt.name)); (err == nil) != tt.made || err != nil && provider.KindOf(err) != provider.Transient {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
	p.free <- nil // it lands
	for range 5000 {
		if err := call[decorate.Delete](t.Context(), ref("a")); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the machine is left alone though the call has returned")
}

// TestCallerGivesUp: a call also ends with its caller's context, and a result in time counts.
func TestCallerGivesUp(t *testing.T) {
	w := newWorld()
	p := newStuck(w, decorate.Create, true)
	s := open(t, w, decorate.Deadline(p, w.clock, limits))
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := calling(func() error { return verbs(s)[decorate.Create](ctx, ref("a")) })
	<-p.begun
	cancel(errors.New("the lease is lost"))
	p.free <- nil
	if err := <-ended; err != nil {
		t.Errorf("it succeeded, and is said to have failed: %v", err)
	}
	ended = calling(func() error { return verbs(s)[decorate.Create](ctx, ref("b")) })
	if err := w.ends(t, time.Second, ended); err == nil || !strings.Contains(err.Error(), "the lease is lost") {
		t.Errorf("a deaf call holds its caller: %v", err)
	}
	close(p.free)
}

// TestListingsGetOn: a listing may take long while it makes progress.
func TestListingsGetOn(t *testing.T) {
	w := newWorld()
	p := newStuck(w, decorate.List, true)
	plain := open(t, w, w.provider())
	mustCreate(t, w, plain, "a", "b", "c")
	s := open(t, w, decorate.Deadline(p, w.clock, limits))
	var all []provider.Instance
	ended := calling(func() (err error) { all, err = collect(s.List(t.Context())); return err })
	for range 3 {
		<-p.begun
		w.passes(t, 50*time.Second)
		p.free <- nil
	}
	if err := <-ended; err != nil || len(all) != 3 {
		t.Fatalf("%d instances, %v", len(all), err)
	}
	ended = calling(func() (err error) { all, err = collect(s.List(t.Context())); return err })
	<-p.begun
	if err := w.ends(t, limits.Read, ended); provider.KindOf(err) != provider.Transient || len(all) != 1 {
		t.Errorf("%d instances, %v", len(all), err)
	}
	if _, err := collect(s.List(t.Context())); err == nil || !strings.Contains(err.Error(), "not called") {
		t.Errorf("a second listing beside one that hangs: %v", err)
	}
	close(p.free)
}

// hung is a provider none of whose operations end before their contexts do, including those that the other
// decorators do not intercept.
type hung struct {
	provider.Provider
	opens bool
}

func (p hung) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, c)
	if !p.opens {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return hungSession{s}, err
}

type hungSession struct{ provider.Session }

func (s hungSession) Account(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func (hungSession) Unkept(provider.Ref, provider.Instance) bool { return true }

func (s hungSession) Maintain(ctx context.Context, _ provider.Ref, _ provider.Instance) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s hungSession) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		<-ctx.Done()
		yield(provider.Leftover{}, ctx.Err())
	}
}

func (s hungSession) Console(ctx context.Context, _ provider.Ref, _ provider.Instance, _ int) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// Other methods of a session that may take long.

func (s hungSession) Find(ctx context.Context, _ provider.Ref) ([]provider.Instance, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s hungSession) FindScope(ctx context.Context, _ provider.Ref) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func (s hungSession) Create(ctx context.Context, _ provider.Ref, _ provider.Want) (provider.Instance, error) {
	<-ctx.Done()
	return provider.Instance{}, ctx.Err()
}

func (s hungSession) Delete(ctx context.Context, _ provider.Ref, _ []provider.Instance) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func (s hungSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		<-ctx.Done()
		yield(provider.Instance{}, ctx.Err())
	}
}

func (s hungSession) Initialize(ctx context.Context, _ provider.Ref, _ provider.Instance) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s hungSession) Size(ctx context.Context) (provider.Size, error) {
	<-ctx.Done()
	return provider.Size{}, ctx.Err()
}

func (s hungSession) Power(ctx context.Context, _ provider.Ref, _ provider.Instance, _ provider.PowerOp, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// power returns a capability of the session, which must have it.
func power[T any](t *testing.T, s provider.Session) T {
	t.Helper()
	p, ok := provider.As[T](s)
	if !ok {
		t.Fatalf("there is no %T", new(T))
	}
	return p
}

// TestEverythingEnds: each method of the contract that takes a context has a deadline. The list comes from
// the declarations in the contract's files, so that it includes later methods.
func TestEverythingEnds(t *testing.T) {
	w := newWorld()
	class := w.cloud.Class(provider.OpenShift, "c")
	s := open(t, w, decorate.Redact(decorate.Deadline(hung{w.provider(), true}, w.clock, limits)))
	var i provider.Instance
	calls := map[string]func(ctx context.Context, r provider.Ref) error{
		"Provider.Open": func(ctx context.Context, _ provider.Ref) error {
			_, err := decorate.Deadline(hung{w.provider(), false}, w.clock, limits).Open(ctx, class)
			return err
		},
		"Session.Find": func(ctx context.Context, r provider.Ref) error { _, err := s.Find(ctx, r); return err },
		"Session.Create": func(ctx context.Context, r provider.Ref) error {
			_, err := s.Create(ctx, r, provider.Want{})
			return err
		},
		"Session.Delete":  func(ctx context.Context, r provider.Ref) error { _, err := s.Delete(ctx, r, nil); return err },
		"Session.List":    func(ctx context.Context, _ provider.Ref) error { _, err := collect(s.List(ctx)); return err },
		"Session.Account": func(ctx context.Context, _ provider.Ref) error { _, err := s.Account(ctx); return err },
		"LeftoverLister.Leftovers": func(ctx context.Context, _ provider.Ref) (err error) {
			for _, err = range power[provider.LeftoverLister](t, s).Leftovers(ctx) {
			}
			return err
		},
		"ConsoleReader.Console": func(ctx context.Context, r provider.Ref) error {
			_, err := power[provider.ConsoleReader](t, s).Console(ctx, r, i, 100)
			return err
		},
		"Initializer.Initialize": func(ctx context.Context, r provider.Ref) error {
			return power[provider.Initializer](t, s).Initialize(ctx, r, i)
		},
		"Maintainer.Maintain": func(ctx context.Context, r provider.Ref) error {
			return power[provider.Maintainer](t, s).Maintain(ctx, r, i)
		},
		"ScopeFinder.FindScope": func(ctx context.Context, r provider.Ref) error {
			_, err := power[provider.ScopeFinder](t, s).FindScope(ctx, r)
			return err
		},
		"Sizer.Size": func(ctx context.Context, _ provider.Ref) error {
			_, err := power[provider.Sizer](t, s).Size(ctx)
			return err
		},
		"Powerer.Power": func(ctx context.Context, r provider.Ref) error {
			return power[provider.Powerer](t, s).Power(ctx, r, i, provider.Reboot, "r")
		},
	}
	for _, name := range takesContext(t) {
		call := calls[name]
		if call == nil {
			t.Errorf("%s takes a context, and nobody knows that it ends", name)
			continue
		}
		most := limits.Read
		if strings.HasSuffix(name, "Create") || strings.HasSuffix(name, "Delete") || strings.HasSuffix(name, "Initialize") || strings.HasSuffix(name, "Maintain") || strings.HasSuffix(name, "Power") {
			most = limits.Write
		}
		end := calling(func() error { return call(t.Context(), ref(name)) })
		if err := w.ends(t, 10*time.Second, end); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "no answer in "+most.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// elsewhere are interfaces that the engine implements and providers call.
var elsewhere = []string{"Objects", "ObjectStore"}

// takesContext returns the methods of the contract that take a context, as "Interface.Method".
func takesContext(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || slices.Contains(elsewhere, spec.Name.Name) {
				return true
			}
			of, ok := spec.Type.(*ast.InterfaceType)
			if !ok {
				return false
			}
			for _, m := range of.Methods.List {
				f, ok := m.Type.(*ast.FuncType)
				if !ok || len(f.Params.List) == 0 {
					continue
				}
				if p, ok := f.Params.List[0].Type.(*ast.SelectorExpr); ok && p.Sel.Name == "Context" {
					out = append(out, spec.Name.Name+"."+m.Names[0].Name)
				}
			}
			return false
		})
	}
	return out
}

// TestPanicsReachTheCaller: a caller can still recover from a provider's panic.
func TestPanicsReachTheCaller(t *testing.T) {
	w := newWorld()
	w.hook = func(decorate.Call) { panic("a defect") }
	s := open(t, w, decorate.Deadline(w.provider(), w.clock, limits))
	for name, call := range map[string]func(){
		"find": func() { _, _ = s.Find(t.Context(), ref("a")) },
		"list": func() { _, _ = collect(s.List(t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			func() {
				defer func() {
					if recover() != "a defect" {
						t.Errorf("%s: the panic is lost", name)
					}
				}()
				call()
			}()
		})
	}
}

func TestBoundedProviderConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		return harness(t, func(_ *testing.T, w *world, p provider.Provider) provider.Provider {
			return decorate.Deadline(p, w.clock, decorate.Deadlines{})
		})
	})
}
