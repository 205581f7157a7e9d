package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	testclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

const uid = "8a2d1c6e-07f1-4d52-9b7e-3c1f5e0a9d44"

// process is one that tells lives, and what it told.
func process(rate int) (*Lives, *testclock.FakePassiveClock, *tracetest.SpanRecorder) {
	told := tracetest.NewSpanRecorder()
	clk := testclock.NewFakePassiveClock(time.Unix(1000, 0))
	spans := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(told), sdktrace.WithIDGenerator(IDs{}))
	return New(spans.Tracer(""), clk, rate), clk, told
}

// lines shows spans: "name < parent (duration) attributes failure", in the order of their names.
func lines(told *tracetest.SpanRecorder) string {
	names := map[string]string{}
	for _, s := range told.Ended() {
		names[s.SpanContext().SpanID().String()] = s.Name()
	}
	var out []string
	for _, s := range told.Ended() {
		line := fmt.Sprintf("%s < %s (%v)", s.Name(), names[s.Parent().SpanID().String()], s.EndTime().Sub(s.StartTime()))
		for _, a := range s.Attributes() {
			line += fmt.Sprintf(" %s=%s", a.Key, a.Value.AsString())
		}
		if s.Status().Code == codes.Error {
			line += " failed: " + s.Status().Description
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func check(t *testing.T, told *tracetest.SpanRecorder, want ...string) {
	t.Helper()
	if got := lines(told); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestID(t *testing.T) {
	for _, c := range []struct{ reason, uid, want string }{
		{"a UID as API servers make them", uid, "8a2d1c6e07f14d529b7e3c1f5e0a9d44"},
		{"none of theirs", "uid-1", "4a49acf8a6bd727728495d1e541a8408"},
		{"an ID of nothing but zeros is none", "00000000-0000-0000-0000-000000000000", "12b9377cbe7e5c94e8a70d9d23929523"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := ID(c.uid).String(); got != c.want {
				t.Errorf("%s: %s: %s, want %s", c.reason, c.uid, got, c.want)
			}
		})
	}
}

// TestOneTrace: what several processes tell of a machine is in one trace, within the root that
// one of them told.
func TestOneTrace(t *testing.T) {
	sets, _, ofSets := process(Million)
	sets.Did(uid, "MachineSet creates", time.Unix(999, 0), nil, "set", "a/s")
	machines, clk, told := process(Million)
	clk.SetTime(time.Unix(1002, 0))
	machines.Born(uid, time.Unix(1000, 0), "machine", "a/m", "providerID", "")
	check(t, told, "Machine <  (2s) millwright.machine=a/m")
	root, made := told.Ended()[0], ofSets.Ended()[0]
	if root.Parent().IsValid() || made.Parent().SpanID() != root.SpanContext().SpanID() {
		t.Errorf("the root is %v within %v, the set's span within %v", root.SpanContext(), root.Parent(), made.Parent())
	}
	for _, s := range []sdktrace.ReadOnlySpan{root, made} {
		if s.SpanContext().TraceID() != ID(uid) {
			t.Errorf("%s is in trace %s", s.Name(), s.SpanContext().TraceID())
		}
	}
}

func TestPasses(t *testing.T) {
	throttled := provider.Errorf(provider.Throttled, "the password is hunter2")
	call := func(verb string, err error) func(*Lives, context.Context) {
		return func(l *Lives, ctx context.Context) {
			_ = l.Call(ctx, decorate.Call{Provider: "p", Verb: verb, Ref: provider.Ref{UID: uid, ProviderID: "p://1"}}, func(context.Context) error { return err })
		}
	}
	for _, c := range []struct {
		reason string
		do     func(*Lives, context.Context)
		want   []string
	}{
		{"an idle one", func(*Lives, context.Context) {}, nil},
		{"one that only asked", call(decorate.Find, nil), nil},
		{"a step that found nothing to do", func(l *Lives, ctx context.Context) {
			_, over := l.Step(ctx, "Drain")
			over(false, nil)
		}, nil},
		{"a question that failed, of which the text is not told", call(decorate.Find, throttled), []string{
			"Pass <  (0s) millwright.machine=a/m",
			"provider find < Pass (0s) millwright.provider=p millwright.verb=find millwright.providerID=p://1 error.type=Throttled failed: Throttled",
		}},
		{"a call within a step, and what was asked before", func(l *Lives, ctx context.Context) {
			call(decorate.Find, nil)(l, ctx)
			ctx, over := l.Step(ctx, "Create")
			call(decorate.Create, nil)(l, ctx)
			over(true, nil, "reason", "InstanceNotCreated")
		}, []string{
			"Create < Pass (0s) millwright.reason=InstanceNotCreated",
			"Pass <  (0s) millwright.machine=a/m",
			"provider create < Create (0s) millwright.provider=p millwright.verb=create millwright.providerID=p://1",
			"provider find < Pass (0s) millwright.provider=p millwright.verb=find millwright.providerID=p://1",
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			l, _, told := process(Million)
			ctx, over := l.Pass(t.Context(), uid)
			c.do(l, ctx)
			over("machine", "a/m")
			t.Log(c.reason)
			check(t, told, c.want...)
		})
	}
}

// TestLateCall: a call that its caller stopped waiting for is recorded once it is over, within its pass.
func TestLateCall(t *testing.T) {
	l, clk, told := process(Million)
	ctx, over := l.Pass(t.Context(), uid)
	_, stepped := l.Step(ctx, "Create")
	_, called := placeOf(ctx).begin(ctx, "provider create", 0)
	stepped(true, errors.New("no answer"))
	over()
	clk.SetTime(time.Unix(1060, 0))
	called(true, nil)
	check(t, told, "Create < Pass (0s) error.type=Transient failed: Transient", "Pass <  (0s)", "provider create < Pass (1m0s)")
}

// TestCallApart: a call that changes something is recorded wherever it is made.
func TestCallApart(t *testing.T) {
	l, _, told := process(Million)
	for _, verb := range []string{decorate.Find, decorate.List, decorate.Delete} {
		called := false
		err := l.Call(t.Context(), decorate.Call{Provider: "p", Verb: verb, Ref: provider.Ref{UID: uid}}, func(context.Context) error {
			called = true
			return nil
		})
		if err != nil || !called {
			t.Errorf("%s: called %v, %v", verb, called, err)
		}
	}
	check(t, told, "provider delete <  (0s) millwright.provider=p millwright.verb=delete")
}

func TestFailureOf(t *testing.T) {
	for want, err := range map[string]error{
		"":          nil,
		"Denied":    fmt.Errorf("find: %w", provider.Errorf(provider.Denied, "no")),
		"Conflict":  apierrors.NewConflict(schema.GroupResource{}, "m", errors.New("newer")),
		"Transient": errors.New("connection refused"),
	} {
		t.Run(want, func(t *testing.T) {
			if got := failureOf(err); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		})
	}
}

// TestRate: every process comes to the same machines, and about as many as asked for, although
// UIDs have bits that are always the same.
func TestRate(t *testing.T) {
	const all, rate = 20_000, Million / 10
	one, other := New(noop.Tracer{}, nil, rate), New(noop.Tracer{}, nil, rate)
	kept := 0
	for range all {
		id := ID(string(uuid.NewUUID()))
		if one.kept(id) != other.kept(id) {
			t.Fatalf("two processes disagree about %s", id)
		}
		if one.kept(id) {
			kept++
		}
	}
	if want := all / 10; kept < want*9/10 || kept > want*11/10 {
		t.Errorf("%d of %d machines, want about %d", kept, all, want)
	}
	l, _, told := process(0)
	ctx, over := l.Pass(t.Context(), uid)
	_, stepped := l.Step(ctx, "Create")
	stepped(true, nil)
	over()
	l.Born(uid, time.Unix(1, 0))
	l.Did(uid, "Life", time.Unix(1, 0), nil)
	check(t, told)
}
