package kubemark_test

import (
	"fmt"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// BenchmarkDirectory measures one call among 2000 instances on disk.
func BenchmarkDirectory(b *testing.B) {
	p, err := kubemark.New(kubemark.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	s, err := p.Open(b.Context(), provider.Class{API: provider.Gardener, Cluster: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	create := func(n int) {
		if _, err := s.Create(b.Context(), machine(n), provider.Want{}); err != nil {
			b.Fatal(err)
		}
	}
	for n := range 2000 {
		create(n)
	}
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			if found, err := s.Find(b.Context(), machine(1000)); err != nil || len(found) != 1 {
				b.Fatal(fmt.Sprint(found, err))
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.List(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("create and delete", func(b *testing.B) {
		for b.Loop() {
			create(2000)
			if done, err := s.Delete(b.Context(), machine(2000), nil); err != nil || !done {
				b.Fatal(done, err)
			}
		}
	})
}
