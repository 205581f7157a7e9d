package mutants

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// cache keeps answers in a folder: one file each, named for the digest of the question.
type cache struct{ dir string }

// stale is the age at which prune deletes an answer that no run has used again.
const stale = 30 * 24 * time.Hour

// newCache opens the folder of the user's cache: MILLWRIGHT_CACHE/mutants.
func newCache() (cache, error) {
	dir := os.Getenv("MILLWRIGHT_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return cache{}, err
		}
		dir = filepath.Join(user, "millwright")
	}
	c := cache{filepath.Join(dir, "mutants")}
	return c, os.MkdirAll(c.dir, 0o755)
}

func (c cache) file(question []string) string {
	raw, _ := json.Marshal(question) // strings can be marshalled
	sum := sha256.Sum256(raw)
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+".json")
}

// get reads an earlier answer. An unreadable answer does not count.
func (c cache) get(answer any, question ...string) bool {
	name := c.file(question)
	raw, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(raw, answer) != nil {
		return false
	}
	now := time.Now()
	return os.Chtimes(name, now, now) == nil
}

// put stores an answer. It replaces the file as a whole, because other processes may read it.
func (c cache) put(answer any, question ...string) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(c.dir, "new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(file.Name())
		return err
	}
	return os.Rename(file.Name(), c.file(question))
}

// prune deletes answers that no run has used for long.
func (c cache) prune() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > stale {
			os.Remove(filepath.Join(c.dir, entry.Name()))
		}
	}
}
