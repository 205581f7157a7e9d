// Package trace records the life of each machine as one trace: the actions of passes, the calls to the
// infrastructure, and the durations of its phases.
//
// The ID of the trace is the machine's UID. So every process, also after a restart, adds to the same trace,
// and nothing is stored for it. The facts of a span are keys and values, as in logs; attributes have the same
// names after "millwright.".
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

// Million is the rate at which every machine is traced.
const Million = 1_000_000

// Lives traces the lives of machines. It is safe for concurrent use.
type Lives struct {
	spans oteltrace.Tracer
	clock clock.PassiveClock
	rate  uint64
}

// New returns a tracer of the lives of rate out of a million machines. spans must use the IDs of [IDs]. A
// machine is traced completely or not at all, in every process.
func New(spans oteltrace.Tracer, clk clock.PassiveClock, rate int) *Lives {
	return &Lives{spans: spans, clock: clk, rate: uint64(max(rate, 0))}
}

// ID returns the trace ID of a machine's life: its UID without the hyphens. For a UID that is not of RFC 9562
// it is the beginning of its SHA-256.
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

// kept reports whether the machine is traced. Some bits are the same in all UIDs, so samplers that use the ID
// itself would keep none, or too many.
func (l *Lives) kept(id oteltrace.TraceID) bool {
	if l.rate >= Million {
		return true
	}
	sum := fnv.New64a()
	_, _ = sum.Write(id[:])
	return sum.Sum64()%Million < l.rate
}

// root returns the parent span of all others of a life. Its ID follows from that of the trace.
func root(id oteltrace.TraceID) oteltrace.SpanContext {
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: id, SpanID: oteltrace.SpanID(id[:8]), TraceFlags: oteltrace.FlagsSampled, Remote: true,
	})
}

// within returns the context for spans of the machine's life; false: it is not traced.
func (l *Lives) within(uid string) (context.Context, bool) {
	id := ID(uid)
	if uid == "" || !l.kept(id) {
		return nil, false
	}
	return oteltrace.ContextWithRemoteSpanContext(context.Background(), root(id)), true
}

// Born records the root of a life: from the creation of the machine's object until now, when a machine
// controller has accepted it.
func (l *Lives) Born(uid string, created time.Time, about ...any) {
	id := ID(uid)
	if uid == "" || !l.kept(id) {
		return
	}
	ctx := context.WithValue(context.Background(), bornKey{}, root(id))
	l.tell(ctx, part{name: "Machine", from: created, to: l.clock.Now(), about: about})
}

// Did records an action on a machine, or an event of it, outside of passes: since from. Err is its failure;
// nil: it succeeded.
func (l *Lives) Did(uid, name string, from time.Time, err error, about ...any) {
	if ctx, kept := l.within(uid); kept {
		l.tell(ctx, part{name: name, from: from, to: l.clock.Now(), failure: failureOf(err), about: about})
	}
}

// bornKey is the key in contexts of the identity of a root to record.
type bornKey struct{}

// IDs generates the IDs of spans: that of a life's root follows from the machine's UID.
type IDs struct{}

// NewIDs returns the IDs of a span without a parent.
func (i IDs) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	if born, ok := ctx.Value(bornKey{}).(oteltrace.SpanContext); ok {
		return born.TraceID(), born.SpanID()
	}
	var id oteltrace.TraceID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64()|1) // never all zero
	return id, i.NewSpanID(ctx, id)
}

// NewSpanID returns the ID of a span with a parent.
func (IDs) NewSpanID(context.Context, oteltrace.TraceID) (id oteltrace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
