package provider

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// Clock tells the time; k8s.io/utils/clock has some.
type Clock interface{ Now() time.Time }

// ClientKey stands for an account at a place. It reveals nothing of the
// credentials, so it may be logged.
type ClientKey string

// KeyOf hashes credentials, endpoint, region, and what else the client is made
// with, such as a CA bundle: what was rotated gives another key. Every part goes in with its length before it, so that no two
// different inputs read the same.
func KeyOf(credentials map[string][]byte, endpoint, region string, also ...[]byte) ClientKey {
	h := sha256.New()
	add := func(part []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	add([]byte(endpoint))
	add([]byte(region))
	for _, k := range slices.Sorted(maps.Keys(credentials)) {
		add([]byte(k))
		add(credentials[k])
	}
	for _, part := range also {
		h.Write([]byte{'+'}) // the length of no part begins like this
		add(part)
	}
	return ClientKey(hex.EncodeToString(h.Sum(nil)[:16]))
}
