package trace

import (
	"context"
	"sync"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
)

// part is a step of a pass, or a call.
type part struct {
	name string
	kind oteltrace.SpanKind
	// from and to are when it began and ended; to is zero while it continues.
	from, to time.Time
	// within is the part that contains it; -1: the pass itself.
	within int
	// failure is the kind of the failure; empty: success.
	failure string
	// about are keys and values.
	about []any
}

// pass collects the parts of a pass over a machine until it is known whether the pass did anything: otherwise
// it is not recorded.
type pass struct {
	lives *Lives
	// life is the context for spans of the machine's life.
	life  context.Context
	began time.Time

	mu    sync.Mutex
	parts []part
	// did says that the pass has to be recorded.
	did bool
	// over is the context for parts that end after the pass; nil before that.
	over context.Context
}

// place is the position of a context in a pass.
type place struct {
	pass   *pass
	within int
}

type placeKey struct{}

// placeOf returns the position of the context; its pass is nil outside of a pass.
func placeOf(ctx context.Context) place {
	at, _ := ctx.Value(placeKey{}).(place)
	return at
}

// Pass begins a pass over the machine of that UID. Over ends it, and records it if a part did something or
// failed.
func (l *Lives) Pass(ctx context.Context, uid string) (inner context.Context, over func(about ...any)) {
	life, kept := l.within(uid)
	if !kept {
		return ctx, func(...any) {}
	}
	p := &pass{lives: l, life: life, began: l.clock.Now()}
	return context.WithValue(ctx, placeKey{}, place{p, -1}), p.end
}

// Step begins a part of the pass that ctx is in. Over ends it: did says that it has to be recorded, err is
// its failure.
func (l *Lives) Step(ctx context.Context, name string) (inner context.Context, over func(did bool, err error, about ...any)) {
	return placeOf(ctx).begin(ctx, name, oteltrace.SpanKindInternal)
}

// begin begins a part. A context outside of a pass stays as it is.
func (at place) begin(ctx context.Context, name string, kind oteltrace.SpanKind) (context.Context, func(bool, error, ...any)) {
	p := at.pass
	if p == nil {
		return ctx, func(bool, error, ...any) {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.parts)
	p.parts = append(p.parts, part{name: name, kind: kind, from: p.lives.clock.Now(), within: at.within})
	return context.WithValue(ctx, placeKey{}, place{p, n}), func(did bool, err error, about ...any) { p.endPart(n, did, err, about) }
}

func (p *pass) endPart(n int, did bool, err error, about []any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := &p.parts[n]
	one.to, one.failure, one.about = p.lives.clock.Now(), failureOf(err), about
	tells := did || one.failure != ""
	switch {
	case p.over == nil:
		p.did = p.did || tells
	case tells: // a call that the caller stopped waiting for
		p.lives.tell(p.over, *one)
	}
}

// end records the pass.
func (p *pass) end(about ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = p.life
	if !p.did {
		return
	}
	p.over = p.lives.tell(p.life, part{name: "Pass", from: p.began, to: p.lives.clock.Now(), about: about})
	told := make([]context.Context, len(p.parts))
	for n, one := range p.parts {
		told[n] = p.over
		if one.within >= 0 {
			told[n] = told[one.within]
		}
		if !one.to.IsZero() {
			told[n] = p.lives.tell(told[n], one)
		}
	}
}
