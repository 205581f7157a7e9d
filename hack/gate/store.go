package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/gate"
)

// A store stores records in a file.
type store struct{ file string }

func (s store) read() (map[string]gate.Record, error) {
	raw, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]gate.Record{}, nil
	}
	if err != nil {
		return nil, err
	}
	records := map[string]gate.Record{}
	if err := json.Unmarshal(raw, &records); err != nil {
		return nil, fmt.Errorf("%s (remove it, and everything runs): %w", s.file, err)
	}
	return records, nil
}

// note records the result of a part. Gates that run at the same time keep each other's records.
func (s store) note(v gate.Verdict, passed bool) error {
	lock, err := os.OpenFile(s.file+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	records, err := s.read()
	if err != nil {
		return err
	}
	if passed {
		records = gate.Passed(records, v, time.Now())
	} else {
		records = gate.Failed(records, v)
	}
	raw, err := json.MarshalIndent(records, "", "\t")
	if err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(s.file), fmt.Sprintf(".records-%d", os.Getpid()))
	if err := os.WriteFile(next, raw, 0o644); err != nil {
		return err
	}
	return os.Rename(next, s.file)
}
