package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// workshop builds programs that contain all mutants of a bench, one program at a time.
type workshop struct {
	folder string
	graft  *graft
	// overlay is the overlay file of the graft for the go command.
	overlay string
	// dead are the reasons for which mutants do not compile, by ID.
	dead map[string]string
	// built are the finished programs, by folder.
	built map[string]*program
}

// program is a test binary, or the program that searches through worlds.
type program struct {
	once   sync.Once
	binary *binary
	sound  soundness
	err    error
}

// shop creates the workshop at the first call. The caller holds the lock of the bench.
func (b *Bench) shop() (*workshop, error) {
	if b.workshop != nil {
		return b.workshop, nil
	}
	folder, err := os.MkdirTemp("", "millwright-mutants-")
	if err != nil {
		return nil, err
	}
	w := &workshop{folder: folder, dead: map[string]string{}, built: map[string]*program{}}
	if err := w.regraft(b.tree.root, b.list); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	b.workshop = w
	return w, nil
}

func (w *workshop) regraft(root string, list []Mutant) (err error) {
	if w.graft, err = newGraft(root, list, w.dead); err != nil {
		return err
	}
	w.overlay, err = w.graft.write(w.folder)
	return err
}

// program returns the program of a folder. The first caller builds it.
func (b *Bench) program(dir string) (*program, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, err := b.shop()
	if err != nil {
		return nil, err
	}
	if w.built[dir] == nil {
		w.built[dir] = &program{}
	}
	return w.built[dir], nil
}

// sound returns the test binary of a package, whose tests pass without a mutant.
func (b *Bench) sound(ctx context.Context, dir, digest string) (*binary, soundness, error) {
	p, err := b.program(dir)
	if err != nil {
		return nil, soundness{}, err
	}
	p.once.Do(func() {
		here := filepath.Join(b.tree.root, filepath.FromSlash(dir))
		p.binary = &binary{dir: here}
		if p.binary.tests, p.err = testsOf(here); p.err != nil {
			return
		}
		p.binary.draws = len(p.binary.tests.of(property)) > 0
		if p.binary.file, p.err = b.make(ctx, dir, "test", "-c", "-vet=off"); p.err != nil {
			return
		}
		p.sound, p.err = b.soundOf(ctx, p.binary, dir, digest)
		for _, name := range p.sound.Sick {
			p.binary.tests[name] = sick
		}
	})
	return p.binary, p.sound, p.err
}

// hunter returns the program that searches through worlds.
func (b *Bench) hunter(ctx context.Context) (string, error) {
	p, err := b.program(hunter)
	if err != nil {
		return "", err
	}
	p.once.Do(func() {
		p.binary = &binary{}
		p.binary.file, p.err = b.make(ctx, hunter, "build")
	})
	return p.binary.file, p.err
}

// make builds the program of a folder. If mutants do not compile, it leaves them out and builds again.
func (b *Bench) make(ctx context.Context, dir string, args ...string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.workshop
	file := filepath.Join(w.folder, strings.ReplaceAll(dir, "/", "-"))
	args = append(args[:len(args):len(args)], "-o", file, "./"+dir)
	for {
		err := build(ctx, b.tree.root, w.overlay, args[0], args[1:]...)
		var bad broken
		if !errors.As(err, &bad) {
			return file, err
		}
		if !w.bury(bad.output) {
			return "", fmt.Errorf("building %s: %w", dir, err)
		}
		if err := w.regraft(b.tree.root, b.list); err != nil {
			return "", err
		}
	}
}

// complaint is a message of the compiler, with the file and the line.
var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.*)$`)

// bury finds the mutants about which the compiler complains, and reports whether there are any.
func (w *workshop) bury(output string) bool {
	found := false
	for _, c := range complaint.FindAllStringSubmatch(output, -1) {
		line, err := strconv.Atoi(c[2])
		if err != nil {
			continue
		}
		for _, copied := range w.graft.copies[w.graft.written[c[1]]] {
			if copied.from <= line && line <= copied.to && w.dead[copied.id] == "" {
				w.dead[copied.id], found = c[3], true
			}
		}
	}
	return found
}

// numberOf is the number of the mutant in programs; dead is the reason if it does not compile.
func (b *Bench) numberOf(m Mutant) (number int, dead string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.workshop.graft.numbers[m.ID], b.workshop.dead[m.ID]
}
