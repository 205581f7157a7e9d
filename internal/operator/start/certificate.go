package start

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// folder has the certificate of a port, perhaps only later: where a Secret may be absent, its files appear once there is one. They are looked at
// with every connection, and read again when they have changed.
type folder struct {
	dir string

	mu   sync.Mutex
	read [2]time.Time
	pair *tls.Certificate
}

// certificate is the one that could be read last; nil where there never was any.
func (f *folder) certificate() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	crt, key := filepath.Join(f.dir, "tls.crt"), filepath.Join(f.dir, "tls.key")
	changed := [2]time.Time{changedAt(crt), changedAt(key)}
	if changed == f.read {
		return f.pair
	}
	// Files that do not belong together are looked at again: one of the two has yet to be exchanged.
	if pair, err := tls.LoadX509KeyPair(crt, key); err == nil {
		f.pair, f.read = &pair, changed
	}
	return f.pair
}

// changedAt is when a file was written; zero where there is none.
func changedAt(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
