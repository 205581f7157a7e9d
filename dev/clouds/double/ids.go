package double

import (
	"crypto/rand"
	"encoding/hex"
	"net/netip"
)

// Hex returns n random hexadecimal digits, for IDs in the form of a cloud.
func Hex(n int) string {
	b := make([]byte, (n+1)/2)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)[:n]
}

// UUID returns a random UUID.
func UUID() string {
	h := Hex(32)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// FreeAddress is the first unused address of a block, except its first reserved addresses and its last one. It returns false
// if all are used, or if the block is invalid.
func FreeAddress(cidr string, reserved int, used map[string]bool) (string, bool) {
	block, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", false
	}
	next := block.Masked().Addr()
	for range reserved {
		next = next.Next()
	}
	for ; block.Contains(next.Next()); next = next.Next() {
		if !used[next.String()] {
			return next.String(), true
		}
	}
	return "", false
}
