package start

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// folder has the certificate of a port, perhaps only later: if a Secret may be absent, its files appear
// once it exists. They are checked with every connection, and read again when they have changed.
type folder struct {
	dir string

	mu   sync.Mutex
	read [2]time.Time
	pair *tls.Certificate
}

// certificate is the last one that was read; nil if there never was one.
func (f *folder) certificate() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	crt, key := filepath.Join(f.dir, "tls.crt"), filepath.Join(f.dir, "tls.key")
	changed := [2]time.Time{changedAt(crt), changedAt(key)}
	if changed == f.read {
		return f.pair
	}
	// Files that do not match are read again: one of the two has yet to be replaced.
	if pair, err := tls.LoadX509KeyPair(crt, key); err == nil {
		f.pair, f.read = &pair, changed
	}
	return f.pair
}

// changedAt is when a file was written; zero if it does not exist.
func changedAt(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
