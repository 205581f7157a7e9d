package provider

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// Clock returns the time; k8s.io/utils/clock has implementations.
type Clock interface{ Now() time.Time }

// ClientKey identifies an account at an endpoint. It reveals nothing of the credentials, so it may be
// logged.
type ClientKey string

// KeyOf hashes credentials, endpoint, region and any further input of the client, such as a CA bundle:
// rotated credentials give another key. The length of each part precedes it, so that no two different
// inputs hash the same.
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
		h.Write([]byte{'+'}) // no length begins like this
		add(part)
	}
	return ClientKey(hex.EncodeToString(h.Sum(nil)[:16]))
}
