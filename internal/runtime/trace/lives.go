// Package trace tells the life of each machine as one trace: what passes did with it, what was
// asked of the infrastructure for it, and how long its stretches took.
//
// The ID of the trace is the machine's UID. Every process, and the next one after a restart,
// therefore adds to the same trace, and nothing is stored for it. What is said of a span are
// keys and values, as in logs; attributes have the same names after "millwright.".
package trace

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"
)

// Million is the rate at which every machine is told of.
const Million = 1_000_000

// Lives tells of the lives of machines. It is safe for concurrent use.
type Lives struct {
	spans oteltrace.Tracer
	clock clock.PassiveClock
	rate  uint64
}

// New returns one that tells spans, which has the IDs of [IDs], of rate out of a million
// machines: of one machine everything or nothing, in every process.
func New(spans oteltrace.Tracer, clk clock.PassiveClock, rate int) *Lives {
	return &Lives{spans: spans, clock: clk, rate: uint64(max(rate, 0))}
}

// ID is that of the trace of a machine's life: its UID without the hyphens. A UID that is none
// of RFC 9562 has the beginning of its SHA-256.
func ID(uid string) (id oteltrace.TraceID) {
	if bare := strings.ReplaceAll(uid, "-", ""); len(bare) == hex.EncodedLen(len(id)) {
		if _, err := hex.Decode(id[:], []byte(bare)); err == nil && id.IsValid() {
			return id
		}
	}
	sum := sha256.Sum256([]byte(uid))
	copy(id[:], sum[:])
	return id
}

// kept reports whether the machine is told of. Some bits of a UID are the same in all of them,
// so that samplers which go by the ID itself would keep none, or too many.
func (l *Lives) kept(id oteltrace.TraceID) bool {
	if l.rate >= Million {
		return true
	}
	sum := fnv.New64a()
	_, _ = sum.Write(id[:])
	return sum.Sum64()%Million < l.rate
}

// root is the span that all others of a life are within. Its ID follows from that of the trace.
func root(id oteltrace.TraceID) oteltrace.SpanContext {
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: id, SpanID: oteltrace.SpanID(id[:8]), TraceFlags: oteltrace.FlagsSampled, Remote: true,
	})
}

// within is where spans of the machine's life are told; false: it is not told of.
func (l *Lives) within(uid string) (context.Context, bool) {
	id := ID(uid)
	if uid == "" || !l.kept(id) {
		return nil, false
	}
	return oteltrace.ContextWithRemoteSpanContext(context.Background(), root(id)), true
}

// Born tells the root of a life: from the creation of the machine's object until now, when a
// machine controller has taken it on.
func (l *Lives) Born(uid string, created time.Time, about ...any) {
	id := ID(uid)
	if uid == "" || !l.kept(id) {
		return
	}
	ctx := context.WithValue(context.Background(), bornKey{}, root(id))
	l.tell(ctx, part{name: "Machine", from: created, to: l.clock.Now(), about: about})
}

// Did tells what was done with a machine, or happened to it, apart from passes over it: since
// from. Err is why that failed; nil: it did not.
func (l *Lives) Did(uid, name string, from time.Time, err error, about ...any) {
	if ctx, kept := l.within(uid); kept {
		l.tell(ctx, part{name: name, from: from, to: l.clock.Now(), failure: failureOf(err), about: about})
	}
}

// bornKey is the key in contexts of the identity of a root that is to be told.
type bornKey struct{}

// IDs gives spans their IDs: to the root of a life that which follows from the machine's UID.
type IDs struct{}

// NewIDs are those of a span within none.
func (i IDs) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	if born, ok := ctx.Value(bornKey{}).(oteltrace.SpanContext); ok {
		return born.TraceID(), born.SpanID()
	}
	var id oteltrace.TraceID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64()|1) // never all zero
	return id, i.NewSpanID(ctx, id)
}

// NewSpanID is that of a span within another.
func (IDs) NewSpanID(context.Context, oteltrace.TraceID) (id oteltrace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
