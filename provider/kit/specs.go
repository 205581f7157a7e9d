package kit

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// Specs caches decoded provider specs, or why they do not decode, so that the spec of a class is decoded
// once and not in every reconciliation of every machine. It is safe for concurrent use.
//
// Only what the API and the spec alone decide belongs here. It never sees the credentials, scope and zone
// of a class, so it stores no session and no secret, and an edited class is a new spec. The results are
// shared: a caller that fills in defaults does so in a copy.
type Specs[S any] struct {
	decode func(api string, raw []byte) (S, error)

	mu    sync.Mutex
	clock uint64 // counts uses
	bytes int    // of the cached specs
	seen  map[specKey]*decoded[S]
}

type specKey [sha256.Size]byte

type decoded[S any] struct {
	used  uint64
	bytes int
	spec  S
	err   error
}

// How much [Specs] caches: the least recently used spec goes first.
const (
	mostSpecs     = 200
	mostSpecBytes = 4 << 20
)

// NewSpecs caches the results of decode, which depend on its arguments alone.
func NewSpecs[S any](decode func(api string, raw []byte) (S, error)) *Specs[S] {
	return &Specs[S]{decode: decode, seen: map[specKey]*decoded[S]{}}
}

// Get returns the result of decoding raw in the API.
func (s *Specs[S]) Get(api string, raw []byte) (S, error) {
	key := keyOfSpec(api, raw)
	if d, ok := s.find(key); ok {
		return d.spec, d.err
	}
	// Not under the lock: a slow spec does not delay others.
	d := decoded[S]{bytes: len(raw)}
	d.spec, d.err = s.decode(api, raw)
	s.keep(key, d)
	return d.spec, d.err
}

func keyOfSpec(api string, raw []byte) (key specKey) {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(api))))
	h.Write([]byte(api))
	h.Write(raw)
	h.Sum(key[:0])
	return key
}

func (s *Specs[S]) find(key specKey) (*decoded[S], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.seen[key]
	if ok {
		s.clock++
		d.used = s.clock
	}
	return d, ok
}

func (s *Specs[S]) keep(key specKey, d decoded[S]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.seen[key]; ok {
		return
	}
	for len(s.seen) > 0 && (len(s.seen) >= mostSpecs || s.bytes+d.bytes > mostSpecBytes) {
		s.dropOldest()
	}
	s.clock++
	d.used = s.clock
	s.seen[key] = &d
	s.bytes += d.bytes
}

func (s *Specs[S]) dropOldest() {
	var oldest specKey
	for key, d := range s.seen {
		if o, ok := s.seen[oldest]; !ok || d.used < o.used {
			oldest = key
		}
	}
	s.bytes -= s.seen[oldest].bytes
	delete(s.seen, oldest)
}
