package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Look is the result of a search through worlds.
type Look struct {
	// Worlds is the number of worlds, including the last.
	Worlds uint64 `json:"worlds"`
	// Seed is the seed of the world that broke a promise, Statement is the promise; empty if no world did.
	Seed      uint64 `json:"seed,omitempty"`
	Statement string `json:"statement,omitempty"`
	// Seconds is the duration of the search.
	Seconds float64 `json:"seconds"`
}

// hunter is the folder of the program that searches through worlds.
const hunter = "internal/verify/mutants/cmd/worlds"

// dialects are the dialects in which the simulator may find the mutant.
func (m Mutant) dialects() []string {
	switch m.Room() {
	case "openshift", "gardener":
		return []string{m.Room()}
	}
	return []string{"openshift", "gardener"}
}

// Simulate searches in each dialect for a world in which the mutant breaks a promise that the product keeps. It stops after the
// first dialect with such a world. The results are by dialect.
func (b *Bench) Simulate(ctx context.Context, m Mutant) (map[string]Look, error) {
	digest, err := b.tree.digest(hunter)
	if err != nil {
		return nil, err
	}
	looks := map[string]Look{}
	for _, dialect := range m.dialects() {
		var l Look
		question := []string{"look", digest, m.change(), m.Like, dialect, strconv.Itoa(b.Worlds)}
		if b.Fresh || !b.cache.get(&l, question...) {
			if l, err = b.hunt(ctx, m, dialect); err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.ID, err)
			}
			if err := b.cache.put(l, question...); err != nil {
				return nil, err
			}
		}
		looks[dialect] = l
		if l.Statement != "" {
			break
		}
	}
	return looks, nil
}

// hunt searches through worlds. A world that breaks the same promise without the mutant finds nothing.
func (b *Bench) hunt(ctx context.Context, m Mutant, dialect string) (Look, error) {
	program, err := b.hunter(ctx)
	if err != nil {
		return Look{}, err
	}
	number, _ := b.numberOf(m)
	began, most := time.Now(), uint64(b.Worlds)
	for start := uint64(0); start < most; {
		l, err := look(ctx, program, number, "-dialect="+dialect, "-like="+m.Like, seeds(start, most-start))
		if err != nil {
			return l, err
		}
		l.Worlds += start
		l.Seconds = time.Since(began).Seconds()
		if l.Statement == "" {
			return l, nil
		}
		sound, err := look(ctx, program, 0, "-dialect="+dialect, "-like="+m.Like, seeds(l.Seed, 1))
		if err != nil || sound.Statement != l.Statement {
			return l, err
		}
		start = l.Worlds
	}
	return Look{Worlds: most, Seconds: time.Since(began).Seconds()}, nil
}

func seeds(start, worlds uint64) string { return fmt.Sprintf("-seeds=%d+%d", start, worlds) }

// longest is how long one run of the program may take.
const longest = 30 * time.Minute

// look runs the program. If a defect makes a world panic or run for ever, the program itself reports the world.
func look(ctx context.Context, program string, number int, args ...string) (Look, error) {
	patient, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(patient, program, args...)
	cmd.Env = append(os.Environ(), numberEnv+"="+strconv.Itoa(number))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	var l Look
	switch {
	case ctx.Err() != nil:
		return l, ctx.Err()
	case err != nil:
		return l, fmt.Errorf("looking at worlds: %w: %s", err, firstLines(stderr.String(), 5))
	}
	return l, json.Unmarshal(raw, &l)
}
